/**
 * From a tool and its arguments to a key, a fingerprint and captured arguments. Nothing is recorded
 * here, so that everything refused here leaves no trace (R4).
 *
 * @module
 */
import { canonicalJson, sha256Hex } from "../base/canonical-json.ts";
import { NeverTwiceError } from "../base/errors.ts";
import { type Json, toPlainJson } from "../base/plain-json.ts";
import { type CapturedArguments, captureArguments } from "../intent/business-arguments.ts";
import { fingerprintOf } from "../intent/fingerprint.ts";
import { type Caller, checkedId, checkedText, identify } from "../intent/intent.ts";
import { deriveKey } from "../intent/key.ts";
import type { Call } from "../ledger/decide.ts";
import type { GuardEnvironment } from "./environment.ts";
import type { Fields, GuardedParts, Tool } from "./tool.ts";

/** What a call of `guard.run` may say beside tool and arguments. */
export interface RunContext extends Caller {
  /** Ids that the orchestrator vouches for; `intent` may use them. Plain JSON. */
  readonly trusted?: Readonly<Record<string, Json>>;
  /** Withdraws the call. After the request was sent the outcome is unknown, not "no" (R13). */
  readonly signal?: AbortSignal;
  /** What to do while another call executes this intent: `conflict` (default), or wait for its outcome. */
  readonly onInProgress?: "conflict" | { readonly waitMs: number };
  /** A changed mind: the settled intent that this one replaces, and why (R25). */
  readonly supersedes?: { readonly key: string; readonly reason: string };
  /**
   * Undoes the effect of an operation. The effect is then the intent, whatever the tool says, so that
   * it is undone once (R30). With `effect`, the provider's id, one of several effects of that key.
   */
  readonly compensates?: { readonly key: string; readonly effect?: string };
}

/** A call on its way: everything captured once, so that nothing can change under it (R17). */
export interface PreparedCall extends Call {
  readonly tool: Tool;
  readonly parts: GuardedParts;
  readonly tenant: string;
  readonly key: string;
  readonly keyAlgorithm: string;
  /** Canonical JSON of the identity. */
  readonly intent: string;
  readonly arguments: CapturedArguments;
  readonly lookAlike: string | null;
  readonly context: RunContext;
}

/**
 * Validates the arguments with the tool's schema.
 *
 * @throws {NeverTwiceError} UNSUPPORTED_ARGUMENT, ARGUMENTS_INVALID.
 */
export async function validateArguments(tool: Tool, args: unknown): Promise<Fields> {
  const plain = toPlainJson(args);
  const result = await tool.schema["~standard"].validate(structuredCloneOf(plain));
  if (result.issues === undefined) return result.value;
  const issues = result.issues.map((issue) => ({
    path: pathOf(issue.path),
    message: issue.message,
  }));
  const listed = issues.map(({ path, message }) => `${path}: ${message}`).join("; ");
  throw new NeverTwiceError(
    "ARGUMENTS_INVALID",
    `The arguments don't fit the schema of ${tool.name}: ${listed}. Nothing was recorded and nothing was sent.`,
    { details: { tool: tool.name, issues } },
  );
}

/** Derives everything that identifies the call. */
export async function prepare(
  env: GuardEnvironment,
  tool: Tool,
  parts: GuardedParts,
  args: unknown,
  context: RunContext,
): Promise<PreparedCall> {
  const tenant = checkedId(context.tenant, "tenant");
  const fields = await validateArguments(tool, args);
  const supersedes = context.supersedes;
  if (supersedes !== undefined) checkedText(supersedes.reason, "supersedes.reason");
  const captured = captureArguments(fields, parts.fields);
  const identity = identify({
    tenant,
    workflowId: context.workflowId,
    stepId: context.stepId,
    operation: parts.operation,
    scope: context.compensates === undefined ? parts.scope : "business",
    intent:
      context.compensates === undefined
        ? parts.intent({ args: { ...fields, ...captured.value }, trusted: context.trusted ?? {} })
        : { compensates: { ...context.compensates } },
    supersedes: supersedes?.key,
  });
  const { key, algorithm } = deriveKey(identity, env.keySecret);
  return {
    tool,
    parts,
    tenant,
    key,
    keyAlgorithm: algorithm,
    intent: canonicalJson(identity),
    fingerprint: fingerprintFor(tool, parts, captured),
    arguments: captured,
    lookAlike: lookAlikeMark(parts, captured),
    acquisitionId: env.runtime.randomId(),
    context,
  };
}

/** The fingerprint of business arguments under the tool as it is declared now. */
export function fingerprintFor(
  tool: Tool,
  parts: GuardedParts,
  captured: CapturedArguments,
): string {
  const { account, endpoint } = parts.contract;
  return fingerprintOf({ tool: tool.name, arguments: captured.value, account, endpoint });
}

function lookAlikeMark(parts: GuardedParts, captured: CapturedArguments): string | null {
  if (parts.lookAlike === null) return null;
  const names = parts.lookAlike.fields ?? Object.keys(captured.value);
  const shared = Object.fromEntries(
    names
      .filter((name) => Object.hasOwn(captured.value, name))
      .map((name) => [name, captured.value[name]]),
  );
  return sha256Hex(canonicalJson(shared));
}

/** Schemas may write defaults into what they get, and ours is frozen. */
function structuredCloneOf(value: Json): unknown {
  return JSON.parse(JSON.stringify(value));
}

function pathOf(
  path: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined,
): string {
  const names = (path ?? []).map((part) => String(typeof part === "object" ? part.key : part));
  return ["$", ...names].join(".");
}
