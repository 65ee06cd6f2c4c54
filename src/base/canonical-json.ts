/**
 * Canonical JSON (RFC 8785) and hashes over it.
 *
 * @module
 */
import { createHmac, hash } from "node:crypto";
import canonicalize from "canonicalize";
import { assert } from "./errors.ts";
import { type Json, toPlainJson } from "./plain-json.ts";

/**
 * The RFC 8785 form: members sorted by UTF-16 code units at every depth, no white space, numbers as
 * ECMAScript prints them. Equal values give equal text.
 *
 * @throws {NeverTwiceError} UNSUPPORTED_ARGUMENT for what is not plain JSON.
 */
export function canonicalJson(value: unknown): string {
  const text = canonicalize(toPlainJson(value));
  assert(text !== undefined, "plain JSON always has a canonical form");
  return text;
}

/** SHA-256 of the text's UTF-8 bytes, 64 lower-case hex digits. */
export function sha256Hex(text: string): string {
  return hash("sha256", text, "hex");
}

/** HMAC-SHA-256 of the text's UTF-8 bytes, 64 lower-case hex digits. */
export function hmacSha256Hex(secret: string | Uint8Array, text: string): string {
  return createHmac("sha256", secret).update(text, "utf8").digest("hex");
}

/** Reads stored JSON text. The text is ours, so what it holds is plain JSON. */
export function parseJson(text: string): Json {
  return toPlainJson(JSON.parse(text));
}
