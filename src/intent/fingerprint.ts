/**
 * The fingerprint: it tells a repeated call from a changed one.
 *
 * @module
 */
import { canonicalJson, sha256Hex } from "../base/canonical-json.ts";
import type { JsonObject } from "../base/plain-json.ts";

/** How fingerprints are made today; stored with each, so that a later form can't misread an old row. */
export const fingerprintAlgorithm = "jcs-sha256/1";

/** What a fingerprint covers (R3). */
export interface FingerprintParts {
  readonly tool: string;
  readonly arguments: JsonObject;
  /** Where the provider scopes keys or effects by account. */
  readonly account?: string | undefined;
  /** Where the provider scopes keys by endpoint or API version. */
  readonly endpoint?: string | undefined;
}

/** `jcs-sha256/1:` and 64 hex digits over the tool's name and its business arguments. */
export function fingerprintOf(parts: FingerprintParts): string {
  const { tool, account, endpoint } = parts;
  const covered = {
    tool,
    arguments: parts.arguments,
    ...(account === undefined ? {} : { account }),
    ...(endpoint === undefined ? {} : { endpoint }),
  };
  return `${fingerprintAlgorithm}:${sha256Hex(canonicalJson(covered))}`;
}
