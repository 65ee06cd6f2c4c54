/**
 * Two different identities never share a key, whatever the parts hold: a key hashes a structure and
 * never a joined text (R1).
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson } from "../../src/base/canonical-json.ts";
import {
  type Identity,
  type IdentityParts,
  type Scope,
  identify,
} from "../../src/intent/intent.ts";
import { deriveKey } from "../../src/intent/key.ts";

/** What people join with, and what ends a text in C or in JSON. NUL is refused, see below. */
const alphabet = [":", "|", ",", '"', "\\", "a"];

const id = fc.string({ unit: fc.constantFrom(...alphabet), minLength: 1, maxLength: 4 });

const identityParts: fc.Arbitrary<IdentityParts> = fc.record({
  tenant: id,
  operation: id,
  scope: fc.constantFrom<Scope>("business", "workflow", "step"),
  intent: fc.oneof(id, fc.dictionary(id, id, { minKeys: 1, maxKeys: 2, noNullPrototype: true })),
  workflowId: id,
  stepId: id,
});

function keyOf(parts: IdentityParts): string {
  return deriveKey(identify(parts)).key;
}

/** The parts that count in this scope, compared as structures. */
function sameIdentity(a: Identity, b: Identity): boolean {
  return canonicalJson(a) === canonicalJson(b);
}

/** Cuts one text into five parts at four places, in every way that leaves none empty. */
function cut(text: string, at: readonly number[]): IdentityParts {
  const places = [0, ...at.toSorted((a, b) => a - b), text.length];
  const [tenant = "", operation = "", intent = "", workflowId = "", stepId = ""] = places
    .slice(1)
    .map((place, index) => text.slice(places[index], place));
  return { tenant, operation, scope: "step", intent, workflowId, stepId };
}

describe("keys", () => {
  it("are equal for equal identities and differ for different ones", () => {
    fc.assert(
      fc.property(identityParts, identityParts, (a, b) => {
        expect(keyOf({ ...a })).toBe(keyOf(a));
        expect(keyOf(a) === keyOf(b)).toBe(sameIdentity(identify(a), identify(b)));
      }),
      { numRuns: 2000 },
    );
  });

  it("change with every part that counts, and with no other", () => {
    fc.assert(
      fc.property(identityParts, id, (parts, more) => {
        const counting: Record<Scope, readonly string[]> = {
          business: [],
          workflow: ["workflowId"],
          step: ["workflowId", "stepId"],
        };
        for (const part of ["tenant", "operation", "workflowId", "stepId"] as const) {
          const changed = { ...parts, [part]: `${parts[part]}${more}` };
          const counts =
            part === "tenant" || part === "operation" || counting[parts.scope].includes(part);
          expect(keyOf(changed) === keyOf(parts)).toBe(!counts);
        }
        expect(keyOf({ ...parts, supersedes: more })).not.toBe(keyOf(parts));
      }),
    );
  });

  it("differ when one joined text is cut in two different ways", () => {
    const text = fc.string({ unit: fc.constantFrom(...alphabet), minLength: 8, maxLength: 14 });
    const places = fc.uniqueArray(fc.integer({ min: 1, max: 7 }), { minLength: 4, maxLength: 4 });
    fc.assert(
      fc.property(text, places, places, (joined, first, second) => {
        const same = first.every((place) => second.includes(place));
        expect(keyOf(cut(joined, first)) === keyOf(cut(joined, second))).toBe(same);
      }),
      { numRuns: 2000 },
    );
  });

  it("differ for all 27,000 triples of one or two of these characters", () => {
    const characters = alphabet.slice(0, 5);
    const pairs = characters.flatMap((first) => characters.map((second) => first + second));
    const texts = [...characters, ...pairs];
    const keys = new Set<string>();
    for (const tenant of texts) {
      for (const intent of texts) {
        for (const workflowId of texts) {
          keys.add(keyOf({ tenant, operation: "o", scope: "workflow", intent, workflowId }));
        }
      }
    }
    expect(texts).toHaveLength(30);
    expect(keys.size).toBe(27_000);
  });

  it("differ for the collisions that joined keys were reported for", () => {
    const operation = "refund";
    const scope = "workflow";
    const pairs: readonly [IdentityParts, IdentityParts][] = [":", "|", ",", '"', '","'].map(
      (joint) => [
        { operation, scope, tenant: "a", intent: "i", workflowId: `b${joint}c` },
        { operation, scope, tenant: `a${joint}b`, intent: "i", workflowId: "c" },
      ],
    );
    for (const [first, second] of pairs) expect(keyOf(first)).not.toBe(keyOf(second));
    const text: IdentityParts = {
      operation,
      scope: "business",
      tenant: "a",
      intent: '{"order":"1"}',
    };
    expect(keyOf(text)).not.toBe(keyOf({ ...text, intent: { order: "1" } }));
    expect(keyOf({ ...text, intent: { order: "1" } })).not.toBe(
      keyOf({ ...text, intent: { order: 1 } }),
    );
  });

  it("can't be made ambiguous with NUL, which no part may hold", () => {
    fc.assert(
      fc.property(identityParts, id, id, (parts, before, after) => {
        for (const part of ["tenant", "operation", "intent"] as const) {
          expect(() => identify({ ...parts, [part]: `${before}\0${after}` })).toThrow(part);
        }
      }),
      { numRuns: 50 },
    );
  });

  it("don't depend on the order of members in a structured intent, but on that of a list", () => {
    const base = { tenant: "a", operation: "o", scope: "business" } as const;
    expect(keyOf({ ...base, intent: { order: "1", at: { b: "2", a: "3" } } })).toBe(
      keyOf({ ...base, intent: { at: { a: "3", b: "2" }, order: "1" } }),
    );
    expect(keyOf({ ...base, intent: { orders: ["1", "2"] } })).not.toBe(
      keyOf({ ...base, intent: { orders: ["2", "1"] } }),
    );
  });
});
