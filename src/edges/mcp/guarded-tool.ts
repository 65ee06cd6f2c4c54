/**
 * From a policy and a definition to a tool that the guard can run against an upstream server.
 *
 * @module
 */
import { fromJsonSchema } from "@modelcontextprotocol/client";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Json, JsonObject } from "../../base/plain-json.ts";
import type { Contract, ErrorClass } from "../../guard/contract.ts";
import { defineTool } from "../../guard/define-tool.ts";
import type { ExecuteCall, IntentSource, Tool } from "../../guard/tool.ts";
import type { Intent } from "../../intent/intent.ts";
import { canonicalJson } from "../../base/canonical-json.ts";
import { broughtIntent } from "./brought-intent.ts";
import { currentExtras } from "./call-extras.ts";
import { renderJson } from "./json-template.ts";
import { valueAt } from "./json-pointer.ts";
import { findEffect } from "./find-effect.ts";
import { normaliserOf } from "./normalisers.ts";
import { paramHeaders } from "./param-headers.ts";
import { renderIntent } from "./template.ts";
import { type ObjectSchema, type ToolDefinition, withoutArguments } from "./tool-definition.ts";
import {
  type ApprovalPolicy,
  type DefinitiveRule,
  type GuardPolicy,
  policyName,
} from "./tool-policy.ts";
import type { UpstreamConnection, UpstreamRequestOptions } from "./upstream-connection.ts";
import {
  InputRequired,
  ToolReportedError,
  UnfinishedResult,
  UpstreamNotConnected,
  UpstreamRefusal,
  isFinished,
  provesNotExecuted,
  textOf,
} from "./upstream-errors.ts";

type Members = Readonly<Record<string, unknown>>;

/** What a guarded tool sends through. */
export type UpstreamSender = Pick<UpstreamConnection, "name" | "era" | "request">;

/**
 * Declares the tool.
 *
 * @throws {NeverTwiceError} TOOL_INVALID naming what the policy's parts contradict.
 */
export function guardedTool(
  policy: GuardPolicy,
  definition: ToolDefinition,
  upstream: UpstreamSender,
): Tool<Members> {
  const { lookAlike, approval } = policy;
  const declaration = {
    name: policyName(policy),
    kind: "non-idempotent",
    scope: policy.scope,
    ...(policy.operation === undefined ? {} : { operation: policy.operation }),
    arguments: shownArguments(policy, definition),
    intent: intentOf(policy),
    businessArguments: Object.fromEntries(
      [...policy.businessArguments].map(([name, names]) => [name, normaliserOf(names)]),
    ),
    contract: contractOf(policy, upstream),
    ...(lookAlike === undefined ? {} : { lookAlike }),
    ...(approval === undefined ? {} : { hold: (args: JsonObject) => holdReason(approval, args) }),
    execute: (args: JsonObject, call: ExecuteCall) =>
      callUpstream(policy, definition, upstream, args, call),
  };
  return defineTool(declaration as unknown as Parameters<typeof defineTool>[0]) as Tool<Members>;
}

/** What is no number can't be compared, and is asked about as well. */
function holdReason({ argument, above }: ApprovalPolicy, args: JsonObject): string | undefined {
  const value = args[argument];
  const amount = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (typeof amount === "number" && amount <= above) return undefined;
  return `${argument} is ${value === undefined ? "not given" : JSON.stringify(value)}, and above ${above} a person has to approve`;
}

/** Arguments that a model is not shown: they are ours to give. */
export function hiddenArguments(policy: GuardPolicy): readonly string[] {
  const { travel } = policy.key ?? {};
  return [...policy.fixed.keys(), ...(travel?.by === "argument" ? [travel.name] : [])];
}

/** The server's own schema, without what is hidden, and with its defaults filled in (R3). */
function shownArguments(
  policy: GuardPolicy,
  definition: ToolDefinition,
): StandardSchemaV1<unknown, Members> {
  const { inputSchema } = withoutArguments(definition, hiddenArguments(policy));
  const schema = fromJsonSchema<Members>(inputSchema as Parameters<typeof fromJsonSchema>[0]);
  const defaults = defaultsOf(inputSchema);
  return {
    "~standard": {
      version: 1,
      vendor: "nevertwice",
      validate: (value) =>
        schema["~standard"].validate(isMembers(value) ? { ...defaults, ...value } : value),
    },
  };
}

function defaultsOf(schema: ObjectSchema): Members {
  const filled = Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const value: unknown = isMembers(property) ? property["default"] : undefined;
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(filled);
}

/** The first of the sources that the policy trusts and that this call brings. */
function intentOf(policy: GuardPolicy): (source: IntentSource<Members>) => Intent {
  const { intent: template, intentFrom } = policy;
  const render =
    template &&
    (({ args, trusted }: IntentSource<Members>) => renderIntent(template, { args, trusted }));
  return broughtIntent(render, intentFrom);
}

function contractOf(policy: GuardPolicy, upstream: UpstreamSender): Contract<JsonObject, Members> {
  const { key, reconcile } = policy;
  return {
    ...optional(policy, [
      "sendWithinMs",
      "marginMs",
      "maxResultBytes",
      "giveUpAfterMs",
      "account",
    ] as const),
    mode: policy.mode,
    timeoutMs: policy.timeoutMs,
    flightMs: policy.flightMs,
    ...(key === undefined
      ? {}
      : {
          key: {
            ...optional(key, ["retentionMs"] as const),
            shape: key.shape,
            atomic: key.atomic,
            afterError: key.afterError,
            replaysDeclines: key.replaysDeclines,
          },
        }),
    ...(reconcile === undefined
      ? {}
      : {
          lookUp: {
            ...optional(reconcile, ["lagMs", "timeoutMs"] as const),
            authoritative: reconcile.authoritative,
            find: (question) => findEffect(reconcile, upstream, question),
          },
        }),
    classify: (error) => classify(policy, error),
  };
}

function optional<From extends object, Name extends keyof From>(
  from: From,
  names: readonly Name[],
): { [Each in Name]?: Exclude<From[Each], undefined> } {
  const there = names.filter((name) => from[name] !== undefined);
  return Object.fromEntries(there.map((name) => [name, from[name]])) as never;
}

/** Whatever isn't listed here may have come after the effect. */
function classify(policy: GuardPolicy, error: unknown): ErrorClass {
  if (error instanceof InputRequired) return "not-executed";
  if (error instanceof UpstreamRefusal)
    return provesNotExecuted(error) ? "not-executed" : "unknown";
  if (error instanceof ToolReportedError)
    return policy.definitive.some((rule) => fits(rule, error.result)) ? "definitive" : "unknown";
  return "unknown";
}

function fits(rule: DefinitiveRule, result: Members): boolean {
  if (rule.text !== undefined && !rule.text.test(textOf(result))) return false;
  if (rule.pointer === undefined) return true;
  const value = valueAt(result, rule.pointer);
  return value !== undefined && canonicalJson(value) === canonicalJson(rule.equals);
}

/** One send. What it gives back is the server's result as it came, checked by nobody yet. */
async function callUpstream(
  policy: GuardPolicy,
  definition: ToolDefinition,
  upstream: UpstreamSender,
  args: JsonObject,
  call: ExecuteCall,
): Promise<Members> {
  const extras = currentExtras();
  const { arguments: sent, meta, headers } = requestOf(policy, args, call);
  const options: UpstreamRequestOptions = {
    beforeWrite: call.beforeWrite,
    onProgress: extras.onProgress,
    clientCapabilities: extras.clientCapabilities,
    headers: {
      ...(upstream.era === "modern" ? paramHeaders(definition.inputSchema, sent) : {}),
      ...headers,
    },
  };
  const { inputResponses, requestState } = extras;
  const params = {
    name: policy.tool,
    arguments: sent,
    ...(Object.keys(meta).length === 0 ? {} : { _meta: meta }),
    ...(inputResponses === undefined ? {} : { inputResponses }),
    ...(requestState === undefined ? {} : { requestState }),
  };
  return resultOf(await answered(upstream, params, options, call));
}

async function answered(
  upstream: UpstreamSender,
  params: Members,
  options: UpstreamRequestOptions,
  call: ExecuteCall,
): Promise<Members> {
  try {
    return await upstream.request("tools/call", params, options);
  } catch (error) {
    throw error instanceof UpstreamNotConnected ? call.notSent(error) : error;
  }
}

function resultOf(result: Members): Members {
  if (result["resultType"] === "input_required") throw new InputRequired(result);
  if (!isFinished(result))
    throw new UnfinishedResult(
      "the server gave a task in place of a result, and may go on with it",
    );
  if (result["isError"] === true) throw new ToolReportedError(result);
  return result;
}

interface Sent {
  readonly arguments: Readonly<Record<string, Json>>;
  readonly meta: Members;
  readonly headers: Readonly<Record<string, string>>;
}

/** Made of the captured arguments and the wire key alone, so that a resend is byte for byte the same (R19). */
function requestOf(policy: GuardPolicy, args: JsonObject, call: ExecuteCall): Sent {
  const { tenant, key, wireKey } = call;
  const values = { args, tenant, key, wireKey };
  const fixed = [...policy.fixed].flatMap(([name, template]) => {
    const value = renderJson(template, values);
    return value === undefined ? [] : [[name, value] as const];
  });
  const travel = policy.key?.travel;
  const by = (kind: string): Record<string, string> =>
    travel?.by === kind ? { [travel.name]: wireKey } : {};
  return {
    arguments: { ...args, ...Object.fromEntries(fixed), ...by("argument") },
    meta: by("meta"),
    headers: by("header"),
  };
}

function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
