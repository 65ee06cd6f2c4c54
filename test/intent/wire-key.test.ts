/**
 * The key in a provider's shape: a projection that is the same for ever, and another one for another
 * generation or account.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sha256Hex } from "../../src/base/canonical-json.ts";
import { type WireKeyShape, wireKeyLengths, wireKeyOf } from "../../src/intent/wire-key.ts";

const shapes: Record<WireKeyShape, RegExp> = {
  hex: /^[0-9a-f]{64}$/,
  base64url: /^[A-Za-z0-9_-]{43}$/,
  uuid: /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,
  "uuid-bare": /^[0-9a-f]{32}$/,
};
const shapeNames = Object.keys(shapes) as WireKeyShape[];
const versions = [4, 5, 8] as const;

const anyKey = fc.string().map(sha256Hex);
const anyShape = fc.constantFrom(...shapeNames);
const anyVersion = fc.constantFrom(undefined, ...versions);
const anyOptions = fc.record({
  shape: anyShape,
  uuidVersion: anyVersion,
  generation: fc.nat(50),
  account: fc.option(fc.string({ minLength: 1 }).filter(isPlain), { nil: undefined }),
});

function isPlain(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

describe("a wire key", () => {
  it("has the shape, the length and the alphabet that it is named for", () => {
    fc.assert(
      fc.property(anyKey, anyOptions, (key, options) => {
        const wireKey = wireKeyOf(key, options);
        expect(wireKey).toMatch(shapes[options.shape]);
        expect(wireKey).toHaveLength(wireKeyLengths[options.shape]);
      }),
    );
    expect(wireKeyLengths).toEqual({ hex: 64, base64url: 43, uuid: 36, "uuid-bare": 32 });
    expect(Object.isFrozen(wireKeyLengths)).toBe(true);
  });

  it("is the same for equal input, every time", () => {
    fc.assert(
      fc.property(anyKey, anyOptions, (key, options) => {
        expect(wireKeyOf(key, { ...options })).toBe(wireKeyOf(key, options));
      }),
    );
  });

  it("is the plain projection of the key in generation 0 and without an account", () => {
    fc.assert(
      fc.property(anyKey, (key) => {
        expect(wireKeyOf(key, { shape: "hex" })).toBe(key);
        expect(wireKeyOf(key, { shape: "hex", generation: 0, account: undefined })).toBe(key);
        const bytes = Buffer.from(wireKeyOf(key, { shape: "base64url" }), "base64url");
        expect(bytes.toString("hex")).toBe(key);
      }),
    );
  });

  it("differs for two keys, in every shape", () => {
    fc.assert(
      fc.property(anyKey, anyKey, anyOptions, (first, second, options) => {
        expect(wireKeyOf(first, options) === wireKeyOf(second, options)).toBe(first === second);
      }),
    );
  });

  it("differs from generation to generation and from account to account, in every shape", () => {
    const accounts = [undefined, "", "acct_1", "acct_2"];
    const generations = [0, 1, 2, 10];
    for (const shape of shapeNames) {
      const wireKeys = accounts.flatMap((account) =>
        generations.map((generation) => wireKeyOf(sha256Hex("x"), { shape, generation, account })),
      );
      expect(new Set(wireKeys).size).toBe(accounts.length * generations.length);
    }
  });

  it("keeps generation and account apart, so that none can be mistaken for the other", () => {
    fc.assert(
      fc.property(anyKey, anyOptions, anyOptions, (key, a, b) => {
        const shape = "hex";
        const same = a.generation === b.generation && a.account === b.account;
        expect(wireKeyOf(key, { ...a, shape }) === wireKeyOf(key, { ...b, shape })).toBe(same);
      }),
    );
  });
});

describe("a UUID wire key", () => {
  it("carries its version and the RFC 9562 variant; version 5 unless told otherwise", () => {
    fc.assert(
      fc.property(anyKey, anyVersion, fc.nat(5), (key, uuidVersion, generation) => {
        const bare = wireKeyOf(key, { shape: "uuid-bare", uuidVersion, generation });
        expect(bare.charAt(12)).toBe(String(uuidVersion ?? 5));
        expect(bare.charAt(16)).toMatch(/[89ab]/);
      }),
    );
  });

  it("is the bare one with dashes", () => {
    fc.assert(
      fc.property(anyKey, anyOptions, (key, options) => {
        const dashed = wireKeyOf(key, { ...options, shape: "uuid" });
        expect(dashed.replaceAll("-", "")).toBe(wireKeyOf(key, { ...options, shape: "uuid-bare" }));
      }),
    );
  });

  it("keeps 122 bits of the hash: all but version and variant", () => {
    fc.assert(
      fc.property(anyKey, fc.constantFrom(...versions), (key, uuidVersion) => {
        const bare = wireKeyOf(key, { shape: "uuid-bare", uuidVersion });
        const kept = (digits: string): string =>
          digits.slice(0, 12) + digits.slice(13, 16) + digits.slice(17, 32);
        expect(kept(bare)).toBe(kept(key));
        const variantBits = Number.parseInt(key.charAt(16), 16) & 0b0011;
        expect(Number.parseInt(bare.charAt(16), 16)).toBe(0b1000 + variantBits);
      }),
    );
  });

  it("differs by its version alone between versions", () => {
    const [four, five, eight] = versions.map((uuidVersion) =>
      wireKeyOf(sha256Hex("x"), { shape: "uuid", uuidVersion }),
    );
    expect([four?.charAt(14), five?.charAt(14), eight?.charAt(14)]).toEqual(["4", "5", "8"]);
    expect(four?.replace(/^(.{14})./, "$1_")).toBe(five?.replace(/^(.{14})./, "$1_"));
    expect(eight?.replace(/^(.{14})./, "$1_")).toBe(five?.replace(/^(.{14})./, "$1_"));
  });
});
