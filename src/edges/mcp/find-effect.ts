/**
 * Reconcile by another tool: reads what an upstream server shows and says what that proves (R18).
 * Anything that can't be read is `unsure`; so is an answer that the server itself calls an error.
 *
 * @module
 */
import { canonicalJson } from "../../base/canonical-json.ts";
import type { JsonObject } from "../../base/plain-json.ts";
import type { FoundEffect, LookUpAnswer, LookUpQuestion } from "../../guard/contract.ts";
import { renderJson } from "./json-template.ts";
import { valueAt } from "./json-pointer.ts";
import { type TemplateValues, renderValue } from "./template.ts";
import type { ReconcilePolicy } from "./tool-policy.ts";
import type { UpstreamConnection } from "./upstream-connection.ts";
import { isAllText, isFinished, textOf, textsOf } from "./upstream-errors.ts";

type Members = Readonly<Record<string, unknown>>;

/** Asks the server with each wire key in turn; the first that finds something has the answer. */
export async function findEffect(
  policy: ReconcilePolicy,
  upstream: Pick<UpstreamConnection, "request">,
  question: LookUpQuestion<JsonObject>,
): Promise<LookUpAnswer<Members>> {
  let answer = unsure("nothing was asked");
  for (const wireKey of usesWireKey(policy) ? question.wireKeys : question.wireKeys.slice(0, 1)) {
    answer = await ask(policy, upstream, question, wireKey);
    if (answer.answer !== "absent") return answer;
  }
  return answer;
}

/** Without it in the question, every wire key asks the same. */
function usesWireKey(policy: ReconcilePolicy): boolean {
  return JSON.stringify([policy.arguments, policy.match, policy.contains ?? null]).includes(
    '"wireKey"',
  );
}

async function ask(
  policy: ReconcilePolicy,
  upstream: Pick<UpstreamConnection, "request">,
  question: LookUpQuestion<JsonObject>,
  wireKey: string,
): Promise<LookUpAnswer<Members>> {
  const { tenant, key, arguments: args, signal } = question;
  const values = { args, tenant, key, wireKey };
  const params = { name: policy.tool, arguments: renderJson(policy.arguments, values) };
  const result = await upstream.request("tools/call", params, { cancel: signal });
  if (result["isError"] === true) return unsure(textOf(result));
  if (result["resultType"] === "input_required") return unsure("the look-up asks for input");
  if (!isFinished(result)) return unsure("the look-up gave a task in place of a result");
  const answer = judge(policy, result, values);
  const gap = answer.answer === "absent" ? gapIn(result) : undefined;
  return gap === undefined ? answer : unsure(gap);
}

/** Why not seeing an effect in the result says nothing; undefined when it was seen as a whole. */
function gapIn(result: Members): string | undefined {
  if (result["structuredContent"] === undefined && !isAllText(result))
    return "the look-up's result holds something that can't be read";
  const { nextCursor = null } = (shownBy(result) ?? {}) as Members;
  const more = result["nextCursor"] ?? nextCursor;
  return more === null || more === "" ? undefined : "the look-up shows one page of more";
}

function judge(
  policy: ReconcilePolicy,
  result: Members,
  values: TemplateValues,
): LookUpAnswer<Members> {
  const shown = shownBy(result);
  const items: unknown = policy.items === undefined ? [shown] : valueAt(shown, policy.items);
  if (!Array.isArray(items)) return unsure(`the look-up's result has no list at ${policy.items}`);
  const wanted = wantedBy(policy, values);
  if (wanted === undefined) return unsure("this call has no value to look for");
  const found = (items as unknown[]).filter((item) => matches(wanted, item));
  if (found.length === 0) return judgeNone(policy, items);
  const unknown = found.map((item) => statusOf(policy, item)).find((status) => status.unknown);
  if (unknown !== undefined) return unsure(`the look-up shows the status ${unknown.shown}`);
  return { answer: "found", effects: found.map((item) => effectOf(policy, item)) };
}

/** A list in which nothing stands where the policy looks was not searched. */
function judgeNone(policy: ReconcilePolicy, items: readonly unknown[]): LookUpAnswer<Members> {
  const blind = policy.match.find(
    ({ pointer }) =>
      items.length > 0 && items.every((item) => valueAt(item, pointer) === undefined),
  );
  return blind === undefined
    ? { answer: "absent" }
    : unsure(`nothing in the look-up's result has anything at ${blind.pointer}`);
}

function unsure(reason: string): LookUpAnswer<Members> {
  return { answer: "unsure", reason };
}

/** What the server shows: structured, or its texts, as JSON if they are. */
export function shownBy(result: Members): unknown {
  if (result["structuredContent"] !== undefined) return result["structuredContent"];
  const text = textsOf(result);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** What a candidate must show. */
interface Wanted {
  readonly values: readonly { readonly pointer: string; readonly equals: unknown }[];
  readonly text: string | undefined;
}

/** Undefined when a place has no value: what can't be looked for is not absent. */
function wantedBy(policy: ReconcilePolicy, values: TemplateValues): Wanted | undefined {
  const rendered = policy.match.map(({ pointer, equals }) => ({
    pointer,
    equals: renderValue(equals, values),
  }));
  if (rendered.some(({ equals }) => equals === undefined)) return undefined;
  if (policy.contains === undefined) return { values: rendered, text: undefined };
  const text = renderValue(policy.contains, values);
  return text === undefined || text === "" ? undefined : { values: rendered, text: spelled(text) };
}

function matches({ values, text }: Wanted, item: unknown): boolean {
  if (text !== undefined && !holds(item, text)) return false;
  return values.every(({ pointer, equals }) => {
    const value = valueAt(item, pointer);
    return value !== undefined && spelled(value) === spelled(equals);
  });
}

/** As the item's JSON has it, or as one of its texts does: JSON spells line ends and quotes in another way. */
function holds(item: unknown, text: string): boolean {
  if (typeof item === "string") return item.includes(text);
  if (typeof item !== "object" || item === null) return spelled(item).includes(text);
  if (JSON.stringify(item).includes(text)) return true;
  return Object.entries(item).some(([name, each]) => name.includes(text) || holds(each, text));
}

/** A template gives text where a server shows a number; as ids they are the same. */
function spelled(value: unknown): string {
  return typeof value === "string" ? value : canonicalJson(value);
}

function effectOf(policy: ReconcilePolicy, item: unknown): FoundEffect<Members> {
  const id = policy.id === undefined ? undefined : valueAt(item, policy.id);
  const plainId = typeof id === "string" || typeof id === "number" ? String(id) : undefined;
  return {
    status: statusOf(policy, item).status,
    result: foundResult(item),
    ...(plainId === undefined ? {} : { providerId: plainId }),
  };
}

interface ShownStatus {
  readonly status: FoundEffect<Members>["status"];
  readonly shown: string;
  readonly unknown: boolean;
}

/** A status that the policy doesn't list is no success. */
function statusOf(policy: ReconcilePolicy, item: unknown): ShownStatus {
  const { status: lists } = policy;
  if (lists === undefined) return { status: "succeeded", shown: "", unknown: false };
  const shown = canonicalJson(valueAt(item, lists.pointer) ?? null);
  const status = (["succeeded", "pending", "failed"] as const).find((each) =>
    lists[each].some((value) => canonicalJson(value) === shown),
  );
  return { status: status ?? "pending", shown, unknown: status === undefined };
}

/** The effect in the shape of a tool's result. */
function foundResult(item: unknown): Members {
  const text = typeof item === "string" ? item : JSON.stringify(item);
  const structured = typeof item === "object" && item !== null && !Array.isArray(item);
  return {
    content: [{ type: "text", text }],
    ...(structured ? { structuredContent: item } : {}),
  };
}
