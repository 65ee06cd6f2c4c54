/**
 * The Idempotency-Key field: whatever comes in is one key, missing, or malformed, and what we write we
 * read back (draft-ietf-httpapi-idempotency-key-header-07, section 2.1).
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import { maxKeyLength, readKey, writeKey } from "../../../src/edges/http/index.ts";

const visible = fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code));
const anyKey = fc
  .array(visible, { minLength: 1, maxLength: maxKeyLength })
  .map((all) => all.join(""));
const bareKey = anyKey.filter((key) => !/[",;\\]/.test(key));

it("every key of visible ASCII comes back from its quoted form, escapes and all", () => {
  fc.assert(
    fc.property(anyKey, (key) => {
      expect(readKey(writeKey(key, "quoted"))).toEqual({ kind: "key", key });
      expect(readKey(writeKey(key, "quoted"), "quoted")).toEqual({ kind: "key", key });
    }),
  );
});

it("a bare key and its quoted form are one key, and strict reading takes the quoted one only", () => {
  fc.assert(
    fc.property(bareKey, (key) => {
      expect(readKey(writeKey(key, "bare"))).toEqual(readKey(writeKey(key, "quoted")));
      expect(readKey(key, "quoted").kind).toBe("malformed");
    }),
  );
});

it("any text at all gives a key of 1 to 255 visible characters or a reason, and never throws", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.string({ unit: "binary" }), anyKey), (value) => {
      for (const forms of ["quoted", "quoted-or-bare"] as const) {
        const read = readKey(value, forms);
        if (read.kind === "malformed") expect(read.reason).not.toBe("");
        else
          expect(read).toEqual({ kind: "key", key: expect.stringMatching(/^[\x21-\x7e]{1,255}$/) });
      }
    }),
  );
});

it("two fields, joined as HTTP joins them, are never taken for one key", () => {
  fc.assert(
    fc.property(anyKey, anyKey, fc.constantFrom("bare", "quoted"), (one, other, form) => {
      const joined = `${writeKey(one, form)}, ${writeKey(other, form)}`;
      expect(readKey(joined).kind).toBe("malformed");
    }),
  );
});

it.each([
  ['"abc"', "abc"],
  ["abc", "abc"],
  ["  abc  ", "abc"],
  ['"abc";p=1', "abc"],
  ['"a\\"b\\\\c"', 'a"b\\c'],
  ['"a,b"', "a,b"],
  ["123", "123"],
  ["?1", "?1"],
  ["8e03978e-40d5-43e8-bc93-6894a57f9324", "8e03978e-40d5-43e8-bc93-6894a57f9324"],
  ["@1659578233", "@1659578233"],
])("%s is the key %s", (value, key) => {
  expect(readKey(value)).toEqual({ kind: "key", key });
});

it.each([
  [""],
  ["   "],
  ['""'],
  ['"abc'],
  ['abc"'],
  ["a,b"],
  ["abc;p=1"],
  ["a b"],
  ['"a b"'],
  ["clé"],
  ['"clé"'],
  ["a\tb"],
  ['("a")'],
  ['"a", "a"'],
  ["a".repeat(256)],
  [`"${"a".repeat(256)}"`],
])("%j is malformed", (value) => {
  expect(readKey(value).kind).toBe("malformed");
});

it.each([["123"], ["abc"], ["?1"], ["@1659578233"], [":YWJj:"]])(
  "%s is no String, so strict reading refuses it",
  (value) => {
    expect(readKey(value, "quoted").kind).toBe("malformed");
  },
);

it("an absent field is missing, which is not malformed", () => {
  expect(readKey(null)).toEqual({ kind: "missing" });
});
