/**
 * When two worlds are the same: no later step can tell them apart. Times are kept relative to now and
 * only as far back as anything still depends on them, so that the number of worlds is finite although
 * time, pauses and flights have no bound. Workers are interchangeable, and so is what an ended one knew.
 */
import { dbNow } from "./clock.ts";
import { type Lab, forEver } from "./setting.ts";
import {
  type Message,
  type Row,
  type Worker,
  type World,
  endedWorker,
  itemAt,
  overMessage,
} from "./state.ts";

/** What `now` always is. */
export const baseNow = 100;

/** The world with everything forgotten that can't matter any more. */
export function canonical(lab: Lab, world: World): World {
  const by = baseNow - world.now;
  const db = dbNow(lab, world) + by;
  const row = world.row === null ? null : trimRow(lab, world.row, by, db);
  const workers = world.workers.map((worker, index) =>
    trimWorker(lab, world, worker, index, row, by),
  );
  const messages = world.messages.map((message, index) =>
    trimMessage(lab, message, by, itemAt(workers, index)),
  );
  return {
    now: baseNow,
    steppedBack: world.steppedBack,
    rowLost: world.rowLost,
    tokens: lab.off.has("global-tokens") ? 0 : 1,
    row: row === null ? null : trimNames(lab, row, workers),
    keys: trimKeys(lab, world, by),
    effects: trimEffects(lab, world, by),
    closed: world.closed,
    messages,
    workers: workers.map((worker, index) => {
      if (worker.place !== "late") return worker;
      const { state, reply } = itemAt(messages, index);
      return state === "over" && reply !== "ok" ? endedWorker : worker;
    }),
    reviewers: world.reviewers.map((reviewer) => ({
      ...reviewer,
      version: Number(reviewer.looked && reviewer.version === world.row?.version),
    })),
    told: world.told,
    known: world.known,
    bound: world.bound,
    answer: null,
  };
}

function trimKeys(lab: Lab, world: World, by: number): World["keys"] {
  const { retention } = lab.setting.provider;
  if (world.keys.every(({ state }) => state === "none")) return world.keys;
  const since = retention >= forEver ? baseNow : baseNow - retention;
  return world.keys.map((key) => {
    if (key.state === "none") return key;
    return { ...key, arrivedAt: key.state === "burnt" ? 0 : Math.max(key.arrivedAt + by, since) };
  });
}

function trimEffects(lab: Lab, world: World, by: number): World["effects"] {
  if (world.effects.length === 0) return world.effects;
  const { lookUp, lag } = lab.setting.provider;
  const since = baseNow - Math.min(lag, 50);
  return world.effects.map((effect) => {
    const hidden = lookUp === "laggy" && !effect.visible;
    return { ...effect, landedAt: hidden ? Math.max(effect.landedAt + by, since) : 0 };
  });
}

function trimRow(lab: Lab, row: Row, by: number, db: number): Row {
  const { setting, off } = lab;
  const back = backOf(lab);
  const settled = row.status === "DONE" || row.status === "FAILED";
  const revived = off.has("take-over-checks") || keepsStale(lab);
  const held = row.status === "IN_PROGRESS" || revived;
  const forgets = settled && !row.incident && !revived;
  const attempts = forgets ? Math.min(row.attempts, 1) : row.attempts;
  const times = forgets ? noTimes : ageTimes(lab, row, by, db);
  const { retention } = setting.provider;
  const counts = setting.program === "article" && retention < forEver;
  return {
    status: row.status,
    token: row.token,
    owner: row.owner,
    leaseUntil: held ? Math.max(row.leaseUntil + by, db - back - 1) : 0,
    generation: forgets ? 0 : row.generation,
    attempts,
    attemptsInGeneration: forgets ? attempts : row.attemptsInGeneration,
    firstArmedAt: times.first,
    lastArmedAt: times.last,
    quietUntil: times.quiet,
    wire: forgets ? 0 : row.wire,
    result: row.result,
    incident: row.incident,
    purged: row.purged,
    version: 1,
    payload: row.payload,
    createdAt: counts ? Math.max(row.createdAt + by, db - retention - back - 1) : 0,
    settledAt:
      setting.purges && settled ? Math.max(row.settledAt + by, db - purgeAfter - back - 1) : 0,
  };
}

/** How far clocks may disagree. */
function backOf({ setting }: Lab): number {
  return setting.faults.clockBack + Math.max(0, ...setting.faults.skews.map(Math.abs));
}

/** How long settled rows are kept where they are purged. */
export const purgeAfter = 1;

interface Times {
  readonly first: number | null;
  readonly last: number | null;
  readonly quiet: number;
}

const noTimes: Times = { first: null, last: null, quiet: 0 };

/**
 * Moves the times of arming forward together once nothing compared with now depends on them any more;
 * their distances stay.
 */
function ageTimes(lab: Lab, row: Row, by: number, db: number): Times {
  const { rules, terms, resendSpan } = lab;
  const { lastArmedAt } = row;
  if (lastArmedAt === null) return noTimes;
  const last = lastArmedAt + by;
  const quiet = row.quietUntil + by;
  const endless = resendSpan >= forEver / 2;
  const earliest = row.firstArmedAt === null ? null : row.firstArmedAt + by;
  const first = earliest === null ? null : resendSpan === 0 || endless ? last : earliest;
  const quietAt = Math.max(quiet, last + rules.quietSpanMs(terms.bounds));
  const open = first === null || endless ? 0 : first + resendSpan;
  const newest = Math.max(quietAt + terms.policy.giveUpAfterMs, open) + backOf(lab) + 1;
  const forward = Math.max(0, db - newest);
  return {
    first: first === null ? null : first + forward,
    last: last + forward,
    quiet: quiet + forward,
  };
}

/** True where a stale worker's write or answer may count, so that what it saw matters. */
export function keepsStale({ off }: Lab): boolean {
  return off.has("arm-fenced") || off.has("fail-fenced") || off.has("failed-from-the-row");
}

/** Only whether two tokens are equal matters, as none is ever given twice. */
function trimNames(lab: Lab, row: Row, workers: readonly Worker[]): Row {
  const asked = workers.some(({ place }, index) => place === "again" && row.owner === index);
  const token = lab.off.has("global-tokens") ? row.token : 1;
  return { ...row, token, owner: asked ? row.owner : -1 };
}

/** What a worker's later steps depend on, by place. */
interface Matters {
  readonly token?: true;
  readonly armedAt?: true;
  readonly looked?: true;
  readonly act?: true;
  readonly send?: true;
  readonly counts?: true;
  readonly createdAt?: true;
}

const matters: Readonly<Record<Worker["place"], Matters>> = {
  idle: {},
  insert: {},
  again: { armedAt: true },
  "take-over": { token: true, createdAt: true },
  look: { token: true, looked: true, counts: true, createdAt: true },
  act: { token: true, looked: true, act: true, counts: true },
  send: { token: true, armedAt: true, send: true, counts: true },
  write: { token: true, send: true, counts: true },
  wait: { token: true, counts: true },
  late: { token: true },
  revisit: {},
  check: { token: true, createdAt: true },
  ended: {},
};

function trimWorker(
  lab: Lab,
  world: World,
  worker: Worker,
  index: number,
  row: Row | null,
  by: number,
): Worker {
  const { place } = worker;
  if (place === "ended") return endedWorker;
  if (place === "idle") return worker;
  const has = matters[place];
  const raw = lab.off.has("global-tokens");
  const owner = world.row !== null && worker.token === world.row.token;
  const mayOwn = raw || keepsStale(lab) || owner;
  const named = place !== "late" || lab.off.has("success-merged");
  const asked = place !== "again" || world.row?.owner === index;
  const { retention } = lab.setting.provider;
  const article = lab.setting.program === "article" && retention < forEver;
  const armedSince = baseNow - lab.terms.bounds.sendWithinMs - 1;
  const createdSince = baseNow - 2 * Math.min(retention, 20);
  const counts = has.counts === true && (keepsStale(lab) || (raw && !owner));
  return {
    place,
    payload: worker.payload,
    kind: worker.kind,
    token: has.token === true && named ? (raw ? worker.token : Number(owner)) : 0,
    armedAt:
      has.armedAt === true && asked && worker.armedAt > 0
        ? Math.max(worker.armedAt + by, armedSince)
        : 0,
    armed: has.send === true && worker.armed,
    lookedAt:
      has.looked === true && row !== null && mayOwn ? lookedAs(lab, worker, row, world, by) : 0,
    finding: has.act === true ? worker.finding : "unsure",
    final: has.act === true && worker.final,
    act: has.act === true ? worker.act : "none",
    found: has.act === true ? worker.found : 0,
    attempts: counts ? worker.attempts : 0,
    attemptsInGeneration: counts ? worker.attemptsInGeneration : 0,
    wire: has.send === true ? worker.wire : 0,
    rearms: has.act === true || has.send === true ? worker.rearms : 0,
    knowsLost: has.send === true && worker.knowsLost,
    createdAt:
      has.createdAt === true && article ? Math.max(worker.createdAt + by, createdSince) : 0,
  };
}

/**
 * The earliest time that lies as `lookedAt` does to everything that decisions compare it with: when all
 * is quiet, when a person is asked, when the window closes.
 */
function lookedAs(lab: Lab, worker: Worker, row: Row, world: World, by: number): number {
  const { rules, terms, resendSpan } = lab;
  const before = world.row;
  if (before === null || before.lastArmedAt === null || row.lastArmedAt === null) return 0;
  const lookedAt = worker.lookedAt + by;
  const span = rules.quietSpanMs(terms.bounds);
  const quiet = Math.max(before.quietUntil, before.lastArmedAt + span) + by;
  const give = terms.policy.giveUpAfterMs;
  const closes = before.firstArmedAt === null ? 0 : before.firstArmedAt + by + resendSpan;
  const windowed = resendSpan > 0 && resendSpan < forEver / 2;
  const shut = windowed && lookedAt >= closes ? closes : 0;
  const least = lookedAt > quiet + give ? quiet + give + 1 : lookedAt > quiet ? quiet + 1 : 0;
  const earliest = Math.max(least, shut);
  const moved = row.lastArmedAt - (before.lastArmedAt + by);
  return earliest === 0 ? 0 : earliest + moved;
}

function trimMessage(lab: Lab, message: Message, by: number, worker: Worker): Message {
  const { flight } = lab.setting.provider;
  const listens = worker.place === "wait" || worker.place === "late";
  switch (message.state) {
    case "none":
      return message;
    case "over":
      return listens && message.reply !== "none"
        ? { ...overMessage, reply: message.reply, effect: message.effect }
        : overMessage;
    case "flying":
    case "running": {
      const sentAt = message.sentAt + by;
      if (flight >= forEver) return { ...message, sentAt: baseNow };
      return baseNow > sentAt + flight ? overMessage : { ...message, sentAt };
    }
  }
}
