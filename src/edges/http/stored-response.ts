/**
 * A response as it is kept in an operation's row, and given again.
 *
 * @module
 */
import { hash } from "node:crypto";

/** Why a body is not kept. */
export interface OmittedBody {
  readonly reason: string;
  /** How many bytes it has, where that is known. */
  readonly bytes?: number;
}

/** Bytes that are UTF-8 text are kept as text, so that people can read the row; others as base64. */
export type StoredBody =
  { readonly text: string } | { readonly base64: string } | { readonly omitted: OmittedBody };

/** A response in plain JSON. Header names are in lower case. */
export interface StoredResponse {
  readonly v: 1;
  readonly status: number;
  /** In the order of their names. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Null: it had none. */
  readonly body: StoredBody | null;
}

/** Header fields that describe the stored body or name the effect, and so are given again. */
export const defaultReplayHeaders: readonly string[] = Object.freeze([
  "content-disposition",
  "content-encoding",
  "content-language",
  "content-location",
  "content-type",
  "etag",
  "last-modified",
  "link",
  "location",
]);

/**
 * Header fields that belong to one exchange or to one caller. They are never stored, whatever an
 * application lists: a replay may go to another connection, days later.
 */
export const neverReplayed: readonly string[] = Object.freeze([
  "age",
  "authorization",
  "connection",
  "content-length",
  "date",
  "idempotent-outcome",
  "idempotent-recorded",
  "idempotent-replayed",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "retry-after",
  "set-cookie",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "www-authenticate",
]);

/** Statuses that have no body by definition (RFC 9110). */
export function hasNoBody(status: number): boolean {
  return status === 204 || status === 205 || status === 304;
}

/** The named fields of `headers`, in the order of their names. */
export function pickHeaders(
  headers: Headers,
  names: readonly string[],
): readonly (readonly [string, string])[] {
  return names
    .map((name) => name.toLowerCase())
    .toSorted()
    .flatMap((name) => {
      const value = headers.get(name);
      return value === null ? [] : [[name, value] as const];
    });
}

/** Keeps bytes without losing one of them. */
export function storeBytes(bytes: Uint8Array): StoredBody | null {
  if (bytes.byteLength === 0) return null;
  const text = utf8TextOf(bytes);
  // Databases refuse NUL in text.
  if (text !== undefined && !text.includes("\0")) return { text };
  return { base64: Buffer.from(bytes).toString("base64") };
}

/** The bytes of a stored body; undefined when they were not kept. */
export function bytesOf(body: StoredBody | null): Uint8Array<ArrayBuffer> | undefined {
  if (body === null) return new Uint8Array();
  if ("omitted" in body) return undefined;
  return "text" in body
    ? new Uint8Array(Buffer.from(body.text, "utf8"))
    : new Uint8Array(Buffer.from(body.base64, "base64"));
}

/** The text of a stored body; undefined when it was not kept or is not UTF-8. */
export function textOf(response: StoredResponse): string | undefined {
  const bytes = bytesOf(response.body);
  return bytes === undefined ? undefined : utf8TextOf(bytes);
}

/** Undefined unless the bytes are UTF-8. A byte order mark stays, so that no byte is lost. */
export function utf8TextOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** SHA-256, 64 lower-case hex digits. */
export function bytesDigest(bytes: Uint8Array): string {
  return hash("sha256", bytes, "hex");
}

/** True for `application/json` and every `+json` type. */
export function isJsonType(contentType: string | null): boolean {
  return /^application\/(?:[\w.!#$&^-]+\+)?json$/.test(mediaTypeOf(contentType));
}

/** The media type without its parameters, in lower case; empty when there is none. */
export function mediaTypeOf(contentType: string | null): string {
  return (contentType ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
}
