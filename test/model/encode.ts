/** A canonical world as a short text: equal texts, equal worlds. Workers are interchangeable. */
import type { Act, Key, Message, Place, Reply, Row, Worker, World } from "./state.ts";
import { itemAt } from "./state.ts";

const places: Readonly<Record<Place, number>> = {
  idle: 0,
  insert: 1,
  again: 2,
  "take-over": 3,
  look: 4,
  act: 5,
  send: 6,
  write: 7,
  wait: 8,
  late: 9,
  revisit: 10,
  check: 11,
  ended: 12,
};
const acts: Readonly<Record<Act, number>> = {
  none: 0,
  arm: 1,
  complete: 2,
  fail: 3,
  resend: 4,
  "renew-key": 5,
  wait: 6,
  review: 7,
};
const findings: Readonly<Record<Worker["finding"], number>> = {
  unsure: 0,
  absent: 1,
  succeeded: 2,
  pending: 3,
  failed: 4,
  contradiction: 5,
};
const replies: Readonly<Record<Reply, number>> = {
  none: 0,
  ok: 1,
  declined: 2,
  error: 3,
  "turned-away": 4,
  exists: 5,
  "in-use": 6,
  burnt: 7,
  accepted: 8,
};
const flights: Readonly<Record<Message["state"], number>> = {
  none: 0,
  flying: 1,
  running: 2,
  over: 3,
};
const memories: Readonly<Record<Key["state"], number>> = {
  none: 0,
  running: 1,
  ok: 2,
  declined: 3,
  error: 4,
  burnt: 5,
};
const rowStatuses: Readonly<Record<Row["status"], number>> = {
  IN_PROGRESS: 1,
  UNKNOWN: 2,
  NEEDS_REVIEW: 3,
  DONE: 4,
  FAILED: 5,
};
const effectStatuses = { succeeded: 0, pending: 1, failed: 2 } as const;

/** `named`: workers differ, by their clocks, so they aren't interchangeable. */
export function encode(world: World, named: boolean): string {
  const crew = world.workers.map((worker, index) =>
    workerText(world, worker, itemAt(world.messages, index), index, named),
  );
  return String.fromCharCode(...worldCodes(world)) + crew.toSorted().join("");
}

function worldCodes(world: World): number[] {
  const codes = [
    flags(world.steppedBack, world.rowLost, world.closed, world.told.failed),
    world.told.done,
    world.told.recorded,
    world.known,
    ...rowCodes(world.row),
  ];
  for (const key of world.keys) {
    if (key.state === "none") codes.push(0);
    else codes.push(memories[key.state], key.arrivedAt, key.effect);
  }
  codes.push(world.effects.length);
  for (const { payload, landedAt, visible, status } of world.effects) {
    codes.push(payload * 8 + effectStatuses[status] * 2 + Number(visible), landedAt);
  }
  codes.push(...world.bound);
  for (const { looked, version, saw, quiet, decisions } of world.reviewers) {
    codes.push(flags(looked, version === 1, quiet) + saw * 8, decisions);
  }
  return codes;
}

function rowCodes(row: Row | null): number[] {
  if (row === null) return [0];
  return [
    rowStatuses[row.status],
    row.token,
    row.leaseUntil,
    row.generation,
    row.attempts,
    row.attemptsInGeneration,
    row.firstArmedAt ?? 0,
    row.lastArmedAt ?? 0,
    row.quietUntil,
    row.wire,
    row.result,
    flags(row.incident, row.purged) + row.payload * 4,
    row.createdAt,
    row.settledAt,
  ];
}

function workerText(
  world: World,
  worker: Worker,
  message: Message,
  index: number,
  named: boolean,
): string {
  const place = places[worker.place];
  const own = worker.place === "again" && world.row?.owner === index;
  const flying = [flights[message.state], message.sentAt, message.wire * 4 + message.payload];
  const reply = replies[message.reply] * 8 + message.effect;
  const head = [place + (named ? (index + 1) * 16 : 0), ...flying, reply];
  if (worker.place === "ended") return String.fromCharCode(...head);
  return String.fromCharCode(
    ...head,
    worker.payload * 8 + flags(worker.kind === "sweeper", own),
    worker.token,
    worker.armedAt,
    flags(worker.armed, worker.final, worker.knowsLost) + worker.rearms * 8,
    worker.lookedAt,
    findings[worker.finding] * 8 + acts[worker.act],
    worker.found,
    worker.attempts * 8 + worker.attemptsInGeneration,
    worker.wire,
    worker.createdAt,
  );
}

function flags(...bits: readonly boolean[]): number {
  return bits.reduce((sum, bit, index) => sum + (bit ? 1 << index : 0), 0);
}
