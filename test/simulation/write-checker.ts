/**
 * What a single write may do to a row, told apart from how the statements do it: the arithmetic here
 * is the protocol's, written down a second time.
 */
import type { OperationRecord } from "../../src/ledger/record.ts";
import type { Store } from "../../src/index.ts";
import { isTerminal } from "../../src/ledger/status.ts";
import { spans } from "./plan.ts";

/** One call of the store, with the row before and after it. */
export interface Write {
  readonly name: keyof Store;
  readonly params: Readonly<Record<string, unknown>>;
  readonly before: OperationRecord | undefined;
  readonly after: OperationRecord | undefined;
  /** What the store answered. */
  readonly answer: unknown;
  /** The database's clock. */
  readonly nowMs: number;
}

const fenced = new Set<keyof Store>([
  "renew",
  "arm",
  "release",
  "fail",
  "markUnknown",
  "escalate",
  "takeOver",
]);

/** The rule that a write breaks, in words; undefined when it is fine. */
export function findWriteFault(write: Write): string | undefined {
  const { name, before, after, params, answer } = write;
  if (before === undefined || after === undefined) return undefined;
  if (name === "complete") return findLostEvidence(before, after, answer);
  if (name === "claim") {
    return before.token === after.token ? undefined : "R8: a claim took a row that has an owner";
  }
  if (!fenced.has(name)) return undefined;
  const changed = answer !== undefined || after.version !== before.version;
  if (!changed) return undefined;
  if (before.token !== params["token"]) return `R12: ${name} with a lost token changed the row`;
  if (name === "takeOver") return findEarlyTakeOver(write, before);
  if (before.status !== "IN_PROGRESS") return `R12: ${name} changed a row that is ${before.status}`;
  return name === "arm" ? findUnsafeArm(write, before) : undefined;
}

function findLostEvidence(
  before: OperationRecord,
  after: OperationRecord,
  answer: unknown,
): string | undefined {
  if (isTerminal(before.status)) {
    return answer === undefined ? undefined : `S5: a row that is ${before.status} was written over`;
  }
  return after.status === "DONE"
    ? undefined
    : `S6: evidence of an effect was dropped, the row says ${after.status}`;
}

function findEarlyTakeOver({ nowMs }: Write, before: OperationRecord): string | undefined {
  const open = before.status === "UNKNOWN";
  const leaseOver = before.status === "IN_PROGRESS" && before.leaseUntilMs <= nowMs;
  return open || leaseOver ? undefined : "R12: a live lease, or a settled row, was taken over";
}

function findUnsafeArm(write: Write, before: OperationRecord): string | undefined {
  const { params, nowMs } = write;
  if (before.attemptsInGeneration === 0) return undefined;
  if (params["newGeneration"] === true) {
    const proved = Number(params["lookedAtMs"]) > before.quietUntilMs;
    return proved ? undefined : "R21: a new key while a request may still be on its way";
  }
  const lastSafeMs =
    (before.firstArmedAtMs ?? 0) + spans.retention - spans.flight - spans.sendWithin - spans.margin;
  return nowMs < lastSafeMs ? undefined : "R19: armed again outside the provider's window";
}
