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
import { checkedId } from "../intent/intent.ts";
import { type OperationRecord, findRecordFault } from "../ledger/record.ts";
import type { Store } from "../ledger/store.ts";

/** Which effect to undo. */
export interface CompensateOptions {
  readonly tenant: string;
  /** The key of the operation whose effect is to go. */
  readonly key: string;
  /**
   * The provider's id of a second effect under that key, where a person found one (R14). Default, and
   * the same undo when it is named: the effect that the operation's row tells of.
   */
  readonly effect?: string;
  readonly context?: Pick<RunContext, "trusted" | "signal" | "onInProgress" | "workflowId">;
}

/**
 * Undoes an effect once, however often it is asked for. An unknown outcome is reconciled like any
 * other: the same call is safe.
 *
 * @throws {NeverTwiceError} OPERATION_NOT_FOUND, INTENT_UNSETTLED when no effect is proved, KEY_EXPIRED
 * when its outcome was purged, TOOL_INVALID when the tool declares no compensation, INTENT_INVALID for a
 * named effect beside one whose id is not recorded, and what `guard.run` throws.
 */
export async function compensate(
  guard: Guard,
  store: Store,
  tools: readonly Tool[],
  options: CompensateOptions,
): Promise<Outcome<unknown>> {
  const { tool, args, context } = await findUndo(guard, store, tools, options);
  return guard.run(tool, args, context);
}

/** A guarded call that undoes an effect. */
export interface UndoCall {
  readonly tool: Tool;
  readonly args: unknown;
  readonly context: RunContext;
}

/**
 * The call that {@link compensate} makes. Sends nothing.
 *
 * @throws {NeverTwiceError} What {@link compensate} throws before it sends.
 */
export async function findUndo(
  guard: Guard,
  store: Store,
  tools: readonly Tool[],
  options: CompensateOptions,
): Promise<UndoCall> {
  const { tenant, key, context = {} } = options;
  const record = await store.read({ tenant, key });
  if (record === undefined) throw notFound(options);
  const effect = furtherEffect(record, options.effect);
  const proved = provedEffect(record, effect);
  const compensation = compensationOf(record, tools);
  const call = { tool: compensation.tool, args: compensation.arguments(proved) };
  const named = effect ?? (await ownNameInUse(guard, store, record, call));
  const compensates = { key, ...(named === undefined ? {} : { effect: named }) };
  return { ...call, context: { ...context, tenant, compensates } };
}

/**
 * The id of the row's own effect, if that is undone under it: an effect that a person found and had
 * undone by its id may become the row's own when the review is decided.
 */
async function ownNameInUse(
  guard: Guard,
  store: Store,
  { tenant, key, providerId }: OperationRecord,
  { tool, args }: Omit<UndoCall, "context">,
): Promise<string | undefined> {
  if (providerId === null) return undefined;
  const compensates = { key, effect: providerId };
  const identity = await guard.identify(tool, args, { tenant, compensates });
  const isThere = identity !== null && (await store.read(identity)) !== undefined;
  return isThere ? providerId : undefined;
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

/**
 * The named effect, where it is another than the row's own. The row's own has one undo, whether it is
 * named or not; of an effect that the row knows no id of, nobody can say whether it is the named one.
 */
function furtherEffect(
  { key, status, providerId }: OperationRecord,
  effect: string | undefined,
): string | undefined {
  if (effect === undefined) return undefined;
  const named = checkedId(effect, "effect");
  if (status === "DONE" && providerId === null) {
    throw new NeverTwiceError(
      "INTENT_INVALID",
      `Whether ${named} is the effect that ${key} is known by or a further one can't be told: that one's id is not recorded, for its tool has no \`contract.providerId\`. Undone under both names it would be undone twice. Nothing was sent. To undo the recorded one, leave out \`effect\`.`,
      { key, details: { effect: named } },
    );
  }
  return named === providerId ? undefined : named;
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
  const known = record.resultKind === "json" && effect === undefined;
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
