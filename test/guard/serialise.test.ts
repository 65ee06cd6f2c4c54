import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { resultDigest, storeError, storeResult } from "../../src/guard/serialise.ts";

const limit = 256 * 1024;

describe("a result", () => {
  it("that is plain JSON is stored as it is, in canonical form", () => {
    fc.assert(
      fc.property(fc.json({ noUnicodeString: true }), (text) => {
        const value: unknown = JSON.parse(text);
        const { resultKind, result } = storeResult(value, limit);
        fc.pre(resultKind === "json");
        // Zero has one sign only in canonical form.
        expect(JSON.parse(result ?? "")).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
    expect(storeResult({ b: 1, a: [null] }, limit).result).toBe('{"a":[null],"b":1}');
    expect(storeResult(undefined, limit)).toEqual({ resultKind: "undefined", result: null });
  });

  it("that has as many bytes as may be stored is stored, and one more is not", () => {
    const text = (bytes: number): string => "ä".repeat((bytes - 2) / 2);
    expect(storeResult(text(100), 100).resultKind).toBe("json");
    expect(JSON.parse(storeResult(text(102), 100).result ?? "")).toEqual({
      reason: "it has 102 bytes and the limit is 100",
      bytes: 102,
    });
  });

  it("has a digest that tells it from every other kind and value", () => {
    const digests = [undefined, null, "undefined", "null", 0, { reason: "x" }].map((value) =>
      resultDigest(storeResult(value, limit)),
    );
    digests.push(resultDigest({ resultKind: "omitted", result: '{"reason":"x"}' }));
    expect(new Set(digests).size).toBe(7);
  });
});

describe("an error", () => {
  it("is stored with what machines may need", () => {
    const error = Object.assign(new TypeError("broken"), { code: "E1", status: 500, secret: "x" });
    expect(JSON.parse(storeError(error))).toEqual({
      message: "broken",
      name: "TypeError",
      code: "E1",
      status: 500,
    });
    expect(JSON.parse(storeError({ code: 7, name: 1, status: "500" }))).toEqual({
      message: "thrown: [object Object]",
      code: 7,
    });
    expect(JSON.parse(storeError(new RangeError("")))).toMatchObject({ message: "RangeError" });
  });

  it("is stored whatever was thrown, in text that every database takes, and not endless", () => {
    const thrown = [
      null,
      undefined,
      0,
      1n,
      Symbol("s"),
      () => 1,
      Object.create(null) as object,
      new Error("a\0b\uD800"),
      new Error("x".repeat(100_000)),
      new Proxy({}, { getPrototypeOf: () => Array.prototype }),
    ];
    for (const value of thrown) {
      const stored = storeError(value);
      expect(stored.length).toBeLessThan(2200);
      expect(stored).not.toMatch(/\\u0000|\\ud800/i);
      expect(JSON.parse(stored)).toHaveProperty("message");
    }
    expect(JSON.parse(storeError(Object.create(null)))).toEqual({
      message: "thrown: something that can't be read",
    });
  });
});
