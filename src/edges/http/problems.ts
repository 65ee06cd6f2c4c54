/**
 * Every answer that is not the handler's, as `application/problem+json` (RFC 9457). Missing key 400,
 * other payload 422, in flight 409: draft-ietf-httpapi-idempotency-key-header-07, section 2.7. The
 * rest is ours. `docs/reference/http.md` is held equal to this table by a test.
 *
 * @module
 */
import { type ErrorCode, errorTable } from "../../base/error-table.ts";
import { NeverTwiceError } from "../../base/errors.ts";
import { bodyTooLarge } from "./request-body.ts";

/** One kind of problem. */
export interface ProblemEntry {
  readonly status: number;
  /** The code that the problem carries; what it implies is in docs/reference/errors.md. */
  readonly code: ErrorCode;
  /** Says what kind of problem it is; the same every time. */
  readonly title: string;
}

const table = {
  "key-missing": entry("INTENT_INVALID", "Idempotency-Key is missing"),
  "key-malformed": entry("INTENT_INVALID", "Idempotency-Key is malformed"),
  [bodyTooLarge]: { ...entry("ARGUMENTS_INVALID", "The body is too large"), status: 413 },
  "unsupported-argument": entry("UNSUPPORTED_ARGUMENT", "The body can't be read without loss"),
  "arguments-invalid": entry("ARGUMENTS_INVALID", "The body can't be read"),
  "intent-invalid": entry("INTENT_INVALID", "Who is asking is not known"),
  "payload-mismatch": entry("PAYLOAD_MISMATCH", "Idempotency-Key is already used"),
  "key-expired": entry("KEY_EXPIRED", "Idempotency-Key has expired"),
  "in-progress": entry("IN_PROGRESS", "A request is outstanding for this Idempotency-Key"),
  "lease-lost": entry("LEASE_LOST", "Another worker has taken this request over"),
  "needs-review": entry("NEEDS_REVIEW", "A person has to decide what became of this request"),
  "operation-failed": entry("OPERATION_FAILED", "The request was refused for good"),
  "outcome-unknown": entry("OUTCOME_UNKNOWN", "What became of this request is not known yet"),
  "not-sent": entry("NOT_SENT", "The request was not begun"),
  "store-unavailable": entry("STORE_UNAVAILABLE", "The store could not be reached"),
  "record-corrupt": entry("RECORD_CORRUPT", "The record of this request can't be read"),
} as const satisfies Record<string, ProblemEntry>;

/** The name of a kind of problem; the last part of its `type`. */
export type ProblemName = keyof typeof table;

/** The answers by name. */
export const problemTable: Readonly<Record<ProblemName, ProblemEntry>> = Object.freeze(table);

function entry(code: ErrorCode, title: string): ProblemEntry {
  return { status: errorTable[code].httpStatus, code, title };
}

/** What an application may say otherwise, by problem. */
export type ProblemChanges = {
  readonly [Name in ProblemName]?: {
    readonly status?: number;
    /** Absolute, or relative to the request. Default: the policy's URL with the name as its fragment. */
    readonly type?: string;
    readonly title?: string;
  };
};

/** How problems are written. */
export interface ProblemStyle {
  readonly policyUrl: string;
  readonly changes: ProblemChanges;
}

/** What only the exchange knows of a problem. */
export interface ProblemMore {
  /** A status that the handler chose for its refusal. */
  readonly status?: number | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly replayed?: boolean;
}

/** The key is missing where the route wants one. */
export function keyMissing(): NeverTwiceError {
  return new NeverTwiceError(
    "INTENT_INVALID",
    "This request needs an Idempotency-Key header, so that sending it twice has one effect. Nothing was recorded and nothing was run.",
    { details: { problem: "key-missing" } },
  );
}

/** The key can't be read. */
export function keyMalformed(reason: string): NeverTwiceError {
  return new NeverTwiceError(
    "INTENT_INVALID",
    `The Idempotency-Key header ${reason}. It takes one key of 1 to 255 visible ASCII characters. Nothing was recorded and nothing was run.`,
    { details: { problem: "key-malformed", reason } },
  );
}

/** The problem that an error is, by its code. */
export function problemOf(error: NeverTwiceError): ProblemName | undefined {
  const named = error.details["problem"];
  const name = typeof named === "string" ? named : error.code.toLowerCase().replaceAll("_", "-");
  return Object.hasOwn(table, name) ? (name as ProblemName) : undefined;
}

/** The answer for an error of the guard or of this edge. */
export function problemResponse(
  error: NeverTwiceError,
  style: ProblemStyle,
  more: ProblemMore = {},
): Response {
  const name = problemOf(error);
  const known = name === undefined ? undefined : { ...table[name], ...style.changes[name] };
  const status = more.status ?? known?.status ?? error.entry.httpStatus;
  const changed = name === undefined ? undefined : style.changes[name]?.type;
  const problem = {
    type: changed ?? (name === undefined ? "about:blank" : typeUrl(style.policyUrl, name)),
    title: known?.title ?? "The server is not set up for this request",
    status,
    detail: detailOf(error),
    code: error.code,
    sameCall: error.entry.sameCall,
    ...(error.key === undefined ? {} : { key: error.key }),
    ...factsOf(error),
  };
  const headers = new Headers({ "content-type": "application/problem+json" });
  const retryAfterMs = retryAfterOf(error, more);
  if (retryAfterMs !== undefined) headers.set("retry-after", retryAfterField(retryAfterMs));
  if (more.replayed === true) headers.set("idempotent-replayed", "true");
  return sized(JSON.stringify(problem), status, headers);
}

/** A response that says how long its body is. */
export function sized(
  body: string | Uint8Array<ArrayBuffer>,
  status: number,
  headers: Headers,
): Response {
  headers.set("content-length", String(Buffer.byteLength(body)));
  return new Response(body, { status, headers });
}

function typeUrl(policyUrl: string, name: string): string {
  return `${policyUrl.replace(/#.*$/, "")}#${name}`;
}

/**
 * What the driver or an operator has to mend is not for the caller to read, nor is why a person was
 * asked: that may name operations of other principals.
 */
function detailOf(error: NeverTwiceError): string {
  if (error.code === "NEEDS_REVIEW") return reviewDetail(error.details["attempts"] === 0);
  const { actor, meaning } = error.entry;
  const inward =
    actor === "operator" || actor === "developer" || error.code === "STORE_UNAVAILABLE";
  if (!inward) return error.message;
  const same =
    error.entry.sameCall === "safe"
      ? "The same call is safe."
      : "The same call gives this same answer until that is mended.";
  return `${meaning} ${same}`;
}

function reviewDetail(sentNothing: boolean): string {
  const known = sentNothing
    ? "Nothing was run under this key: before that, a person has been asked"
    : "Whether this request took effect can't be settled by any rule; a person has been asked";
  return `${known} and has not decided yet. This request ran nothing. The same call is safe and will bring the decision; a changed call, or another key for the same matter, is not safe.`;
}

function factsOf(error: NeverTwiceError): Record<string, unknown> {
  const { status, attempts, firstExecutedAt, error: refusal } = error.details;
  const code = (refusal as { code?: unknown } | undefined)?.code;
  return {
    ...(status === undefined ? {} : { operation: { status, attempts, firstExecutedAt } }),
    ...(typeof code === "string" ? { refusal: code } : {}),
  };
}

/** Whole seconds, at least one (RFC 9110, section 10.2.3). */
export function retryAfterField(spanMs: number): string {
  return String(Math.max(1, Math.ceil(spanMs / 1000)));
}

/** Whoever has only to wait is told for how long. */
function retryAfterOf(error: NeverTwiceError, more: ProblemMore): number | undefined {
  if (more.retryAfterMs !== undefined) return more.retryAfterMs;
  if (error.entry.actor !== "nobody, later") return undefined;
  const told = error.details["retryAfterMs"];
  return typeof told === "number" ? told : 1000;
}
