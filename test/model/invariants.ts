/**
 * What must hold: S1–S8 of the protocol in every world and on every step, L2 on the row. (S9, tenants, and
 * S10, compensations, span several operations; this model has one.) L1, L3 and L4 are in `liveness.ts`.
 */
import { type Row, type World, effectCount, itemAt } from "./state.ts";

export const invariants = {
  S1: "one effect at most",
  S2: "nobody is told FAILED or NOT_SENT while an effect exists or may come",
  S3: "who is told DONE is told of an effect that exists, made of their payload",
  S4: "everybody who is told DONE is told the same, and it is what is stored",
  S5: "DONE and FAILED never change",
  S6: "evidence of an effect is never lost",
  S7: "nothing is sent that wasn't armed, or after the store said that the lease is lost",
  S8: "under one wire key only one payload is sent",
  L1: "without faults an operation comes to DONE, FAILED or a person",
  L2: "a person is asked only about something that may have been sent",
  L4: "whatever waits for a person can be decided",
} as const;

export type Invariant = keyof typeof invariants;

/** What a world breaks, if anything. */
export function brokenIn(world: World): Invariant | undefined {
  const { row, told, known } = world;
  const effects = effectCount(world);
  if (effects > 1) return "S1";
  if ((told.failed || row?.status === "FAILED") && effects > 0) return "S2";
  if (!isOne(told.done)) return "S4";
  if (row?.status === "DONE" && told.done !== 0 && told.done !== 1 << row.result) return "S4";
  if (row !== null && isLost(row, told.recorded | known)) return "S6";
  if (row?.status === "NEEDS_REVIEW" && row.attempts === 0 && !row.incident) return "L2";
  return undefined;
}

function isOne(bits: number): boolean {
  return (bits & (bits - 1)) === 0;
}

function isLost(row: Row, evidence: number): boolean {
  if (evidence === 0) return false;
  return row.status !== "DONE" && !(row.status === "FAILED" && row.incident);
}

/** What a step breaks, if anything. */
export function brokenBy(before: World, after: World): Invariant | undefined {
  return (
    brokenAnswer(before, after) ?? brokenSend(before, after) ?? brokenRow(before.row, after.row)
  );
}

function brokenAnswer(before: World, { answer, ...after }: World): Invariant | undefined {
  if (answer?.kind === "done") {
    const effect = after.effects[answer.effect - 1];
    const { payload } = itemAt(before.workers, answer.worker);
    const real = effect?.status === "succeeded" && effect.payload === payload;
    return real ? undefined : "S3";
  }
  if (answer?.kind !== "not-sent") return undefined;
  const underWay = after.messages.some(({ state }) => state === "flying" || state === "running");
  return underWay || after.effects.some(({ status }) => status !== "failed") ? "S2" : undefined;
}

function brokenSend(before: World, after: World): Invariant | undefined {
  if (before.messages === after.messages) return undefined;
  for (const [index, message] of after.messages.entries()) {
    if (message.state !== "flying" || itemAt(before.messages, index).state !== "none") continue;
    const { armed, knowsLost } = itemAt(before.workers, index);
    if (!armed || knowsLost) return "S7";
    if (after.bound[message.wire] !== message.payload) return "S8";
  }
  return undefined;
}

/** A person may decide an incident; nothing else changes what is settled, and purging keeps the status. */
function brokenRow(before: Row | null, after: Row | null): Invariant | undefined {
  if (before === null || after === null || before === after) return undefined;
  const settled = before.status === "DONE" || before.status === "FAILED";
  if (!settled || before.incident) return undefined;
  const same = after.status === before.status && after.result === before.result;
  return same ? undefined : "S5";
}
