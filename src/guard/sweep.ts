/**
 * The sweeper: reconciles what no caller comes back for (R22).
 *
 * @module
 */
import { errorText, isNeverTwiceError } from "../base/errors.ts";
import { isOverdue } from "../ledger/decide.ts";
import { type OperationRecord, findRecordFault } from "../ledger/record.ts";
import type { GuardEnvironment } from "./environment.ts";
import { flagCorrupt } from "./flag-corrupt.ts";
import { fingerprintFor } from "./prepare.ts";
import { reconcile } from "./reconcile.ts";
import { escalate } from "./review.ts";
import { takeOver } from "./take-over.ts";
import type { Tool } from "./tool.ts";
import { type Turn, storedArguments } from "./turn.ts";

/** What became of one operation in a sweep. */
export interface Swept {
  readonly tenant: string;
  readonly key: string;
  /** `DONE`, the code of the answer that a caller would have got, or `skipped`: another has it. */
  readonly outcome: string;
}

/** Reconciles operations whose time has come. Failing ones don't stop the others. */
export async function sweep(
  env: GuardEnvironment,
  tools: ReadonlyMap<string, Tool>,
  limit: number,
): Promise<readonly Swept[]> {
  const names = [...tools.values()]
    .filter((tool) => tool.guarded !== null)
    .map((tool) => tool.name);
  const due = await env.store.findDue({ tools: names, limit });
  const swept: Swept[] = [];
  for (const record of due) {
    const { tenant, key } = record;
    swept.push({ tenant, key, outcome: await sweepOne(env, tools.get(record.tool), record) });
  }
  return swept;
}

async function sweepOne(
  env: GuardEnvironment,
  tool: Tool | undefined,
  seen: OperationRecord,
): Promise<string> {
  try {
    return await reconcileOne(env, tool, seen);
  } catch (error) {
    if (isNeverTwiceError(error)) return error.code;
    env.warn({
      tenant: seen.tenant,
      key: seen.key,
      message: `the sweep stopped here: ${errorText(error)}`,
    });
    return "error";
  }
}

async function reconcileOne(
  env: GuardEnvironment,
  tool: Tool | undefined,
  seen: OperationRecord,
): Promise<string> {
  const fault = findRecordFault(seen);
  if (fault !== undefined) await flagCorrupt(env, seen, fault);
  const parts = tool?.guarded;
  if (tool === undefined || parts === undefined || parts === null) return "skipped";
  const fits = fingerprintFor(tool, parts, storedArguments(seen)) === seen.fingerprint;
  if (!fits && !isOverdue(seen, parts.terms.policy)) return skipChanged(env, seen);
  const taken = await takeOver(env, seen, env.runtime.randomId(), parts.terms.leaseMs);
  if (taken === undefined) return "skipped";
  const turn: Turn = {
    tool,
    parts,
    record: taken.record,
    leaseEndsAtMonotonicMs: taken.askedAtMonotonicMs + parts.terms.leaseMs,
    arguments: storedArguments(taken.record),
    signal: undefined,
    warnings: [],
  };
  const settling = fits ? reconcile(env, turn) : escalate(env, turn, changed);
  return (await settling).status;
}

const changed =
  "the tool is declared for another account or endpoint by now, so it can't be asked or sent to";

/** Another account or endpoint knows nothing of this operation. A worker with the old declaration may. */
function skipChanged(env: GuardEnvironment, seen: OperationRecord): string {
  env.warn({ tenant: seen.tenant, key: seen.key, message: `not swept: ${changed}` });
  return "skipped";
}
