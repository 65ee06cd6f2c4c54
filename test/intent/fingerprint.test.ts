/**
 * The fingerprint tells a repeated call from a changed one: every declared field counts, no other does.
 */
import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson } from "../../src/base/canonical-json.ts";
import type { Json, JsonObject } from "../../src/base/plain-json.ts";
import { type BusinessFields, captureArguments } from "../../src/intent/business-arguments.ts";
import { fingerprintAlgorithm, fingerprintOf } from "../../src/intent/fingerprint.ts";

const refund: JsonObject = { orderId: "8812", amountMinor: 48_000, currency: "EUR" };

const name = fc.constantFrom("orderId", "amountMinor", "currency", "items", "address");
const leaf = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.integer(),
  fc.string().filter((text) => text.isWellFormed() && !text.includes("\0")),
);
const { json } = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { depthSize: "small" },
    leaf,
    fc.array(tie("json"), { maxLength: 3 }),
    fc.dictionary(name, tie("json"), { maxKeys: 3, noNullPrototype: true }),
  ),
}));
const argumentsOfAnyKind = fc.dictionary(name, json, { noNullPrototype: true });

function fingerprint(args: JsonObject): string {
  return fingerprintOf({ tool: "issue_refund", arguments: args });
}

function turnedAround(value: Json): Json {
  if (Array.isArray(value)) return value.map((member: Json) => turnedAround(member));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value as JsonObject).map(
    ([key, member]) => [key, turnedAround(member)] as const,
  );
  return Object.fromEntries(entries.toReversed());
}

describe("a fingerprint", () => {
  it("is the algorithm's tag and SHA-256 over canonical JSON of tool and arguments", () => {
    const text =
      '{"arguments":{"amountMinor":48000,"currency":"EUR","orderId":"8812"},"tool":"issue_refund"}';
    const hash = createHash("sha256").update(text).digest("hex");
    expect(fingerprint(refund)).toBe(`jcs-sha256/1:${hash}`);
    expect(fingerprintAlgorithm).toBe("jcs-sha256/1");
  });

  it("does not depend on the order of members, at any depth", () => {
    fc.assert(
      fc.property(argumentsOfAnyKind, (args) => {
        expect(fingerprint(turnedAround(args) as JsonObject)).toBe(fingerprint(args));
      }),
    );
  });

  it("depends on the order of a list, at any depth", () => {
    fc.assert(
      fc.property(fc.array(json, { minLength: 2, maxLength: 4 }), (items) => {
        const other = items.toReversed();
        const same = canonicalJson(items) === canonicalJson(other);
        const first = fingerprint({ at: [{ items }] });
        expect(first === fingerprint({ at: [{ items: other }] })).toBe(same);
      }),
    );
  });

  it("differs for every two different arguments", () => {
    fc.assert(
      fc.property(argumentsOfAnyKind, argumentsOfAnyKind, (a, b) => {
        expect(fingerprint(a) === fingerprint(b)).toBe(canonicalJson(a) === canonicalJson(b));
      }),
    );
  });

  it("tells a number from its text, null from absent, and an empty object from both", () => {
    const values: readonly JsonObject[] = [
      {},
      { memo: null },
      { memo: {} },
      { memo: [] },
      { memo: "" },
      { memo: 0 },
      { memo: "0" },
      { memo: false },
      { memo: "null" },
    ];
    expect(new Set(values.map(fingerprint)).size).toBe(values.length);
  });

  it("depends on the tool's name, the account and the endpoint, each for itself", () => {
    const variants = [
      { tool: "issue_refund" },
      { tool: "issue_refund_v2" },
      { tool: "issue_refund", account: "acct_1" },
      { tool: "issue_refund", account: "acct_2" },
      { tool: "issue_refund", endpoint: "acct_1" },
      { tool: "issue_refund", account: "acct_1", endpoint: "/v2/refunds" },
      { tool: "issue_refund", endpoint: "/v2/refunds" },
    ];
    const prints = variants.map((parts) => fingerprintOf({ ...parts, arguments: refund }));
    expect(new Set(prints).size).toBe(variants.length);
  });

  it("can't be forged by arguments that are called like the other parts", () => {
    const forged = { ...refund, account: "acct_1", tool: "other" };
    expect(fingerprint(forged)).not.toBe(
      fingerprintOf({ tool: "other", account: "acct_1", arguments: refund }),
    );
  });

  it("takes an undefined account or endpoint for none", () => {
    const parts = { tool: "issue_refund", arguments: refund };
    expect(fingerprintOf({ ...parts, account: undefined, endpoint: undefined })).toBe(
      fingerprintOf(parts),
    );
  });
});

describe("a fingerprint of captured arguments", () => {
  const declared: BusinessFields = new Map([
    ["orderId", true],
    ["amountMinor", true],
    ["address", true],
  ]);
  const undeclaredNames = ["reason", "note", "sdk", "createdAt", "toolCallId"];
  const undeclared = fc.dictionary(fc.constantFrom(...undeclaredNames), json, {
    noNullPrototype: true,
  });
  const declaredArguments = fc.record({ orderId: json, amountMinor: json, address: json });

  const captured = (args: Record<string, unknown>): string =>
    fingerprint(captureArguments(args, declared).value);

  it("never depends on a field that is not declared", () => {
    fc.assert(
      fc.property(declaredArguments, undeclared, undeclared, (args, here, there) => {
        expect(captured({ ...here, ...args })).toBe(captured({ ...args, ...there }));
      }),
    );
  });

  it("depends on every declared field", () => {
    fc.assert(
      fc.property(declaredArguments, json, (args, other) => {
        for (const field of ["orderId", "amountMinor", "address"] as const) {
          const same = canonicalJson(args[field]) === canonicalJson(other);
          expect(captured({ ...args, [field]: other }) === captured(args)).toBe(same);
          const { [field]: _left, ...rest } = args;
          expect(captured(rest)).not.toBe(captured(args));
        }
      }),
    );
  });
});
