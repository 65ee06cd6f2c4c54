/**
 * The effects that a run began and has no answer of: a run's end must not hide them.
 *
 * @module
 */
import { findRecordFault } from "../ledger/record.ts";
import type { RunId, StepRecord } from "../ledger/runs.ts";
import type { Status } from "../ledger/status.ts";
import type { EffectStore } from "../ledger/transaction.ts";

/** An act whose answer the run has not recorded, as its operation stands now. */
export interface OpenEffect {
  /** The step's name. */
  readonly step: string;
  /** Of the operation. */
  readonly key: string;
  /** The operation's status; null while nothing is claimed. */
  readonly status: Status | null;
  /** Whether the effect exists is not known yet, or a person has to say. */
  readonly inDoubt: boolean;
}

/**
 * Reads the acts of a run that it has no answer of, in their order. `underWay` says which of them a
 * call is still made for: of those no row proves nothing.
 */
export async function readOpenEffects(
  store: EffectStore,
  run: RunId,
  underWay: (step: string) => boolean,
): Promise<readonly OpenEffect[]> {
  const steps = await store.runs.listSteps(run);
  const open = steps.filter(({ kind, status }) => kind === "act" && status === "STARTED");
  const found: OpenEffect[] = [];
  for (const step of open.toSorted((a, b) => a.position - b.position)) {
    // Kept without a key: its kind takes no claim, and its effect is harmless to repeat.
    if (step.key !== null)
      found.push(await readEffect(store, { ...step, key: step.key }, underWay));
  }
  return found;
}

async function readEffect(
  store: EffectStore,
  { tenant, name: step, key, fingerprint }: StepRecord & { readonly key: string },
  underWay: (step: string) => boolean,
): Promise<OpenEffect> {
  const record = await store.read({ tenant, key });
  // Under another fingerprint it is the effect of another call, and this one is refused.
  if (record === undefined || record.fingerprint !== fingerprint)
    return { step, key, status: null, inDoubt: record === undefined && underWay(step) };
  const settled = record.status === "DONE" || record.status === "FAILED";
  const sound = findRecordFault(record) === undefined && record.incident === null;
  return { step, key, status: record.status, inDoubt: !settled || !sound };
}

/** What a person reads of effects in doubt: what is known, what is not, and who settles it. */
export function tellDoubts(doubts: readonly OpenEffect[]): string {
  const named = doubts.map(
    ({ step, key, status }) => `"${step}" (${status ?? "not claimed yet"}, key ${key})`,
  );
  return `In doubt when the run ended, so that the effect may exist: ${named.join(", ")}. The sweeper or a review settles it; \`nevertwice runs show\` tells how it stands.`;
}
