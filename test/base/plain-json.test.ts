/**
 * The strict validator in front of every hash: what JSON can't carry without loss is refused with its
 * path, for a value that is silently dropped makes two payments look like one (R4).
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isNeverTwiceError } from "../../src/base/errors.ts";
import { maxDepth, toPlainJson } from "../../src/base/plain-json.ts";

class Money {
  amountMinor = 48_000;
}

const [Nameless] = [
  class {
    amountMinor = 48_000;
  },
];

class Amounts extends Array<number> {}

/** Why and where a value is refused. */
interface Refusal {
  readonly path: string;
  readonly reason: string;
}

function refusalOf(value: unknown): Refusal {
  const error = raisedBy(() => toPlainJson(value));
  if (!isNeverTwiceError(error, "UNSUPPORTED_ARGUMENT")) throw error;
  const { path, reason } = error.details as unknown as Refusal;
  expect(error.message).toContain(`${path} is ${reason}`);
  expect(error.message).toContain("nothing was sent");
  return { path, reason };
}

function raisedBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return new Error("was accepted");
}

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { value };
  return value;
}

describe("values that JSON can't carry are refused", () => {
  const refused: readonly [string, unknown, string][] = [
    ["a set", new Set([1]), "an instance of Set"],
    ["a map", new Map([["x", 1]]), "an instance of Map"],
    ["a date", new Date(0), "an instance of Date"],
    ["an invalid date", new Date(Number.NaN), "an instance of Date"],
    ["a regular expression", /x/, "an instance of RegExp"],
    ["a class instance", new Money(), "an instance of Money"],
    ["a typed array", new Uint8Array(2), "an instance of Uint8Array"],
    ["a buffer", Buffer.from("x"), "an instance of Buffer"],
    ["a boxed number", Object(480), "an instance of Number"],
    ["a promise", Promise.resolve(1), "an instance of Promise"],
    ["an error", new Error("x"), "an instance of Error"],
    ["an object with an own prototype", Object.create(Object.create(null)), "not a plain object"],
    ["an object of a nameless class", new Nameless(), "not a plain object"],
    ["a big integer", 10n, "a value of type bigint"],
    ["a symbol", Symbol("x"), "a value of type symbol"],
    ["a function", () => 1, "a value of type function"],
    ["NaN", Number.NaN, "NaN"],
    ["infinity", Number.POSITIVE_INFINITY, "Infinity"],
    ["minus infinity", Number.NEGATIVE_INFINITY, "-Infinity"],
    ["a lone high surrogate", "\uD800", "text with a lone surrogate"],
    ["a lone low surrogate", "a\uDC00b", "text with a lone surrogate"],
    ["a NUL character", "a\0b", "text with a NUL character"],
  ];

  it.each(refused)("%s, at the top, in an object and in an array", (_name, value, reason) => {
    expect(refusalOf(value)).toEqual({ path: "$", reason });
    expect(refusalOf({ order: { when: value } })).toEqual({ path: "$.order.when", reason });
    expect(refusalOf({ items: [1, { when: value }] })).toEqual({
      path: "$.items[1].when",
      reason,
    });
  });

  it("an integer that a double can't hold exactly, and says to send it as text", () => {
    for (const value of [2 ** 53, -(2 ** 53), 1e21, Number.MAX_VALUE]) {
      const { path, reason } = refusalOf({ amount: value });
      expect(path).toBe("$.amount");
      expect(reason).toContain(`the integer ${value},`);
      expect(reason).toContain("send it as text");
    }
  });

  it("undefined at the top and in an array, where JSON would make it null", () => {
    const reason = "a value of type undefined";
    expect(refusalOf(undefined)).toEqual({ path: "$", reason });
    expect(refusalOf({ items: [1, undefined] })).toEqual({ path: "$.items[1]", reason });
  });

  it("a hole in an array", () => {
    const sparse: number[] = [1];
    sparse[2] = 3;
    expect(refusalOf({ items: sparse })).toEqual({
      path: "$.items[1]",
      reason: "a value of type undefined",
    });
  });
});

describe("members that JSON can't carry are refused", () => {
  it("a getter, without calling it", () => {
    let calls = 0;
    const value = {
      order: {
        get id(): string {
          calls += 1;
          return "8812";
        },
      },
    };
    expect(refusalOf(value)).toEqual({ path: "$.order.id", reason: "a getter or setter" });
    expect(calls).toBe(0);
  });

  it("a setter", () => {
    const value = Object.defineProperty({}, "id", { set: () => {}, enumerable: true });
    expect(refusalOf(value)).toEqual({ path: "$.id", reason: "a getter or setter" });
  });

  it("a hidden member, which a copy would lose", () => {
    const value = Object.defineProperty({ a: 1 }, "amount", { value: 480, enumerable: false });
    expect(refusalOf({ payment: value })).toEqual({
      path: "$.payment.amount",
      reason: "a hidden (non-enumerable) member",
    });
  });

  it("a member named by a symbol", () => {
    expect(refusalOf({ payment: { [Symbol("amount")]: 480 } })).toEqual({
      path: "$.payment",
      reason: "a member named by a symbol",
    });
  });

  it("a member whose name is no well-formed text", () => {
    expect(refusalOf({ payment: { "\uDFFF": 1 } })).toEqual({
      path: "$.payment",
      reason: "text with a lone surrogate",
    });
    expect(refusalOf({ payment: { "a\0": 1 } })).toEqual({
      path: "$.payment",
      reason: "text with a NUL character",
    });
  });

  it("a named member of an array", () => {
    const list = Object.assign([1, 2], { total: 3 });
    expect(refusalOf({ items: list })).toEqual({
      path: "$.items.total",
      reason: "a named member of an array",
    });
    expect(refusalOf(/(8812)/.exec("order 8812")).path).toBe("$.index");
  });
});

describe("arrays get the same care as objects", () => {
  it("an instance of a class that extends Array is refused", () => {
    expect(refusalOf({ items: Amounts.from([1, 2]) })).toEqual({
      path: "$.items",
      reason: "an instance of Amounts",
    });
  });

  it("a member of an array that is named by a symbol is refused", () => {
    const list = Object.assign([1], { [Symbol("total")]: 3 });
    expect(refusalOf({ items: list }).path).toBe("$.items");
  });

  it("a hidden member of an array is refused", () => {
    const list = Object.defineProperty([1], "total", { value: 3, enumerable: false });
    expect(refusalOf({ items: list }).path).toBe("$.items.total");
  });

  it("a getter in an array is refused, without calling it", () => {
    let calls = 0;
    const list = Object.defineProperty([1, 2], 1, {
      get: () => (calls += 1),
      enumerable: true,
    });
    expect(refusalOf({ items: list })).toEqual({
      path: "$.items[1]",
      reason: "a getter or setter",
    });
    expect(calls).toBe(0);
  });
});

describe("cycles and depth", () => {
  it("a cycle is refused where it closes", () => {
    const order: Record<string, unknown> = { id: "8812" };
    order["lines"] = [{ order }];
    expect(refusalOf(order)).toEqual({
      path: "$.lines[0].order",
      reason: "a reference to one of its own parents",
    });
    const list: unknown[] = [];
    list.push(list);
    expect(refusalOf(list).path).toBe("$[0]");
  });

  it("the same object in two places is no cycle", () => {
    const address = { city: "Bern" };
    expect(toPlainJson({ from: address, to: address })).toEqual({
      from: { city: "Bern" },
      to: { city: "Bern" },
    });
  });

  it(`${maxDepth} levels are taken and one more is refused`, () => {
    expect(() => toPlainJson(nested(maxDepth))).not.toThrow();
    expect(refusalOf(nested(maxDepth + 1)).reason).toBe(`nested deeper than ${maxDepth} levels`);
    expect(refusalOf(nested(100_000)).reason).toBe(`nested deeper than ${maxDepth} levels`);
  });
});

describe("what is accepted", () => {
  it("is copied deeply, so that a later change of the original has no effect", () => {
    const original = { items: [{ sku: "a" }], note: "x" };
    const copy = toPlainJson(original);
    original.items.push({ sku: "b" });
    original.note = "y";
    expect(copy).toEqual({ items: [{ sku: "a" }], note: "x" });
  });

  it("is frozen at every depth", () => {
    const copy = toPlainJson({ items: [{ sku: "a" }] }) as { items: { sku: string }[] };
    expect(() => copy.items.push({ sku: "b" })).toThrow(TypeError);
    expect(() => Object.assign(copy.items[0] ?? {}, { sku: "b" })).toThrow(TypeError);
    expect(() => Object.assign(copy, { more: 1 })).toThrow(TypeError);
  });

  it("leaves out members that are undefined and keeps those that are null", () => {
    const copy = toPlainJson({ amount: 480, memo: undefined, note: null });
    expect(Object.keys(copy as object)).toEqual(["amount", "note"]);
  });

  it("takes a member called __proto__ for a member and nothing else", () => {
    const copy = toPlainJson(JSON.parse('{"__proto__":{"isAdmin":true},"a":1}'));
    expect(Object.keys(copy as object)).toEqual(["__proto__", "a"]);
    expect((copy as { isAdmin?: unknown }).isAdmin).toBeUndefined();
    expect(JSON.stringify(copy)).toBe('{"__proto__":{"isAdmin":true},"a":1}');
  });

  it("takes an object without a prototype", () => {
    const value = Object.assign(Object.create(null), { a: 1 }) as unknown;
    expect(toPlainJson(value)).toEqual({ a: 1 });
  });

  it("takes the outermost safe integers and the smallest fraction", () => {
    const numbers = [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, Number.MIN_VALUE, 1e-7];
    expect(toPlainJson(numbers)).toEqual(numbers);
  });

  it("is every value that JSON text can say, unchanged", () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ noUnicodeString: false, maxDepth: 6 }).filter(holdsNoUnsafeText),
        (value) => {
          expect(JSON.stringify(toPlainJson(value))).toBe(JSON.stringify(value));
        },
      ),
    );
  });
});

/** JSON text can say a NUL, a lone surrogate and an inexact integer; each is refused above. */
function holdsNoUnsafeText(value: unknown): boolean {
  const text = JSON.stringify(value);
  return !/\\u0000|\\ud[89a-f]/i.test(text) && everyNumber(value, isExact);
}

function everyNumber(value: unknown, test: (value: number) => boolean): boolean {
  if (typeof value === "number") return test(value);
  if (typeof value !== "object" || value === null) return true;
  return Object.values(value).every((member) => everyNumber(member, test));
}

function isExact(value: number): boolean {
  return !Number.isInteger(value) || Number.isSafeInteger(value);
}
