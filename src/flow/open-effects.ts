/**
 * The effects that a run began and has no answer of: a run's end must not hide them.
 *
 * @module
 */
import { findRecordFault } from "../ledger/record.ts";
import type { RunId, StepRecord } from "../ledger/runs.ts";
import type { Status } from "../ledger/status.ts";
import type { EffectStore } from "../ledger/transaction.ts";
import { readUndo } from "./step-value.ts";

/** An act, or the undo of one, whose answer the run has not recorded, as its operation stands now. */
export interface OpenEffect {
  /** The step's name. */
  readonly step: string;
  /** For a `compensate` step: the act that was being undone. */
  readonly undoes?: string;
  /** Of the operation. */
  readonly key: string;
  /** The operation's status; null while nothing is claimed. */
  readonly status: Status | null;
  /** Whether the effect exists is not known yet, or a person has to say. */
  readonly inDoubt: boolean;
}

/**
 * Reads what a run began and has no answer of, in the order of its steps. `underWay` says for which
 * of them a call is still made: of those no row proves nothing.
 */
export async function readOpenEffects(
  store: EffectStore,
  run: RunId,
  underWay: (step: StepRecord) => boolean,
): Promise<readonly OpenEffect[]> {
  const steps = await store.runs.listSteps(run);
  const open = steps.filter(({ status }) => status === "STARTED");
  const found: OpenEffect[] = [];
  for (const step of open.toSorted((a, b) => a.position - b.position)) {
    const call = callOf(step);
    if (call !== undefined) found.push(await readEffect(store, step.tenant, call, underWay(step)));
  }
  return found;
}

type Call = Pick<OpenEffect, "step" | "undoes" | "key"> & { readonly fingerprint: string | null };

/** The guarded call that the step stopped at. A kind without a claim has none: it is harmless to repeat. */
function callOf({ name: step, kind, key, fingerprint, value }: StepRecord): Call | undefined {
  if (kind === "act" && key !== null) return { step, key, fingerprint };
  const undo = kind === "compensate" ? readUndo(value) : undefined;
  return undo && { step, ...undo };
}

async function readEffect(
  store: EffectStore,
  tenant: string,
  { fingerprint, ...call }: Call,
  isUnderWay: boolean,
): Promise<OpenEffect> {
  const record = await store.read({ tenant, key: call.key });
  // Under another fingerprint it is the effect of another call, and this one is refused.
  if (record === undefined || record.fingerprint !== fingerprint)
    return { ...call, status: null, inDoubt: record === undefined && isUnderWay };
  const settled = record.status === "DONE" || record.status === "FAILED";
  const sound = findRecordFault(record) === undefined && record.incident === null;
  return { ...call, status: record.status, inDoubt: !settled || !sound };
}

/** The step's name, for a person. */
export function nameOpenEffect({ step, undoes }: Pick<OpenEffect, "step" | "undoes">): string {
  return undoes === undefined ? step : `${step}: ${undoes}`;
}

/** What a person reads of effects in doubt: what is known, what is not, and who settles it. */
export function tellDoubts(doubts: readonly OpenEffect[]): string {
  const named = doubts.map(
    ({ key, status, ...step }) =>
      `"${nameOpenEffect(step)}" (${status ?? "not claimed yet"}, key ${key})`,
  );
  return `In doubt when the run ended, so that the effect may exist: ${named.join(", ")}. The sweeper or a review settles it; \`nevertwice runs show\` tells how it stands.`;
}
