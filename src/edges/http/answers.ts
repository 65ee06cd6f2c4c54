/**
 * From what the guard says to what the caller gets.
 *
 * @module
 */
import { Token, serializeDictionary } from "structured-headers";
import { canonicalJson } from "../../base/canonical-json.ts";
import { NeverTwiceError, isNeverTwiceError } from "../../base/errors.ts";
import type { Outcome } from "../../guard/answers.ts";
import type { Exchange, Refusal } from "./handler.ts";
import { type ProblemStyle, problemResponse, retryAfterField, sized } from "./problems.ts";
import { type StoredResponse, bytesOf, hasNoBody } from "./stored-response.ts";

/** The answer for an operation that is done. */
export function outcomeResponse(
  outcome: Outcome<StoredResponse | undefined>,
  exchange: Exchange,
  style: ProblemStyle,
): Response {
  const { captured } = exchange.seen;
  // The row decides; what this request's handler said is told only where the row says the same.
  const ours =
    captured !== undefined &&
    !outcome.replayed &&
    canonicalJson(captured.stored) === canonicalJson(outcome.value);
  if (ours && captured.live.body !== undefined) {
    const { headers, body } = captured.live;
    return respond(captured.stored.status, new Headers(headers), body, outcome);
  }
  return replayResponse(outcome, style);
}

function replayResponse(
  outcome: Outcome<StoredResponse | undefined>,
  style: ProblemStyle,
): Response {
  const stored = outcome.value;
  if (stored?.v !== 1 || outcome.omitted !== null)
    return noteResponse(200, new Headers(), outcome, style);
  const headers = new Headers(
    stored.headers.map(([name, value]): [string, string] => [name, value]),
  );
  const bytes = bytesOf(stored.body);
  return bytes === undefined
    ? noteResponse(stored.status, headers, outcome, style)
    : respond(stored.status, headers, stored.body === null ? null : bytes, outcome);
}

/**
 * In the place of a body that is not stored. The status stays what it was: a success that reads like
 * an error would be sent again under another key.
 */
function noteResponse(
  status: number,
  headers: Headers,
  outcome: Outcome<StoredResponse | undefined>,
  style: ProblemStyle,
): Response {
  const body = outcome.value?.body;
  const reason =
    outcome.omitted?.reason ??
    (body !== null && body !== undefined && "omitted" in body ? body.omitted.reason : "unknown");
  for (const name of ["content-disposition", "content-encoding", "content-language", "etag"])
    headers.delete(name);
  headers.set("content-type", "application/problem+json");
  const note = {
    type: `${style.policyUrl.replace(/#.*$/, "")}#body-not-stored`,
    title: "The body of this answer is not stored",
    status,
    detail: `This request was carried out once, and this is its stored answer; its body is not kept (${reason}).${outcome.replayed ? " This request ran nothing new." : ""}`,
    key: outcome.key,
  };
  return respond(status, headers, Buffer.from(JSON.stringify(note)), outcome);
}

function respond(
  status: number,
  headers: Headers,
  body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null,
  outcome: Outcome<unknown>,
): Response {
  if (outcome.replayed) headers.set("idempotent-replayed", "true");
  if (!outcome.recorded) headers.set("idempotent-recorded", "false");
  headers.set("idempotent-outcome", outcomeField(outcome));
  if (body instanceof Uint8Array && !hasNoBody(status)) return sized(body, status, headers);
  headers.delete("content-length");
  return new Response(hasNoBody(status) ? null : body, { status, headers });
}

/** A Dictionary (RFC 8941) with what R29 wants told. */
function outcomeField(outcome: Outcome<unknown>): string {
  const { replayed, status, attempts, firstExecutedAt, key, warnings } = outcome;
  return serializeDictionary({
    replayed,
    status: new Token(status),
    attempts,
    ...(firstExecutedAt === null ? {} : { "first-executed-at": firstExecutedAt }),
    ...(key === null ? {} : { key }),
    // How many, and no more: what they say may name operations of other principals.
    ...(warnings.length === 0 ? {} : { warnings: warnings.length }),
  });
}

/** The handler ran, and its transaction may have been committed: "nothing was sent" would be a guess. */
function commitUnconfirmed(cause: NeverTwiceError): NeverTwiceError {
  return new NeverTwiceError(
    "OUTCOME_UNKNOWN",
    "The store did not confirm that this request was carried out, so whether it took effect is not known. " +
      "The same call is safe: it finds out. A changed call, or another key for the same matter, is not safe.",
    { cause },
  );
}

/** The answer for an error of the guard, or what the handler said of it in this very request. */
export function errorResponse(
  error: NeverTwiceError,
  style: ProblemStyle,
  exchange?: Exchange,
): Response {
  const away = exchange?.seen.turnedAway;
  if (isNeverTwiceError(error, "NOT_SENT") && away !== undefined) {
    const { status, retryAfterMs } = away;
    return problemResponse(error, style, { status, retryAfterMs });
  }
  // Under the guard that is another code; in a transaction the answer to the commit may be lost.
  if (isNeverTwiceError(error, "STORE_UNAVAILABLE") && exchange?.seen.ran === true)
    return problemResponse(commitUnconfirmed(error), style);
  if (!isNeverTwiceError(error, "OPERATION_FAILED")) return problemResponse(error, style);
  const { status } = error.details["error"] as { status?: unknown };
  const told = typeof status === "number" && status >= 400 && status < 500 ? status : undefined;
  return problemResponse(error, style, { status: told, replayed: exchange?.seen.ran !== true });
}

/** A refusal as the handler declared it: of an unguarded request, or in a transaction. */
export function refusalResponse(refusal: Refusal): Response {
  const { status, reason, code, retryAfterMs } = refusal;
  const headers = new Headers({ "content-type": "application/problem+json" });
  if (retryAfterMs !== undefined) headers.set("retry-after", retryAfterField(retryAfterMs));
  const problem = { type: "about:blank", title: "Refused", status, detail: reason };
  const more = code === undefined ? {} : { refusal: code };
  return sized(JSON.stringify({ ...problem, ...more }), status, headers);
}
