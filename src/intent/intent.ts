/**
 * What the business wants done once. Identity comes from trusted ids, never from text that a model
 * wrote or from anything made by an attempt (R2).
 *
 * @module
 */
import { NeverTwiceError } from "../base/errors.ts";
import { type Json, type JsonObject, toPlainJson } from "../base/plain-json.ts";

/** `"refund:order-8812:ticket-5521"`, or the same as a structure: `{order: "8812", ticket: "5521"}`. */
export type Intent = string | JsonObject;

/**
 * How wide an intent is unique. `business`: in the whole tenant, so that two runs and two agents
 * collide. `workflow`: once per workflow. `step`: once per step of a workflow.
 */
export type Scope = "business" | "workflow" | "step";

/** Who asks, as the orchestration layer knows it; never taken from arguments that a model wrote. */
export interface Caller {
  /** Whose money, machines or orders these are. Always required (R6). */
  readonly tenant: string;
  /** The workflow's stable id, not the id of one of its runs. Required by scope `workflow` and `step`. */
  readonly workflowId?: string | undefined;
  /** The step's stable id inside the workflow. Required by scope `step`. */
  readonly stepId?: string | undefined;
}

/** The structure that a key hashes (R1). */
export interface Identity {
  readonly v: 1;
  readonly tenant: string;
  readonly operation: string;
  readonly scope: Scope;
  readonly intent: Json;
  readonly workflowId?: string;
  readonly stepId?: string;
  /** The key of the settled intent that this one replaces (R25). */
  readonly supersedes?: string;
}

/** What {@link identify} needs to know. */
export interface IdentityParts extends Caller {
  readonly operation: string;
  readonly scope: Scope;
  readonly intent: Intent;
  readonly supersedes?: string | undefined;
}

/**
 * Checks every part and returns the identity, NFC-normalised. A part that is blank, null, partly
 * null, or holds control characters or outer white space is refused: a hash over a missing id would
 * give strangers one shared key.
 *
 * @throws {NeverTwiceError} INTENT_INVALID naming the part.
 */
export function identify(parts: IdentityParts): Identity {
  const { operation, scope, supersedes } = parts;
  return {
    v: 1,
    tenant: checkedId(parts.tenant, "tenant"),
    operation: checkedId(operation, "operation"),
    scope,
    intent: checkedIntent(parts.intent),
    ...(scope === "business" ? {} : { workflowId: checkedId(parts.workflowId, "workflowId") }),
    ...(scope === "step" ? { stepId: checkedId(parts.stepId, "stepId") } : {}),
    ...(supersedes === undefined ? {} : { supersedes: checkedId(supersedes, "supersedes") }),
  };
}

/** The longest id, in bytes: several stand in one index entry, which PostgreSQL bounds at 2,704. */
export const maxIdBytes = 512;

/**
 * Returns the id NFC-normalised.
 *
 * @throws {NeverTwiceError} INTENT_INVALID as {@link checkedText}, and when it is too long.
 */
export function checkedId(value: unknown, part: string): string {
  const id = checkedText(value, part);
  return bytesOf(id) <= maxIdBytes ? id : refuse(part, `is longer than ${maxIdBytes} bytes`);
}

/** In UTF-8, without anything of Node: an engine's workflow code checks ids too. */
function bytesOf(text: string): number {
  return encodeURIComponent(text).replaceAll(/%../g, "x").length;
}

/**
 * Returns the text NFC-normalised.
 *
 * @throws {NeverTwiceError} INTENT_INVALID when it is no text, blank, or has characters that people
 * can't see (control and format characters, outer white space).
 */
export function checkedText(value: unknown, part: string): string {
  if (typeof value !== "string")
    return refuse(part, `is ${value === null ? "null" : typeof value}`);
  if (!value.isWellFormed()) return refuse(part, "holds a lone surrogate");
  if (value.trim() === "") return refuse(part, "is blank");
  if (value !== value.trim()) return refuse(part, "begins or ends with white space");
  if (/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(value))
    return refuse(part, "holds an invisible character");
  return value.normalize("NFC");
}

function checkedIntent(intent: unknown): Json {
  if (typeof intent === "string") return checkedText(intent, "intent");
  if (typeof intent !== "object" || intent === null || Array.isArray(intent)) {
    return refuse("intent", `is ${intent === null ? "null" : typeof intent}`);
  }
  const plain = asPlainJson(intent);
  refuseForgotten(intent, "intent");
  return checkedPart(plain, "intent");
}

/** A member that is undefined is a forgotten id, not an absent one; the plain copy has lost it. */
function refuseForgotten(value: unknown, path: string): void {
  if (value === undefined) refuse(path, "is undefined");
  if (typeof value !== "object" || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    refuseForgotten(member, Array.isArray(value) ? `${path}[${name}]` : `${path}.${name}`);
  }
}

function asPlainJson(intent: object): Json {
  try {
    return toPlainJson(intent);
  } catch (error) {
    return refuse("intent", (error as Error).message);
  }
}

function checkedPart(value: Json, path: string): Json {
  if (value === null) return refuse(path, "is null");
  if (typeof value === "string") return checkedText(value, path);
  if (typeof value !== "object") return value;
  if (Array.isArray(value)) {
    if (value.length === 0) refuse(path, "is empty");
    return value.map((part: Json, index) => checkedPart(part, `${path}[${index}]`));
  }
  const entries = Object.entries(value as JsonObject);
  if (entries.length === 0) refuse(path, "is empty");
  const checked = new Map(
    entries.map(([name, part]) => [checkedText(name, path), checkedPart(part, `${path}.${name}`)]),
  );
  if (checked.size < entries.length) refuse(path, "holds two names that are one in NFC");
  return Object.fromEntries(checked);
}

function refuse(part: string, reason: string): never {
  throw new NeverTwiceError(
    "INTENT_INVALID",
    `The identity of this operation is incomplete: ${part} ${reason}. Nothing was recorded and nothing was sent.`,
    { details: { part, reason } },
  );
}
