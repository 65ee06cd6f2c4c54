/**
 * Templates and normalisers: two different intents never read the same, and a normaliser changes
 * nothing the second time.
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import { normaliserNames, normaliserOf } from "../../../src/edges/mcp/normalisers.ts";
import { parseJsonTemplate, renderJson } from "../../../src/edges/mcp/json-template.ts";
import { isPointer, valueAt } from "../../../src/edges/mcp/json-pointer.ts";
import {
  TemplateFault,
  checkSeparated,
  parseTemplate,
  placesOf,
  renderIntent,
  renderValue,
} from "../../../src/edges/mcp/template.ts";

const ids = fc.string({ unit: "grapheme", minLength: 1 }).filter((text) => {
  const plain = text.normalize("NFC");
  return plain.trim() === plain && !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u.test(plain) && plain !== "";
});

it("different values give different intents, whatever they hold", () => {
  const template = parseTemplate("refund:{args.a}:x:{trusted.b}/{args.c}");
  checkSeparated(template);
  const render = ([a, b, c]: readonly string[]): string =>
    renderIntent(template, { args: { a, c }, trusted: { b } });
  fc.assert(
    fc.property(fc.tuple(ids, ids, ids), fc.tuple(ids, ids, ids), (one, other) => {
      const same = one.every((id, at) => id.normalize("NFC") === other[at]?.normalize("NFC"));
      expect(render(one) === render(other)).toBe(same);
    }),
  );
  expect(render(["8812:5521", "1", "2"])).toBe("refund:8812%3A5521:x:1/2");
});

it.each(["{args.a}{args.b}", "{args.a}-{args.b}", "refund", "{args.a}x{args.b}"])(
  "%s is refused as an intent",
  (text) => {
    expect(() => checkSeparated(parseTemplate(text))).toThrow(TemplateFault);
  },
);

it.each([{}, { a: null }, { a: "" }, { a: " 1" }, { a: ["1"] }, { a: { b: 1 } }])(
  "%j gives no intent",
  (args) => {
    const render = (): string => renderIntent(parseTemplate("refund:{args.a}"), { args });
    expect(render).toThrow(expect.objectContaining({ code: "INTENT_INVALID" }));
  },
);

it("a place alone keeps its value's type, and a member without a value is left out", () => {
  const values = { args: { n: 5, list: [1] }, key: "k" };
  expect(renderValue(parseTemplate("{args.n}"), values)).toBe(5);
  expect(renderValue(parseTemplate("no {args.n}"), values)).toBe("no 5");
  expect(renderValue(parseTemplate("{args.none} x"), values)).toBeUndefined();
  const template = parseJsonTemplate({
    a: "{args.list}",
    b: ["{key}", "{args.none}"],
    c: "{args.none}",
    d: 1,
  });
  expect(renderJson(template, values)).toEqual({ a: [1], b: ["k"], d: 1 });
  expect(placesOf(parseTemplate("{args.a}:{key}"))).toEqual(["args.a", "key"]);
});

it("normalisers bring one spelling, and nothing more the second time", () => {
  fc.assert(
    fc.property(fc.constantFrom(...normaliserNames), fc.string(), (name, text) => {
      const normalise = normaliserOf([name]);
      if (normalise === true) throw new Error("a named normaliser is a function");
      expect(normalise(normalise(text))).toBe(normalise(text));
    }),
  );
  const all = [
    "trim",
    "single-space",
    "lower-case",
    "upper-case",
    "digits",
    "integer",
    "decimal",
  ] as const;
  const spelled = (name: (typeof all)[number], text: string | number): unknown => {
    const normalise = normaliserOf([name]);
    return normalise === true ? text : normalise(text);
  };
  expect(all.map((name) => spelled(name, " 007.50 "))).toEqual([
    "007.50",
    "007.50",
    " 007.50 ",
    " 007.50 ",
    "00750",
    "7.50",
    "7.5",
  ]);
  expect(["-0.0", "+1.", "x", "480.00"].map((text) => spelled("decimal", text))).toEqual([
    "0",
    "1",
    "x",
    "480",
  ]);
  expect(all.map((name) => spelled(name, 7))).toEqual(all.map(() => 7));
  expect(normaliserOf([])).toBe(true);
});

it("JSON Pointers are read as RFC 6901 says", () => {
  const value = { "a/b": { "m~n": [{ id: 1 }] } };
  expect(valueAt(value, "/a~1b/m~0n/0/id")).toBe(1);
  expect(valueAt(value, "")).toBe(value);
  expect(
    ["/x", "/a~1b/toString", "/a~1b/m~0n/0/id/x"].map((pointer) => valueAt(value, pointer)),
  ).toEqual([undefined, undefined, undefined]);
  expect(["", "/a", "a", "/a~2"].map(isPointer)).toEqual([true, true, false, false]);
});
