/**
 * Canonical JSON is RFC 8785: the six published vectors, and what this package adds to the RFC.
 */
import canonicalize from "canonicalize";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  canonicalJson,
  hmacSha256Hex,
  parseJson,
  sha256Hex,
} from "../../src/base/canonical-json.ts";

/** The vectors published with the RFC: names, inputs as JSON text, and the canonical form. */
const vectors: readonly [name: string, input: string, output: string][] = [
  [
    "arrays",
    '[\n  56,\n  {\n    "d": true,\n    "10": null,\n    "1": [ ]\n  }\n]',
    '[56,{"1":[],"10":null,"d":true}]',
  ],
  [
    "french",
    `{
      "peach": "This sorting order",
      "p\u00e9ch\u00e9": "is wrong according to French",
      "p\u00eache": "but canonicalization MUST",
      "sin":   "ignore locale"
    }`,
    '{"peach":"This sorting order","p\u00e9ch\u00e9":"is wrong according to French",' +
      '"p\u00eache":"but canonicalization MUST","sin":"ignore locale"}',
  ],
  [
    "structures",
    `{
      "1": {"f": {"f": "hi","F": 5} ,"\\n": 56.0},
      "10": { },
      "": "empty",
      "a": { },
      "111": [ {"e": "yes","E": "no" } ],
      "A": { }
    }`,
    '{"":"empty","1":{"\\n":56,"f":{"F":5,"f":"hi"}},"10":{},"111":[{"E":"no","e":"yes"}],"A":{},"a":{}}',
  ],
  ["unicode", '{ "Unnormalized Unicode": "A\\u030a" }', '{"Unnormalized Unicode":"A\u030a"}'],
  [
    "values",
    `{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\"\\/",
      "literals": [null, true, false]
    }`,
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
      '"string":"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
  ],
  [
    "weird",
    `{
      "\\u20ac": "Euro Sign",
      "\\r": "Carriage Return",
      "\\u000a": "Newline",
      "1": "One",
      "\\u0080": "Control\\u007f",
      "\\ud83d\\ude02": "Smiley",
      "\\u00f6": "Latin Small Letter O With Diaeresis",
      "\\ufb33": "Hebrew Letter Dalet With Dagesh",
      "</script>": "Browser Challenge"
    }`,
    '{"\\n":"Newline","\\r":"Carriage Return","1":"One","</script>":"Browser Challenge",' +
      '"\u0080":"Control\u007f","\u00f6":"Latin Small Letter O With Diaeresis",' +
      '"\u20ac":"Euro Sign","\ud83d\ude02":"Smiley","\ufb33":"Hebrew Letter Dalet With Dagesh"}',
  ],
];

/** The one thing in the vectors that we refuse on purpose: an integer that is not exact. */
const inexact = "1E30";

describe("the vectors of RFC 8785", () => {
  it.each(vectors)("%s", (_name, input, output) => {
    expect(canonicalize(JSON.parse(input))).toBe(output);
    const exact = (text: string): string => text.replace(/1e\+?30,/i, "");
    expect(canonicalJson(JSON.parse(exact(input)))).toBe(exact(output));
  });

  it("hold an inexact integer, which the RFC prints and we refuse", () => {
    expect(vectors.filter(([, input]) => input.includes(inexact))).toHaveLength(1);
    expect(() => canonicalJson(JSON.parse(`{"numbers":[${inexact}]}`))).toThrow("$.numbers[0]");
  });

  it("are kept when canonical JSON is made canonical again", () => {
    for (const [, , output] of vectors) expect(canonicalize(JSON.parse(output))).toBe(output);
  });
});

describe("canonical JSON", () => {
  it("sorts members by UTF-16 code units at every depth, and never an array", () => {
    const value = { b: 1, a: { d: [{ y: 1, x: 2 }], c: 3 } };
    expect(canonicalJson(value)).toBe('{"a":{"c":3,"d":[{"x":2,"y":1}]},"b":1}');
    expect(canonicalJson([2, 1])).toBe("[2,1]");
    // By code points the emoji would come last.
    expect(canonicalJson({ "\ufb33": 1, "\u{1f602}": 2 })).toBe('{"\u{1f602}":2,"\ufb33":1}');
  });

  it("is the same for equal numbers however they are spelled", () => {
    const spellings = ["480", "480.0", "4.8e2", "48000e-2"];
    expect(spellings.map((text) => canonicalJson(JSON.parse(text)))).toEqual(Array(4).fill("480"));
    expect(canonicalJson(-0)).toBe("0");
    expect(canonicalJson({ a: [-0] })).toBe('{"a":[0]}');
  });

  it("keeps a number and its text, and two nearby sums, apart", () => {
    expect(canonicalJson(480)).not.toBe(canonicalJson("480"));
    expect(canonicalJson(0.1 + 0.2)).not.toBe(canonicalJson(0.3));
  });

  it("leaves out undefined members and keeps null, empty objects and empty arrays", () => {
    const value = { memo: undefined, note: null, extra: {}, items: [] };
    expect(canonicalJson(value)).toBe('{"extra":{},"items":[],"note":null}');
  });

  it("keeps a member called __proto__", () => {
    expect(canonicalJson(JSON.parse('{"b":1,"__proto__":{"z":1,"a":2}}'))).toBe(
      '{"__proto__":{"a":2,"z":1},"b":1}',
    );
  });

  it("does not normalise text: the provider gets the bytes that were hashed", () => {
    expect(canonicalJson("caf\u00e9")).not.toBe(canonicalJson("cafe\u0301"));
  });

  it("refuses what is not plain JSON, with the path", () => {
    for (const value of [undefined, 1n, new Date(0), Number.NaN, "\ud800"]) {
      expect(() => canonicalJson({ a: [value] })).toThrow("$.a[0] is");
    }
  });

  it("is what JSON text says: reading it back gives the value", () => {
    fc.assert(
      fc.property(plainJson(), (value) => {
        expect(JSON.parse(canonicalJson(value))).toEqual(value);
      }),
    );
  });

  it("is a function of the value alone, not of the order in which it was built", () => {
    fc.assert(
      fc.property(plainJson(), (value) => {
        const turned = reverseMembers(value);
        expect(canonicalJson(turned)).toBe(canonicalJson(value));
        expect(canonicalJson(JSON.parse(canonicalJson(value)))).toBe(canonicalJson(value));
      }),
    );
  });
});

describe("hashes", () => {
  it("are SHA-256 over UTF-8, as published for the empty text, for abc and for an umlaut", () => {
    // FIPS 180-4 examples; the third was computed with sha256sum.
    expect(sha256Hex("")).toBe("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect(sha256Hex("abc")).toBe(
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    );
    expect(sha256Hex("\u00e9")).toBe(
      "4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c",
    );
  });

  it("are HMAC-SHA-256 as in RFC 4231, with a secret of text or of bytes", () => {
    const expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
    expect(hmacSha256Hex("Jefe", "what do ya want for nothing?")).toBe(expected);
    expect(hmacSha256Hex(Buffer.from("Jefe"), "what do ya want for nothing?")).toBe(expected);
  });
});

describe("reading stored JSON text", () => {
  it("gives a frozen value", () => {
    const value = parseJson('{"a":[1,{"b":null}]}') as { a: unknown[] };
    expect(value).toEqual({ a: [1, { b: null }] });
    expect(Object.isFrozen(value.a)).toBe(true);
  });

  it("fails on what is no JSON, and on what no canonical text can hold", () => {
    expect(() => parseJson("{")).toThrow(SyntaxError);
    expect(() => parseJson('["\\u0000"]')).toThrow(
      expect.objectContaining({ code: "UNSUPPORTED_ARGUMENT" }),
    );
  });
});

/** Any value that JSON carries without loss. */
function plainJson(): fc.Arbitrary<unknown> {
  const text = fc
    .string({ unit: "binary" })
    .filter((value) => value.isWellFormed() && !value.includes("\0") && value !== "__proto__");
  const number = fc.oneof(
    fc.maxSafeInteger(),
    fc.double({ noNaN: true, min: -1e15, max: 1e15 }).map((value) => value + 0),
  );
  return fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      fc.constant(null),
      fc.boolean(),
      number,
      text,
      fc.array(tie("value"), { maxLength: 4 }),
      fc.dictionary(text, tie("value"), { maxKeys: 4, noNullPrototype: true }),
    ),
  })).value;
}

function reverseMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reverseMembers);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, member]) => [name, reverseMembers(member)]);
  return Object.fromEntries(entries.toReversed() as [string, unknown][]);
}
