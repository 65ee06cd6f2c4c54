/**
 * The key: a hash of the identity, or an HMAC where ids can be guessed.
 */
import { createHash, createHmac } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson } from "../../src/base/canonical-json.ts";
import { type Identity, identify } from "../../src/intent/intent.ts";
import { deriveKey } from "../../src/intent/key.ts";

const identity: Identity = identify({
  tenant: "acme",
  operation: "refund",
  scope: "business",
  intent: "refund:order-8812:ticket-5521",
});

describe("a key", () => {
  it("is SHA-256 over the canonical JSON of the identity, and says so", () => {
    const text =
      '{"intent":"refund:order-8812:ticket-5521","operation":"refund","scope":"business","tenant":"acme","v":1}';
    expect(canonicalJson(identity)).toBe(text);
    expect(deriveKey(identity)).toEqual({
      key: createHash("sha256").update(text).digest("hex"),
      algorithm: "jcs-sha256/1",
    });
  });

  it("is an HMAC of the same text when there is a secret, and says so", () => {
    expect(deriveKey(identity, "a secret")).toEqual({
      key: createHmac("sha256", "a secret").update(canonicalJson(identity)).digest("hex"),
      algorithm: "jcs-hmac-sha256/1",
    });
  });

  it("can't be computed without the secret, nor with another one", () => {
    const keys = [undefined, "a secret", "another secret", "a secret "].map(
      (secret) => deriveKey(identity, secret).key,
    );
    expect(new Set(keys).size).toBe(4);
  });

  it("is the same for a secret given as text or as its bytes", () => {
    const bytes = new TextEncoder().encode("gehe\u00efm");
    expect(deriveKey(identity, bytes)).toEqual(deriveKey(identity, "gehe\u00efm"));
  });

  it("is 64 lower-case hex digits, and the same every time", () => {
    fc.assert(
      fc.property(fc.option(fc.string({ minLength: 1 }), { nil: undefined }), (secret) => {
        const { key } = deriveKey(identity, secret);
        expect(key).toMatch(/^[0-9a-f]{64}$/);
        expect(deriveKey({ ...identity }, secret).key).toBe(key);
      }),
    );
  });
});
