/**
 * Business arguments: picked, normalised and captured once. What is hashed is what is stored, sent and
 * sent again (R3, R17).
 */
import { describe, expect, it, vi } from "vitest";
import type { Json } from "../../src/base/plain-json.ts";
import {
  type BusinessFields,
  type Normaliser,
  captureArguments,
  differingFields,
  restoreArguments,
} from "../../src/intent/business-arguments.ts";

const withoutHash = textNormaliser((text) => text.replace(/^#/, ""));
const upperCase = textNormaliser((text) => text.toUpperCase());
const lowerCase = textNormaliser((text) => text.toLowerCase());

function fields(...entries: [string, Normaliser | true][]): BusinessFields {
  return new Map(entries);
}

describe("captured arguments", () => {
  it("hold the declared fields and no other", () => {
    const args = { orderId: "8812", reason: "broken", amountMinor: 1, toString: "x" };
    const captured = captureArguments(args, fields(["orderId", true], ["amountMinor", true]));
    expect(captured.value).toEqual({ orderId: "8812", amountMinor: 1 });
    expect(captured.text).toBe('{"amountMinor":1,"orderId":"8812"}');
  });

  it("lack an optional field that is missing or undefined, and keep one that is null", () => {
    const declared = fields(["amount", true], ["memo", upperCase]);
    expect(captureArguments({ amount: 480 }, declared).text).toBe('{"amount":480}');
    expect(captureArguments({ amount: 480, memo: undefined }, declared).text).toBe(
      '{"amount":480}',
    );
    expect(captureArguments({ amount: 480, memo: null }, fields(["memo", true])).text).toBe(
      '{"memo":null}',
    );
  });

  it("take no field from the prototype, whatever it is called", () => {
    const declared = fields(["constructor", true], ["toString", true], ["amount", true]);
    expect(captureArguments({ amount: 1 }, declared).text).toBe('{"amount":1}');
    const inherited = Object.create({ amount: 1 }) as Record<string, unknown>;
    expect(captureArguments(inherited, declared).text).toBe("{}");
  });

  it("hold a declared field that is called __proto__, for no field may get lost", () => {
    for (const text of ['{"__proto__":"a"}', '{"__proto__":{"isAdmin":true}}']) {
      const args = JSON.parse(text) as Record<string, unknown>;
      expect(captureArguments(args, fields(["__proto__", true])).text).toBe(text);
    }
  });

  it("are a copy, so that a caller that changes its own object changes nothing", () => {
    const args = { items: [{ sku: "a" }] };
    const captured = captureArguments(args, fields(["items", true]));
    args.items.push({ sku: "b" });
    expect(captured.value).toEqual({ items: [{ sku: "a" }] });
    expect(captured.text).toBe('{"items":[{"sku":"a"}]}');
  });

  it("are frozen at every depth", () => {
    const { value } = captureArguments({ items: [{ sku: "a" }] }, fields(["items", true]));
    const items = value["items"] as { sku: string }[];
    expect(() => Object.assign(value, { more: 1 })).toThrow(TypeError);
    expect(() => items.push({ sku: "b" })).toThrow(TypeError);
    expect(() => Object.assign(items[0] ?? {}, { sku: "b" })).toThrow(TypeError);
  });

  it("refuse what is not plain JSON and name the field", () => {
    const declared = fields(["when", true], ["amount", true]);
    for (const value of [new Date(0), new Set([1]), 10n, Number.NaN, "\ud800"]) {
      expect(() => captureArguments({ amount: 1, when: value }, declared)).toThrow("$.when is");
    }
    expect(() => captureArguments({ when: { list: [undefined] } }, declared)).toThrow(
      "$.when.list[0] is",
    );
  });

  it("don't look at the fields that are not declared", () => {
    const args = { amount: 1, when: new Date(0) };
    expect(captureArguments(args, fields(["amount", true])).text).toBe('{"amount":1}');
  });
});

describe("a normaliser", () => {
  const declared = fields(["orderId", withoutHash], ["currency", upperCase], ["wallet", lowerCase]);

  it("brings spellings of one id to one, in what is hashed and in what is sent", () => {
    const spellings = [
      { orderId: "8812", currency: "EUR", wallet: "0xabc" },
      { orderId: "#8812", currency: "eur", wallet: "0xABC" },
      { orderId: "#8812", currency: "Eur", wallet: "0XaBc" },
    ];
    const captured = spellings.map((args) => captureArguments(args, declared));
    expect(new Set(captured.map(({ text }) => text)).size).toBe(1);
    expect(captured[2]?.value).toEqual({ orderId: "8812", currency: "EUR", wallet: "0xabc" });
  });

  it("is not called for a field that is missing", () => {
    const spy = vi.fn<Normaliser>((value) => value);
    captureArguments({ other: 1, memo: undefined }, fields(["amount", spy], ["memo", spy]));
    expect(spy).not.toHaveBeenCalled();
  });

  it("sees the value as given, also null", () => {
    const spy = vi.fn<Normaliser>((value) => value ?? "none");
    const { value } = captureArguments({ memo: null }, fields(["memo", spy]));
    expect(spy.mock.calls).toEqual([[null]]);
    expect(value).toEqual({ memo: "none" });
  });

  it("that returns what is no plain JSON is refused, and the field is named", () => {
    const broken = (() => new Date(0)) as unknown as Normaliser;
    expect(() => captureArguments({ when: "x" }, fields(["when", broken]))).toThrow("$.when is");
  });

  it("that loses the value is refused: else two different payments would look like one", () => {
    const known = new Map<Json, Json>([["eur", "EUR"]]);
    const lookedUp = ((value: Json) => known.get(value)) as Normaliser;
    const declaredCurrency = fields(["currency", lookedUp]);
    expect(captureArguments({ currency: "eur" }, declaredCurrency).value).toEqual({
      currency: "EUR",
    });
    expect(() => captureArguments({ currency: "usd" }, declaredCurrency)).toThrow("$.currency is");
  });

  it("that throws is not caught: nothing is captured", () => {
    const broken: Normaliser = () => {
      throw new RangeError("no such currency");
    };
    expect(() => captureArguments({ currency: "x" }, fields(["currency", broken]))).toThrow(
      RangeError,
    );
  });
});

describe("restored arguments", () => {
  it("are the captured ones, byte for byte and frozen", () => {
    const args = { items: [{ sku: "a" }], amount: 0.1, text: "caf\u00e9 \u{1f600}", none: null };
    const declared = fields(["items", true], ["amount", true], ["text", true], ["none", true]);
    const captured = captureArguments(args, declared);
    const restored = restoreArguments(captured.text);
    expect(restored).toEqual(captured);
    expect(JSON.stringify(restored.value)).toBe(captured.text);
    expect(Object.isFrozen((restored.value["items"] as Json[])[0])).toBe(true);
  });
});

describe("differing fields", () => {
  it("are named in order, whether changed, missing or new", () => {
    const stored = { orderId: "8812", amountMinor: 48_000, currency: "EUR", memo: null };
    const given = { orderId: "8812", amountMinor: 48_001, note: 1, memo: "" };
    expect(differingFields(stored, given)).toEqual(["amountMinor", "currency", "memo", "note"]);
    expect(differingFields(given, stored)).toEqual(["amountMinor", "currency", "memo", "note"]);
  });

  it("are none for equal arguments, whatever the order of members", () => {
    const stored = { address: { street: "a", number: 1 }, amount: 480 };
    const given = { amount: 480, address: { number: 1, street: "a" } };
    expect(differingFields(stored, given)).toEqual([]);
    expect(differingFields({ items: [1, 2] }, { items: [2, 1] })).toEqual(["items"]);
  });

  it("tell an absent field from one that the prototype has", () => {
    expect(differingFields({ toString: "x" }, {})).toEqual(["toString"]);
    expect(differingFields({}, { constructor: "x" })).toEqual(["constructor"]);
  });
});

/** For a field of text; leaves anything else as it is. */
function textNormaliser(normalise: (text: string) => string): Normaliser {
  return (value) => (typeof value === "string" ? normalise(value) : value);
}
