/**
 * Undoing an effect: an intent of its own, keyed by the effect, for a proved effect only (R30).
 *
 * @module
 */
import { NeverTwiceError } from "../base/errors.ts";
import type { Outcome } from "../guard/answers.ts";
import type { CallIdentity, Guard } from "../guard/create-guard.ts";
import type { RunContext } from "../guard/prepare.ts";
import type { Compensation, ProvedEffect, Tool } from "../guard/tool.ts";
import { restoreArguments } from "../intent/business-arguments.ts";
import { type OperationRecord, findRecordFault } from "../ledger/record.ts";
import type { Store } from "../ledger/store.ts";

/** Which effect to undo. */
export interface CompensateOptions {
  readonly tenant: string;
  /** The key of the operation whose effect is to go. */
  readonly key: string;
  /**
   * The provider's id of a second effect under that key, where a person found one (R14). Default: the
   * effect that the operation's row tells of.
   */
  readonly effect?: string;
  readonly context?: Pick<RunContext, "trusted" | "signal" | "onInProgress" | "workflowId">;
}

/**
 * Undoes an effect once, however often it is asked for. An unknown outcome is reconciled like any
 * other: the same call is safe.
 *
 * @throws {NeverTwiceError} OPERATION_NOT_FOUND, INTENT_UNSETTLED when no effect is proved, KEY_EXPIRED
 * when its outcome was purged, TOOL_INVALID when the tool declares no compensation, and what `guard.run` throws.
 */
export async function compensate(
  guard: Guard,
  store: Store,
  tools: readonly Tool[],
  options: CompensateOptions,
): Promise<Outcome<unknown>> {
  const { tool, args, context } = await findUndo(store, tools, options);
  return guard.run(tool, args, context);
}

/**
 * Which operation {@link compensate} would be; null when the undo's kind takes no claim. Sends nothing.
 *
 * @throws {NeverTwiceError} What {@link compensate} throws before it sends.
 */
export async function identifyUndo(
  guard: Guard,
  store: Store,
  tools: readonly Tool[],
  options: CompensateOptions,
): Promise<CallIdentity | null> {
  const { tool, args, context } = await findUndo(store, tools, options);
  return guard.identify(tool, args, context);
}

/** The call that undoes an effect. */
interface Undo {
  readonly tool: Tool;
  readonly args: unknown;
  readonly context: RunContext;
}

async function findUndo(
  store: Store,
  tools: readonly Tool[],
  options: CompensateOptions,
): Promise<Undo> {
  const { tenant, key, effect, context = {} } = options;
  const record = await store.read({ tenant, key });
  if (record === undefined) throw notFound(options);
  const proved = provedEffect(record, effect);
  const { tool, arguments: argumentsOf } = compensationOf(record, tools);
  const compensates = { key, ...(effect === undefined ? {} : { effect }) };
  return { tool, args: argumentsOf(proved), context: { ...context, tenant, compensates } };
}

/** True when the tool says how to undo it. */
export function isCompensable(tool: Tool | undefined): boolean {
  return (tool?.guarded?.compensation ?? null) !== null;
}

/**
 * Whether an act had its effect whose caller has no answer, by the operation's row. Ask only when no
 * call of that caller is under way any more: then no row means that its calls ended before a claim.
 */
export async function findActEffect(
  store: Pick<Store, "read">,
  { tenant, key, fingerprint }: CallIdentity,
): Promise<"proved" | "none" | "unsettled"> {
  const record = await store.read({ tenant, key });
  // Under another fingerprint it is the effect of another call, and this one was refused.
  if (record === undefined || record.fingerprint !== fingerprint) return "none";
  if (findRecordFault(record) !== undefined || record.incident !== null) return "unsettled";
  if (record.status === "DONE") return "proved";
  return record.status === "FAILED" ? "none" : "unsettled";
}

function compensationOf(record: OperationRecord, tools: readonly Tool[]): Compensation {
  const tool = tools.find(({ name }) => name === record.tool);
  const compensation = tool?.guarded?.compensation ?? null;
  if (compensation !== null) return compensation;
  const why = tool === undefined ? "is not registered here" : "declares no `compensation`";
  throw new NeverTwiceError(
    "TOOL_INVALID",
    `The effect of ${record.key} can't be undone: its tool ${record.tool} ${why}. Nothing was sent.`,
    { key: record.key, details: { tool: record.tool } },
  );
}

function provedEffect(record: OperationRecord, effect: string | undefined): ProvedEffect {
  const { tenant, key, status, incident, providerId } = record;
  const fault = findRecordFault(record);
  if (record.purgedAtMs !== null) throw purged(record);
  // An incident names a further effect; which one a person wants gone must be said.
  const isProved = status === "DONE" || (incident !== null && effect !== undefined);
  if (fault !== undefined || !isProved || record.arguments === null) {
    throw new NeverTwiceError(
      "INTENT_UNSETTLED",
      `No effect of ${key} is proved (it is ${status}${fault === undefined ? "" : `, and ${fault}`}), so there is nothing to undo yet. Nothing was sent. The same call is safe once its outcome is settled.`,
      { key, details: { status } },
    );
  }
  const isOther = effect !== undefined && effect !== providerId;
  const known = record.resultKind === "json" && !isOther;
  return Object.freeze({
    tenant,
    key,
    arguments: restoreArguments(record.arguments).value,
    result: known ? (JSON.parse(record.result ?? "null") as unknown) : undefined,
    providerId: effect ?? providerId,
  });
}

function purged({ key }: OperationRecord): NeverTwiceError {
  return new NeverTwiceError(
    "KEY_EXPIRED",
    `The effect of ${key} was settled so long ago that nothing is stored any more of what there is to undo. Nothing was sent, and the same call will give this same answer.`,
    { key },
  );
}

function notFound({ tenant, key }: CompensateOptions): NeverTwiceError {
  return new NeverTwiceError(
    "OPERATION_NOT_FOUND",
    `No operation with key ${key} is recorded for tenant ${tenant}, so there is nothing to undo. Nothing was sent.`,
    { key },
  );
}
