/**
 * Today's code makes the same keys, wire keys and fingerprints as on the day they were first stored.
 *
 * `identity-v1.json` is never regenerated. Stored rows carry these keys and fingerprints, and providers
 * carry these wire keys: a change of any of them makes every old row a stranger, so that a repeated call
 * runs a second time or is refused as changed. It is a BREAKING STORAGE CHANGE. It needs a new algorithm
 * tag (`jcs-sha256/2`), a new golden file beside this one, and code that still reads the old tag.
 */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { canonicalJson } from "../../src/base/canonical-json.ts";
import { type FingerprintParts, fingerprintOf } from "../../src/intent/fingerprint.ts";
import { type IdentityParts, identify } from "../../src/intent/intent.ts";
import { deriveKey } from "../../src/intent/key.ts";
import { type WireKeyOptions, wireKeyOf } from "../../src/intent/wire-key.ts";

interface Golden {
  readonly version: 1;
  readonly keySecret: string;
  readonly entries: readonly GoldenEntry[];
}

interface GoldenEntry {
  readonly name: string;
  readonly identity: IdentityParts;
  readonly canonical: string;
  readonly key: string;
  readonly hmacKey: string;
  readonly wireKeys: readonly (WireKeyOptions & { readonly wireKey: string })[];
  readonly fingerprintOf: FingerprintParts;
  readonly fingerprint: string;
}

const everyShape =
  "base64url hex uuid uuid-bare uuid-bare4 uuid-bare5 uuid-bare8 uuid4 uuid5 uuid8".split(" ");

const file = new URL("identity-v1.json", import.meta.url);
const golden = JSON.parse(readFileSync(file, "utf8")) as Golden;

describe("the golden file of identity version 1", () => {
  it("has at least twenty entries, each with every shape of wire key", () => {
    expect(golden.version).toBe(1);
    expect(golden.entries.length).toBeGreaterThanOrEqual(20);
    for (const { wireKeys } of golden.entries) {
      const shapes = wireKeys.map(({ shape, uuidVersion = "" }) => `${shape}${uuidVersion}`);
      expect([...new Set(shapes)].toSorted(byText)).toEqual(everyShape);
      expect(wireKeys.some(({ generation = 0 }) => generation > 0)).toBe(true);
      expect(wireKeys.some(({ account }) => account !== undefined)).toBe(true);
    }
  });

  it.each(golden.entries)("$name: canonical text, keys, wire keys, fingerprint", (entry) => {
    const identity = identify(entry.identity);
    expect(canonicalJson(identity)).toBe(entry.canonical);
    expect(deriveKey(identity)).toEqual({ key: entry.key, algorithm: "jcs-sha256/1" });
    expect(deriveKey(identity, golden.keySecret)).toEqual({
      key: entry.hmacKey,
      algorithm: "jcs-hmac-sha256/1",
    });
    const wireKeys = entry.wireKeys.map(({ wireKey: _stored, ...options }) => ({
      ...options,
      wireKey: wireKeyOf(entry.key, options),
    }));
    expect(wireKeys).toEqual(entry.wireKeys);
    expect(fingerprintOf(entry.fingerprintOf)).toBe(entry.fingerprint);
  });

  it("holds equal keys only where the identities are equal", () => {
    const canonicals = new Set(golden.entries.map(({ canonical }) => canonical));
    const keys = new Set(golden.entries.map(({ key }) => key));
    expect(keys.size).toBe(canonicals.size);
  });
});

function byText(a: string, b: string): number {
  return a < b ? -1 : 1;
}
