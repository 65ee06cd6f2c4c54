/**
 * The guard's program from the send on: the deadline, the write, the answer or the time-out, and what is
 * settled by it (`src/guard/execute.ts`, `limits.ts`, `settle.ts`).
 */
import { answering, answeringStale } from "./answers.ts";
import { keepsStale } from "./canonical.ts";
import { clockOf } from "./clock.ts";
import type { Lab } from "./setting.ts";
import {
  type Message,
  type Row,
  type Step,
  type World,
  changed,
  endedWorker,
  itemAt,
  replaced,
} from "./state.ts";
import {
  completeRow,
  failRow,
  incidentRow,
  markUnknownRow,
  recordOf,
  releaseRow,
  renewRow,
} from "./store-model.ts";

/** A send that came too late is armed anew so often in one call. */
const maxRearms = 1;

export function sendSteps(lab: Lab, world: World, index: number): Step[] {
  const worker = itemAt(world.workers, index);
  const message = itemAt(world.messages, index);
  switch (worker.place) {
    case "send":
      return [...renew(lab, world, index), ...withdraw(lab, world, index), send(lab, world, index)];
    case "write":
      return [written(lab, world, index)];
    case "wait":
      return [
        ...renew(lab, world, index),
        ...(message.state === "over" && message.reply !== "none"
          ? received(lab, world, index, message)
          : []),
        givenUp(lab, world, index),
      ];
    case "late":
      return message.state === "over" && message.reply === "ok"
        ? [mergedLate(lab, world, index, message.effect)]
        : [];
    case "idle":
    case "insert":
    case "again":
    case "take-over":
    case "look":
    case "act":
    case "revisit":
    case "check":
    case "ended":
      return [];
  }
}

function told(index: number, does: string, said: string, world: World, regular = true): Step {
  return { who: `worker ${index + 1}`, does, said, regular, world };
}

/** The counts that the worker knows: the row's as long as it owns it. */
function seenRow(lab: Lab, world: World, index: number): Row | null {
  const { row } = world;
  const { attempts, attemptsInGeneration, token } = itemAt(world.workers, index);
  const stale = keepsStale(lab) && row !== null && row.token !== token;
  return stale ? { ...row, attempts, attemptsInGeneration } : row;
}

function send(lab: Lab, world: World, index: number): Step {
  const { armedAt } = itemAt(world.workers, index);
  const inTime =
    lab.off.has("send-deadline") || lab.rules.maySendNow(armedAt, world.now, lab.terms.bounds);
  if (!inTime) return release(lab, world, index, "comes too late, sends nothing", true);
  if (!lab.setting.faults.pauseAtWrite) return written(lab, world, index);
  const next = changed(world, index, { worker: { place: "write" } });
  return told(index, "checks the deadline", "in time", next);
}

function written(lab: Lab, world: World, index: number): Step {
  const { wire, payload } = itemAt(world.workers, index);
  // What is sent is the stored payload (R17).
  const sent = lab.off.has("stored-arguments") ? payload : (world.row?.payload ?? payload);
  const message = { state: "flying", sentAt: world.now, wire, payload: sent } as const;
  const next = changed(world, index, { worker: { place: "wait" }, message });
  const bound = world.bound[wire] === 0 ? withItem(world.bound, wire, sent) : world.bound;
  const key = lab.setting.provider.kind === "keyed" ? `, wire key ${wire}` : "";
  return told(index, `SENDS${key}`, "the request is on its way", { ...next, bound });
}

function withItem(list: readonly number[], index: number, value: number): readonly number[] {
  return list.map((item, at) => (at === index ? value : item));
}

/** A long call renews its lease; told that it is lost, the call is aborted (R11). */
function renew(lab: Lab, world: World, index: number): Step[] {
  const worker = itemAt(world.workers, index);
  if (!lab.setting.renewLease || worker.knowsLost) return [];
  const now = clockOf(lab, world, index);
  const row = renewRow(world.row, now, { token: worker.token, leaseMs: lab.terms.leaseMs });
  if (row !== undefined) {
    return [told(index, "renews its lease", "done", { ...world, row }, false)];
  }
  if (lab.off.has("renewal-obeyed")) {
    const next = changed(world, index, { worker: { knowsLost: true } });
    return [told(index, "renews its lease", "refused, and goes on", next, false)];
  }
  const does = "renews its lease, refused";
  if (worker.place === "send") return [release(lab, world, index, `${does}: sends nothing`, false)];
  return [givenUp(lab, world, index)];
}

function withdraw(lab: Lab, world: World, index: number): Step[] {
  if (!lab.setting.withdraws) return [];
  const step = release(lab, world, index, "its caller withdraws", false);
  return [{ ...step, regular: false }];
}

/** This attempt can't land: it is taken back, and armed anew where it only came too late. */
function release(lab: Lab, world: World, index: number, does: string, late: boolean): Step {
  const worker = itemAt(world.workers, index);
  const attempts = seenRow(lab, world, index)?.attempts ?? 0;
  const now = clockOf(lab, world, index);
  const row = releaseRow(world.row, now, { token: worker.token, attempts });
  if (row === undefined) return told(index, does, "not the owner", answeringStale(world, index));
  const next: World = { ...world, row };
  if (late && attempts === 1 && worker.rearms < maxRearms) {
    const again = { place: "act", act: "arm", armed: false, rearms: worker.rearms + 1 } as const;
    const counts = { attempts: row.attempts, attemptsInGeneration: row.attemptsInGeneration };
    return told(
      index,
      does,
      "takes the attempt back",
      changed(next, index, { worker: { ...again, ...counts } }),
    );
  }
  const kind = row.attempts === 0 ? "not-sent" : "unknown";
  return told(index, does, `takes the attempt back: ${kind}`, answering(next, index, kind));
}

function received(lab: Lab, world: World, index: number, message: Message): Step[] {
  const { effect, reply } = message;
  const got = `gets ${reply === "ok" ? `effect ${effect}` : `"${reply}"`}`;
  switch (reply) {
    case "ok": {
      const done = told(index, got, "records the success", complete(lab, world, index, effect));
      if (!lab.setting.faults.storeCuts) return [done];
      const unrecorded = answering(world, index, "done", effect, false);
      return [done, told(index, got, "the store can't be reached", unrecorded, false)];
    }
    case "turned-away":
      return [release(lab, world, index, got, false)];
    case "none":
      return [];
    case "declined":
      return [refused(lab, world, index, got)];
    case "exists":
      if (!lab.off.has("exists-is-doubt")) return [doubt(lab, world, index, got)];
      return [refused(lab, world, index, got)];
    case "error":
    case "in-use":
    case "burnt":
    case "accepted":
      if (!lab.off.has("errors-are-doubt")) return [doubt(lab, world, index, got)];
      return [refused(lab, world, index, got)];
  }
}

/** The contract calls it definitive: FAILED, if nothing else can have landed (R13). */
function refused(lab: Lab, world: World, index: number, got: string): Step {
  const row = seenRow(lab, world, index);
  const now = clockOf(lab, world, index);
  const sure = row !== null && lab.rules.mayFail(recordOf(row, now), lab.terms.policy);
  if (!sure) return doubt(lab, world, index, got);
  const step = settleFailed(lab, world, index, null);
  return { ...step, does: `${got}, ${step.does}` };
}

/** Writes FAILED, and tells it only if the row says so (R16). */
export function settleFailed(lab: Lab, world: World, index: number, lookedAt: number | null): Step {
  const { token } = itemAt(world.workers, index);
  const { replaysDeclines } = lab.terms.policy;
  const now = clockOf(lab, world, index);
  const row = failRow(world.row, now, { token, replaysDeclines, lookedAt }, lab.off);
  const does = "settles it as FAILED";
  if (row !== undefined)
    return told(index, does, "done", answering({ ...world, row }, index, "failed"));
  if (lab.off.has("failed-from-the-row")) {
    return told(index, does, "refused, tells FAILED", answering(world, index, "failed"));
  }
  return told(index, does, "refused", answeringStale(world, index));
}

function doubt(lab: Lab, world: World, index: number, got: string): Step {
  if (lab.off.has("not-sent-is-a-fact")) return release(lab, world, index, got, false);
  return unknown(lab, world, index, got, endedWorker);
}

/** No answer in time: the outcome is unknown, and a late success is still merged (R14). */
function givenUp(lab: Lab, world: World, index: number): Step {
  if (lab.off.has("not-sent-is-a-fact")) return release(lab, world, index, "times out", false);
  const { token } = itemAt(world.workers, index);
  const listening = { ...endedWorker, place: "late", token } as const;
  const step = unknown(lab, world, index, "stops waiting", listening);
  return { ...step, regular: false };
}

function unknown(
  lab: Lab,
  world: World,
  index: number,
  does: string,
  after: World["workers"][number],
): Step {
  const { token } = itemAt(world.workers, index);
  const row = markUnknownRow(world.row, clockOf(lab, world, index), token);
  const next =
    row === undefined
      ? answeringStale(world, index)
      : answering({ ...world, row }, index, "unknown");
  const said = row === undefined ? "not the owner" : "marks it unknown";
  return told(index, does, said, { ...next, workers: replaced(next.workers, index, after) });
}

/** A call that was given up ends well after all; nobody is told any more. */
function mergedLate(lab: Lab, world: World, index: number, effect: number): Step {
  const next = { ...complete(lab, world, index, effect), told: world.told, answer: null };
  return told(index, `gets effect ${effect}, late`, "records the success", next);
}

/** Success is knowledge: merged whatever the token, compared where something is settled (R14, R15). */
export function complete(lab: Lab, world: World, index: number, effect: number): World {
  const { token } = itemAt(world.workers, index);
  const known = world.known | (1 << effect);
  const now = clockOf(lab, world, index);
  const row = completeRow(world.row, now, { effect, token }, lab.off);
  if (row !== undefined) return answering({ ...world, row, known }, index, "done", effect);
  const stored = world.row;
  if (stored === null) return answering({ ...world, known }, index, "done", effect, false);
  if (stored.status === "DONE" && stored.result === effect) {
    return answering({ ...world, known }, index, "done", effect);
  }
  const flagged: World = { ...world, known, row: incidentRow(stored) ?? stored };
  return stored.status === "DONE"
    ? answering(flagged, index, "done", stored.result)
    : answering(flagged, index, "review");
}
