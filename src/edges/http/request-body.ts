/**
 * A request's body, and what of the request the fingerprint covers.
 *
 * @module
 */
import { NeverTwiceError, isNeverTwiceError } from "../../base/errors.ts";
import { type Json, type JsonObject, toPlainJson } from "../../base/plain-json.ts";
import { bytesDigest, isJsonType, mediaTypeOf, utf8TextOf } from "./stored-response.ts";

/** A body as the fingerprint sees it. */
export interface RequestBody {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** In lower case, without parameters. */
  readonly mediaType: string;
  /** The parsed body; undefined unless the media type is JSON. */
  readonly json: Json | undefined;
}

/** What the fingerprint covers beside method and path. Default: the whole body and the whole query. */
export interface FingerprintRule {
  /** Members of the JSON object in the body. The others may differ between two sends of one request. */
  readonly fields?: readonly [string, ...string[]];
  /** Parameters of the query. */
  readonly query?: readonly string[];
  /** Picks from the body by itself, in place of `fields`. Must be pure; plain JSON comes out. */
  readonly pick?: (body: RequestBody) => Json;
}

/** The business arguments of a request: what is hashed and stored, and what a look-up may search by. */
export interface HttpArguments extends Record<string, unknown> {
  readonly method: string;
  readonly path: string;
  /** Pairs, in the order of the URL. */
  readonly query: readonly (readonly [string, string])[];
  /** `{json}`, `{fields}`, `{picked}`, `{mediaType, bytes, sha256}`, or null when there is no body. */
  readonly body: JsonObject | null;
}

/**
 * Reads at most `maxBytes`.
 *
 * @throws {NeverTwiceError} ARGUMENTS_INVALID when the body is larger or breaks off.
 */
export async function readBody(
  request: Request,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  if (request.bodyUsed) throw alreadyRead();
  if (request.body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const reader = request.body.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  for (;;) {
    const { done, value } = await readChunk(reader);
    if (done) return new Uint8Array(Buffer.concat(chunks));
    chunks.push(value);
    bytes += value.byteLength;
    // Left unread, not cancelled: on Node that would cut the connection before the answer.
    if (bytes > maxBytes) throw tooLarge(maxBytes);
  }
}

/** Something in front of the route read the body. A body parsed and written again is another one. */
export function alreadyRead(): NeverTwiceError {
  return new NeverTwiceError(
    "CONFIGURATION_INVALID",
    "The request's body was read before its idempotency key was looked at, so its fingerprint can't be taken. Put the route before body parsers. Nothing was recorded and nothing was run.",
  );
}

async function readChunk(
  reader: ReadableStreamDefaultReader<Uint8Array>,
): ReturnType<ReadableStreamDefaultReader<Uint8Array>["read"]> {
  try {
    return await reader.read();
  } catch (cause) {
    if (isNeverTwiceError(cause)) throw cause;
    throw invalid("broke off before its end", { cause });
  }
}

/** Marks the one refusal that has a status of its own. */
export const bodyTooLarge = "body-too-large";

/** Refuses a body that is larger than the route takes. */
export function tooLarge(maxBytes: number): NeverTwiceError {
  return invalid(`is larger than ${maxBytes} bytes`, { details: { problem: bodyTooLarge } });
}

function invalid(
  reason: string,
  more: { cause?: unknown; details?: Record<string, unknown> } = {},
): NeverTwiceError {
  return new NeverTwiceError(
    "ARGUMENTS_INVALID",
    `The request's body ${reason}. Nothing was recorded and nothing was run.`,
    { ...more, details: { reason, ...more.details } },
  );
}

/**
 * The business arguments of a request.
 *
 * @throws {NeverTwiceError} ARGUMENTS_INVALID for JSON that isn't; UNSUPPORTED_ARGUMENT, with the path,
 * for JSON that a parser would change, such as integers beyond 2^53-1 (R4).
 */
export function argumentsOf(
  request: Request,
  bytes: Uint8Array<ArrayBuffer>,
  rule: FingerprintRule,
): HttpArguments {
  const url = new URL(request.url);
  const query = [...url.searchParams].filter(([name]) => rule.query?.includes(name) ?? true);
  const contentType = request.headers.get("content-type");
  const mediaType = mediaTypeOf(contentType);
  const json = bytes.byteLength > 0 && isJsonType(contentType) ? parseBody(bytes) : undefined;
  const body = coveredBody({ bytes, mediaType, json }, rule);
  return { method: request.method, path: url.pathname, query, body };
}

function coveredBody(body: RequestBody, rule: FingerprintRule): JsonObject | null {
  const { bytes, mediaType, json } = body;
  if (rule.pick !== undefined) return { picked: rule.pick(body) };
  if (rule.fields !== undefined) return { fields: pickFields(json, rule.fields) };
  if (bytes.byteLength === 0) return null;
  return json === undefined
    ? { mediaType, bytes: bytes.byteLength, sha256: bytesDigest(bytes) }
    : { json };
}

function pickFields(json: Json | undefined, fields: readonly string[]): JsonObject {
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    throw invalid("is not a JSON object, so the fields that identify it can't be read");
  }
  const members = json as JsonObject;
  const given = fields.filter((field) => Object.hasOwn(members, field));
  return Object.fromEntries(given.map((field) => [field, members[field] as Json]));
}

function parseBody(bytes: Uint8Array): Json {
  const text = utf8TextOf(bytes);
  if (text === undefined) throw invalid("is not UTF-8");
  return toPlainJson(parseText(text.replace(/^\uFEFF/, "")));
}

function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw invalid("is not JSON, although its media type says so", { cause });
  }
}
