/**
 * The key: one per intent, whatever the attempt.
 *
 * @module
 */
import { canonicalJson, hmacSha256Hex, sha256Hex } from "../base/canonical-json.ts";
import type { Identity } from "./intent.ts";

/** How a key was made; stored beside it, for keys are for ever. */
export type KeyAlgorithm = "jcs-sha256/1" | "jcs-hmac-sha256/1";

/** A key and the algorithm that made it. */
export interface Key {
  /** 64 lower-case hex digits. */
  readonly key: string;
  readonly algorithm: KeyAlgorithm;
}

/**
 * SHA-256 over the canonical JSON of the identity (R1). With a secret it is an HMAC, so that nobody
 * who knows an order's number can compute its key.
 */
export function deriveKey(identity: Identity, secret?: string | Uint8Array): Key {
  const text = canonicalJson(identity);
  return secret === undefined
    ? { key: sha256Hex(text), algorithm: "jcs-sha256/1" }
    : { key: hmacSha256Hex(secret, text), algorithm: "jcs-hmac-sha256/1" };
}
