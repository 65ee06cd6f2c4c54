/**
 * Mollie's replies, and what its errors prove.
 *
 * @module
 */
import type { ErrorClass } from "../../../guard/contract.ts";
import { isObject } from "./adapter.ts";

/** A reply as the HTTP client keeps it. */
export interface MollieReply {
  readonly status: number;
  readonly body: object | null;
}

/** The JSON object in a reply, or one without members. */
export function jsonOf({ body }: MollieReply): Readonly<Record<string, unknown>> {
  const { text } = (body ?? {}) as { text?: string };
  try {
    const value: unknown = JSON.parse(text ?? "");
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

/**
 * By status (https://docs.mollie.com/reference/handling-errors). A 400 is also the answer to a key that
 * was used for something else, and a 409 to one in flight: both prove nothing.
 */
const errorClasses = new Map<unknown, ErrorClass>([
  [401, "not-executed"],
  [403, "not-executed"],
  [404, "refused"],
  [422, "refused"],
  [429, "not-executed"],
]);

/** Only Mollie's own words count: its errors repeat the status and link to its documentation. */
export function classifyMollie(error: unknown): ErrorClass {
  const { reply, sends } = (error ?? {}) as { reply?: MollieReply; sends?: number };
  if (reply === undefined || sends !== 1) return "unknown";
  const { status, _links } = jsonOf(reply) as { status?: unknown; _links?: unknown };
  const isOwn = status === reply.status && isObject(_links) && "documentation" in _links;
  return isOwn ? (errorClasses.get(status) ?? "unknown") : "unknown";
}
