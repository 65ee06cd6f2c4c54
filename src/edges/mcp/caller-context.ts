/**
 * Who asks, and for what: from `_meta`, headers and the token, which the orchestration layer sets —
 * never from arguments, which a model writes (R2).
 *
 * @module
 */
import { NeverTwiceError } from "../../base/errors.ts";
import type { Json } from "../../base/plain-json.ts";
import type { RunContext } from "../../guard/prepare.ts";
import type { Intent } from "../../intent/intent.ts";
import { hostCallIdNames, metaNames } from "./names.ts";
import type { IntentSourceName } from "./tool-policy.ts";

type Members = Readonly<Record<string, unknown>>;

/** Places where one id may be found, in the order in which they are looked at. */
export interface IdSource {
  /** A name in the request's `_meta`. */
  readonly meta?: string;
  /** An HTTP header. */
  readonly header?: string;
  /** Always this. */
  readonly value?: string;
}

/** Where the ids of a caller come from. */
export interface ContextPolicy {
  readonly tenant?: IdSource;
  readonly workflowId?: IdSource;
  readonly stepId?: IdSource;
  readonly trusted: Readonly<Record<string, IdSource>>;
  /** HTTP headers that carry an intent's key, beside `Idempotency-Key`. */
  readonly keyHeaders: readonly string[];
}

/** What a request brings along beside its arguments. */
export interface RequestFacts {
  readonly meta: Members;
  readonly header: (name: string) => string | undefined;
  /** The tenant that the token stands for. */
  readonly tokenTenant: string | undefined;
  /** `params.idempotencyKey`, as proposed for the protocol in SEP-3182. */
  readonly parameterKey: unknown;
}

/** The caller as the guard needs it, and the intent if the caller brought one. */
export interface CallerContext extends Pick<
  RunContext,
  "tenant" | "workflowId" | "stepId" | "supersedes"
> {
  readonly trusted: Readonly<Record<string, Json>>;
  readonly intents: Readonly<Partial<Record<Exclude<IntentSourceName, "template">, Intent>>>;
}

/**
 * Reads the caller.
 *
 * @throws {NeverTwiceError} INTENT_INVALID when no tenant is known, or when the request names another
 * one than its token.
 */
export function readCaller(facts: RequestFacts, policy: ContextPolicy): CallerContext {
  const own = ownContext(facts.meta);
  const workflowId = idIn(facts, policy.workflowId) ?? text(own["workflowId"]);
  const stepId = idIn(facts, policy.stepId) ?? text(own["stepId"]) ?? hostCallId(facts.meta);
  const supersedes = readSupersedes(own["supersedes"]);
  return {
    tenant: tenantOf(facts, policy, text(own["tenant"])),
    trusted: { ...trustedIn(own["trusted"]), ...trustedOf(facts, policy) },
    intents: intentsIn(facts, policy, own["intent"]),
    ...(workflowId === undefined ? {} : { workflowId }),
    ...(stepId === undefined ? {} : { stepId }),
    ...(supersedes === undefined ? {} : { supersedes }),
  };
}

function ownContext(meta: Members): Members {
  const own = meta[metaNames.context];
  if (own === undefined) return {};
  if (typeof own === "object" && own !== null && !Array.isArray(own)) return own as Members;
  throw refusal(metaNames.context, "is no object");
}

function tenantOf(facts: RequestFacts, policy: ContextPolicy, own: string | undefined): string {
  const said = idIn(facts, policy.tenant) ?? own;
  const { tokenTenant } = facts;
  if (tokenTenant !== undefined) {
    const another = policy.tenant?.value === undefined ? said : own;
    if (another === undefined || another === tokenTenant) return tokenTenant;
    throw refusal("tenant", "is not the one that the token stands for");
  }
  if (own !== undefined && own !== said) throw refusal("tenant", "is not the one of this gateway");
  if (said === undefined) throw refusal("tenant", "is undefined");
  return said;
}

function intentsIn(
  facts: RequestFacts,
  policy: ContextPolicy,
  own: unknown,
): CallerContext["intents"] {
  const header = ["idempotency-key", ...policy.keyHeaders]
    .map((name) => facts.header(name))
    .find((value) => value !== undefined);
  const parameter = text(facts.parameterKey);
  return {
    ...(own === undefined ? {} : { meta: own as Intent }),
    ...(header === undefined ? {} : { header: { idempotencyKey: unquoted(header) } }),
    ...(parameter === undefined ? {} : { parameter: { idempotencyKey: parameter } }),
  };
}

/** The header's value is a quoted string; many clients send it bare. draft-ietf-httpapi-idempotency-key-header-07 */
function unquoted(value: string): string {
  const inside = /^"((?:[^"\\]|\\["\\])*)"$/.exec(value.trim())?.[1];
  return inside === undefined ? value.trim() : inside.replaceAll(/\\(["\\])/g, "$1");
}

function idIn(facts: RequestFacts, source: IdSource | undefined): string | undefined {
  if (source === undefined) return undefined;
  const inMeta = source.meta === undefined ? undefined : text(facts.meta[source.meta]);
  const inHeader = source.header === undefined ? undefined : facts.header(source.header);
  return inMeta ?? inHeader ?? source.value;
}

function trustedOf(facts: RequestFacts, policy: ContextPolicy): Record<string, Json> {
  const found = Object.entries(policy.trusted).flatMap(([name, source]) => {
    const id = idIn(facts, source);
    return id === undefined ? [] : [[name, id] as const];
  });
  return Object.fromEntries(found);
}

function trustedIn(own: unknown): Record<string, Json> {
  if (own === undefined) return {};
  if (typeof own === "object" && own !== null && !Array.isArray(own))
    return { ...(own as Record<string, Json>) };
  throw refusal(`${metaNames.context}.trusted`, "is no object");
}

function readSupersedes(value: unknown): RunContext["supersedes"] {
  if (value === undefined) return undefined;
  const { key, reason } = (value ?? {}) as Record<string, unknown>;
  if (typeof key === "string" && typeof reason === "string") return { key, reason };
  throw refusal(`${metaNames.context}.supersedes`, "needs a key and a reason");
}

function hostCallId(meta: Members): string | undefined {
  return hostCallIdNames.map((name) => text(meta[name])).find((id) => id !== undefined);
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function refusal(part: string, reason: string): NeverTwiceError {
  return new NeverTwiceError(
    "INTENT_INVALID",
    `The identity of this operation is incomplete: ${part} ${reason}. Nothing was recorded and nothing was sent.`,
    { details: { part, reason } },
  );
}
