/**
 * Registration: refuses what the types refuse, for plain JavaScript too, and names the missing part.
 *
 * @module
 */
import { formatSpan, isSpan } from "../base/duration.ts";
import { NeverTwiceError } from "../base/errors.ts";
import { checkedId } from "../intent/intent.ts";
import type { BusinessFields, Normaliser } from "../intent/business-arguments.ts";
import { wireKeyLengths } from "../intent/wire-key.ts";
import { resendSpanMs, shortestLeaseMs } from "../ledger/window.ts";
import { type Contract, type Terms, isResendSafe, termsOf } from "./contract.ts";
import type {
  Compensation,
  FieldName,
  Fields,
  GuardedParts,
  GuardedTool,
  LookAlikeRule,
  PassTool,
  Tool,
} from "./tool.ts";

/**
 * Declares a tool.
 *
 * @throws {NeverTwiceError} TOOL_INVALID naming the part that is missing or contradicts another.
 *
 * @example
 * const refund = defineTool({
 *   name: "issue_refund",
 *   kind: "non-idempotent",
 *   arguments: z.object({ orderId: z.string(), amountMinor: z.int(), reason: z.string() }),
 *   intent: ({ args, trusted }) => `refund:order-${args.orderId}:ticket-${trusted.ticketId}`,
 *   businessArguments: ["orderId", "amountMinor"],
 *   contract: { timeoutMs: 30_000, flightMs: 60_000 },
 *   execute: (args, call) => provider.refund(args, { idempotencyKey: call.wireKey, signal: call.signal }),
 * });
 */
export function defineTool<Args extends Fields, Result>(tool: PassTool<Args, Result>): Tool<Result>;
export function defineTool<Args extends Fields, Field extends FieldName<Args>, Result>(
  tool: GuardedTool<Args, Field, Result>,
): Tool<Result>;
export function defineTool(tool: unknown): Tool {
  const parts = (isObject(tool) ? tool : {}) as Record<string, unknown>;
  const name = requireText(parts, "name", "(unnamed)");
  const refuse = refuser(name);
  if (!isSchema(parts["arguments"])) refuse("`arguments` must be a Standard Schema validator");
  if (typeof parts["execute"] !== "function") refuse("`execute` is missing");
  const common = {
    name,
    schema: parts["arguments"] as Tool["schema"],
    execute: parts["execute"] as Tool["execute"],
  };
  switch (parts["kind"]) {
    case "read-only":
    case "convergent":
      refuseGuardedParts(parts, refuse);
      return Object.freeze({ ...common, kind: parts["kind"], guarded: null });
    case "non-idempotent":
      return Object.freeze({
        ...common,
        kind: parts["kind"],
        guarded: guardedParts(name, parts, refuse),
      });
    default:
      return refuse('`kind` must be "read-only", "convergent" or "non-idempotent"');
  }
}

type Refuse = (reason: string, details?: Record<string, unknown>) => never;

function refuser(tool: string): Refuse {
  return (reason, details = {}) => {
    throw new NeverTwiceError("TOOL_INVALID", `The tool ${tool} can't be registered: ${reason}.`, {
      details: { tool, ...details },
    });
  };
}

function requireText(parts: Record<string, unknown>, part: string, tool: string): string {
  const value = parts[part];
  if (typeof value !== "string" || value.trim() === "")
    return refuser(tool)(`\`${part}\` is missing`);
  try {
    return checkedId(value, part);
  } catch (error) {
    return refuser(tool)((error as Error).message);
  }
}

function isSchema(value: unknown): boolean {
  const schema = value as { "~standard"?: { validate?: unknown } } | null | undefined;
  return typeof schema?.["~standard"]?.validate === "function";
}

const guardedPartNames = [
  "intent",
  "businessArguments",
  "contract",
  "operation",
  "scope",
  "lookAlike",
  "compensation",
  "hold",
];

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function refuseGuardedParts(parts: Record<string, unknown>, refuse: Refuse): void {
  for (const part of guardedPartNames) {
    if (parts[part] !== undefined) refuse(`\`${part}\` belongs to a non-idempotent tool only`);
  }
}

function guardedParts(name: string, parts: Record<string, unknown>, refuse: Refuse): GuardedParts {
  if (typeof parts["intent"] !== "function")
    refuse("`intent` is missing: what does the business want done once?");
  const fields = businessFields(parts["businessArguments"], refuse);
  const contract = parts["contract"] as Contract<unknown, unknown> | undefined;
  if (typeof contract !== "object" || contract === null) {
    return refuse("`contract` is missing: what does the downstream promise?");
  }
  checkParts(contract, refuse);
  const terms = termsOf(contract as unknown as Contract<never, never>);
  checkLimits(contract, terms, refuse);
  checkCapabilities(contract, terms, refuse);
  const scope = (parts["scope"] ?? "business") as GuardedParts["scope"];
  if (!["business", "workflow", "step"].includes(scope))
    refuse('`scope` must be "business", "workflow" or "step"');
  return Object.freeze({
    operation: parts["operation"] === undefined ? name : requireText(parts, "operation", name),
    scope,
    fields,
    contract,
    terms,
    lookAlike: lookAlikeRule(
      parts["lookAlike"] as LookAlikeRule<string> | undefined,
      fields,
      refuse,
    ),
    compensation: compensationOf(parts["compensation"], refuse),
    hold: holdRule(parts["hold"], refuse),
    intent: parts["intent"] as GuardedParts["intent"],
  });
}

function compensationOf(declared: unknown, refuse: Refuse): GuardedParts["compensation"] {
  if (declared === undefined) return null;
  const { tool, arguments: args } = Object(declared) as Partial<Compensation>;
  if (tool?.guarded === undefined || tool.guarded === null)
    refuse(
      "`compensation.tool` must be a registered non-idempotent tool: an undo must not run twice",
    );
  if (typeof args !== "function") refuse("`compensation.arguments` must be a function");
  return declared as Compensation;
}

function businessFields(declared: unknown, refuse: Refuse): BusinessFields {
  const missing =
    "`businessArguments` is missing: without it a reworded text would look like another effect";
  if (typeof declared !== "object" || declared === null) return refuse(missing);
  const entries = Array.isArray(declared)
    ? declared.map((field: unknown) => [field, true] as const)
    : Object.entries(declared);
  if (entries.length === 0) refuse(missing);
  for (const [field, normaliser] of entries) {
    if (typeof field !== "string" || field === "")
      refuse("`businessArguments` holds something that is no field's name");
    if (normaliser !== true && typeof normaliser !== "function") {
      refuse(`\`businessArguments.${String(field)}\` must be true or a function`);
    }
  }
  return new Map(entries as [string, Normaliser | true][]);
}

/** What the types refuse, and what a wrong wire key would come of. */
function checkParts(contract: Contract<unknown, unknown>, refuse: Refuse): void {
  const { key, lookUp } = contract;
  if (lookUp !== undefined && !isObject(lookUp)) refuse("`contract.lookUp` must be an object");
  for (const part of ["account", "endpoint"] as const) {
    const value: unknown = contract[part];
    if (value !== undefined && (typeof value !== "string" || value.trim() === ""))
      refuse(`\`contract.${part}\` must be text that isn't blank`);
  }
  if (key === undefined) return;
  if (!isObject(key)) return refuse("`contract.key` must be an object");
  if (!Object.hasOwn(wireKeyLengths, key.shape))
    refuse(`\`contract.key.shape\` must be one of ${Object.keys(wireKeyLengths).join(", ")}`);
  if (key.uuidVersion !== undefined && ![4, 5, 8].includes(key.uuidVersion))
    refuse("`contract.key.uuidVersion` must be 4, 5 or 8");
}

function checkLimits(contract: Contract<unknown, unknown>, terms: Terms, refuse: Refuse): void {
  const { bounds, policy, timeoutMs, leaseMs } = terms;
  const positive = {
    timeoutMs,
    leaseMs,
    flightMs: bounds.flightMs,
    sendWithinMs: bounds.sendWithinMs,
    maxResultBytes: terms.maxResultBytes,
    maxAttempts: policy.maxAttempts,
    "lookUp.timeoutMs": terms.lookUpTimeoutMs,
    ...(contract.key?.retentionMs === undefined
      ? {}
      : { "key.retentionMs": contract.key.retentionMs }),
  };
  for (const [name, value] of Object.entries(positive)) {
    if (!isSpan(value) || value === 0)
      refuse(`\`contract.${name}\` must be a number above zero, not ${String(value)}`);
  }
  const spans = {
    marginMs: bounds.marginMs,
    giveUpAfterMs: policy.giveUpAfterMs,
    "lookUp.lagMs": bounds.lookUpLagMs ?? 0,
  };
  for (const [name, value] of Object.entries(spans)) {
    if (!isSpan(value))
      refuse(`\`contract.${name}\` must be a number of at least zero, not ${String(value)}`);
  }
  checkLease(terms, contract.lookUp !== undefined, refuse);
}

function checkLease(terms: Terms, hasLookUp: boolean, refuse: Refuse): void {
  const { leaseMs, timeoutMs, lookUpTimeoutMs, renewLease } = terms;
  const calls = {
    timeoutMs: renewLease ? 0 : timeoutMs,
    "lookUp.timeoutMs": hasLookUp ? lookUpTimeoutMs : 0,
  };
  for (const [name, callMs] of Object.entries(calls)) {
    const neededMs = shortestLeaseMs(callMs);
    if (leaseMs >= neededMs) continue;
    refuse(
      `\`contract.leaseMs\` is ${leaseMs} (${formatSpan(leaseMs)}), but \`contract.${name}\` is ${callMs} (${formatSpan(callMs)}) ` +
        `and needs a lease of at least ${neededMs}: a lease that ends in mid-call hands the operation to another worker`,
      { leaseMs, [name]: callMs },
    );
  }
}

function checkCapabilities(
  contract: Contract<unknown, unknown>,
  terms: Terms,
  refuse: Refuse,
): void {
  const { key, lookUp } = contract;
  const { mode, authoritative } = terms.policy;
  if (!["strict", "window", "proved-absence"].includes(mode)) {
    refuse('`contract.mode` must be "strict", "window" or "proved-absence"');
  }
  if (lookUp !== undefined && typeof lookUp.find !== "function")
    refuse("`contract.lookUp.find` is missing");
  if (mode === "window") {
    if (key === undefined)
      refuse("mode `window` resends under the provider's key, but `contract.key` is missing");
    else if (!isResendSafe(key))
      refuse(`mode \`window\` can't resend safely: ${missingForResend(key)}`);
    else if (resendSpanMs(terms.bounds) === 0) {
      refuse(
        "mode `window` has no window: `contract.key.retentionMs` is not longer than flight, send and margin together",
      );
    }
  }
  if (mode === "proved-absence" && !authoritative) {
    refuse("mode `proved-absence` needs `contract.lookUp` with `authoritative: true` and `lagMs`");
  }
}

function missingForResend(key: NonNullable<Contract<unknown, unknown>["key"]>): string {
  if (key.retentionMs === undefined) return "`contract.key.retentionMs` is not known";
  if (key.atomic !== true) return "`contract.key.atomic` is not true";
  return "`contract.key.afterError` must be `replays`, `re-executes` or `burnt`";
}

function holdRule(declared: unknown, refuse: Refuse): GuardedParts["hold"] {
  if (declared === undefined) return null;
  if (typeof declared !== "function") refuse("`hold` must be a function");
  return declared as GuardedParts["hold"];
}

function lookAlikeRule(
  declared: LookAlikeRule<string> | undefined,
  fields: BusinessFields,
  refuse: Refuse,
): LookAlikeRule<string> | null {
  if (declared === undefined) return null;
  if (!isObject(declared)) return refuse("`lookAlike` must be an object");
  if (declared.rule !== "warn" && declared.rule !== "hold")
    refuse('`lookAlike.rule` must be "warn" or "hold"');
  if (!isSpan(declared.windowMs) || declared.windowMs === 0)
    refuse("`lookAlike.windowMs` must be a number above zero");
  const isList = declared.fields === undefined || Array.isArray(declared.fields);
  if (!isList || declared.fields?.length === 0)
    refuse("`lookAlike.fields` must name a business argument, or be left out");
  const unknown = declared.fields?.find((field) => !fields.has(field));
  if (unknown !== undefined)
    refuse(`\`lookAlike.fields\` names ${unknown}, which is no business argument`);
  return declared;
}
