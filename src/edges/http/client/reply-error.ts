/**
 * Replies that are no success, and what they prove.
 *
 * @module
 */
import { errorTable } from "../../../base/error-table.ts";
import { NeverTwiceError } from "../../../base/errors.ts";
import type { ErrorClass } from "../../../guard/contract.ts";
import { type StoredResponse, isJsonType, textOf } from "../stored-response.ts";

/**
 * A reply that is no success. It is for the contract's `classify`; callers of the guard see what the
 * guard makes of it, and this as the cause.
 */
export class ReplyError extends Error {
  override readonly name = "ReplyError";
  readonly reply: StoredResponse;
  readonly status: number;
  /** The `type` of a problem document (RFC 9457), where there is one. */
  readonly problemType: string | undefined;
  /** The `code` of a problem document, as this package's own server writes it. */
  readonly code: string | undefined;
  /** How often the request was written in this attempt; the reply tells only of the last one. */
  readonly sends: number;

  constructor(reply: StoredResponse, sends = 1) {
    const problem = problemOf(reply);
    const { type, title, code } = problem;
    super(`the server replied ${reply.status}${title === undefined ? "" : `: ${title}`}`);
    this.reply = reply;
    this.status = reply.status;
    this.problemType = type;
    this.code = code;
    this.sends = sends;
  }
}

function problemOf(reply: StoredResponse): { type?: string; title?: string; code?: string } {
  const type = new Headers([...reply.headers].map(([name, value]) => [name, value])).get(
    "content-type",
  );
  if (!isJsonType(type)) return {};
  const members = parseObject(textOf(reply) ?? "");
  const texts = ["type", "title", "code"].filter((name) => typeof members[name] === "string");
  return Object.fromEntries(texts.map((name) => [name, members[name] as string]));
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** What a server's documentation says of its error replies. What is not said proves nothing. */
export interface ReplyClasses {
  /** Statuses that mean "refused for good, without an effect". */
  readonly definitive?: readonly number[];
  /** Statuses of a gate in front: this request was not begun, and another may do better. */
  readonly notExecuted?: readonly number[];
  /** The server is this package's own edge, whose codes say what happened. Default false. */
  readonly isNeverTwice?: boolean;
}

/**
 * A `classify` for the contract of a tool that sends with `createIdempotentFetch`.
 *
 * A repetition's 409 ("in flight", "already exists") and 422 ("key used for another payload"), 408, 425
 * and every 5xx but 503 prove nothing about the first send, so they can't be declared to.
 *
 * @throws {NeverTwiceError} CONFIGURATION_INVALID for a status that can't prove what is claimed.
 */
export function classifyReplies(classes: ReplyClasses = {}): (error: unknown) => ErrorClass {
  const { definitive = [], notExecuted = [], isNeverTwice = false } = classes;
  const unfit = definitive.find((status) => !provesRefusal(status));
  if (unfit !== undefined) throw unfitStatus(unfit, "definitive");
  const unproved = notExecuted.find((status) => !provesRefusal(status) && status !== 503);
  if (unproved !== undefined) throw unfitStatus(unproved, "notExecuted");
  return (error) => {
    // With an earlier send in the same attempt, the last reply can't speak for all of them.
    if (!(error instanceof ReplyError) || error.sends > 1) return "unknown";
    // Another code is the handler's own, behind the edge.
    if (isNeverTwice && isOwnCode(error.code)) return ownCodes.get(error.code) ?? "unknown";
    if (definitive.includes(error.status)) return "definitive";
    return notExecuted.includes(error.status) ? "not-executed" : "unknown";
  };
}

function provesRefusal(status: number): boolean {
  return status >= 400 && status < 500 && ![408, 409, 410, 422, 425].includes(status);
}

function isOwnCode(code: string | undefined): boolean {
  return code !== undefined && Object.hasOwn(errorTable, code);
}

/** Codes by which our own edge says that this request ran nothing. */
const ownCodes: ReadonlyMap<string | undefined, ErrorClass> = new Map<string, ErrorClass>([
  ["OPERATION_FAILED", "definitive"],
  ["ARGUMENTS_INVALID", "definitive"],
  ["UNSUPPORTED_ARGUMENT", "definitive"],
  ["INTENT_INVALID", "definitive"],
  ["NOT_SENT", "not-executed"],
  ["STORE_UNAVAILABLE", "not-executed"],
]);

function unfitStatus(status: number, claim: string): NeverTwiceError {
  return new NeverTwiceError(
    "CONFIGURATION_INVALID",
    `A reply of status ${status} can't be declared as \`${claim}\`: after it an effect may exist all the same. Leave it out, and it proves nothing.`,
    { details: { status, claim } },
  );
}
