/**
 * Identity: what is missing, blank or malformed is refused, for a hash over nothing gives strangers one
 * shared key (R2, R6).
 */
import { describe, expect, it } from "vitest";
import { isNeverTwiceError } from "../../src/base/errors.ts";
import {
  type Identity,
  type IdentityParts,
  checkedText,
  identify,
} from "../../src/intent/intent.ts";

const parts: IdentityParts = {
  tenant: "acme",
  operation: "refund",
  scope: "step",
  intent: "refund:order-8812:ticket-5521",
  workflowId: "w-1",
  stepId: "s-1",
};

/** Identity with parts that the types would refuse. */
function identifyWith(change: Record<string, unknown>): Identity {
  return identify({ ...parts, ...change });
}

/** Which part is refused, and why. */
function refusalOf(change: Record<string, unknown>): { part: string; reason: string } {
  const error = raisedBy(() => identifyWith(change));
  if (!isNeverTwiceError(error, "INTENT_INVALID")) throw error;
  const { part, reason } = error.details as { part: string; reason: string };
  expect(error.message).toContain(`${part} ${reason}`);
  expect(error.message).toContain("nothing was sent");
  return { part, reason };
}

function raisedBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return new Error("was accepted");
}

const textParts = ["tenant", "operation", "intent", "workflowId", "stepId", "supersedes"];

/** What no id may be, and the reason that is told. */
const malformed: readonly [name: string, value: unknown, reason: string][] = [
  ["null", null, "is null"],
  ["a number", 8812, "is number"],
  ["a boolean", true, "is boolean"],
  ["a function", () => "x", "is function"],
  ["empty", "", "is blank"],
  ["blank", "  ", "is blank"],
  ["a tab and a line feed", "\t\n", "is blank"],
  ["a no-break space", "\u00a0", "is blank"],
  ["led by white space", " a", "begins or ends with white space"],
  ["followed by white space", "a ", "begins or ends with white space"],
  ["followed by CRLF", "a\r\n", "begins or ends with white space"],
  ["followed by a no-break space", "a\u00a0", "begins or ends with white space"],
  ["followed by a byte order mark", "a\ufeff", "begins or ends with white space"],
  ["holding a NUL", "a\0b", "holds an invisible character"],
  ["holding a line feed", "a\nb", "holds an invisible character"],
  ["holding CRLF", "a\r\nb", "holds an invisible character"],
  ["holding a tab", "a\tb", "holds an invisible character"],
  ["holding a DEL", "a\u007fb", "holds an invisible character"],
  ["holding a C1 control", "a\u0085b", "holds an invisible character"],
  ["holding a zero width space", "a\u200bb", "holds an invisible character"],
  ["ending in a zero width space", "a\u200b", "holds an invisible character"],
  ["holding a zero width joiner", "a\u200db", "holds an invisible character"],
  ["holding a soft hyphen", "a\u00adb", "holds an invisible character"],
  ["holding a right-to-left override", "a\u202eb", "holds an invisible character"],
  ["holding a byte order mark", "a\ufeffb", "holds an invisible character"],
  ["holding a line separator", "a\u2028b", "holds an invisible character"],
  ["holding a paragraph separator", "a\u2029b", "holds an invisible character"],
  ["holding a tag character", "a\u{e0041}b", "holds an invisible character"],
  ["a lone high surrogate", "a\ud800", "holds a lone surrogate"],
  ["a lone low surrogate", "\udc00a", "holds a lone surrogate"],
];

describe("a part of the identity can't be", () => {
  it.each(malformed)("%s", (_name, value, reason) => {
    for (const part of textParts) {
      expect(refusalOf({ [part]: value })).toEqual({ part, reason });
    }
  });

  it("undefined, as when it is forgotten", () => {
    for (const part of textParts.filter((name) => name !== "supersedes")) {
      expect(refusalOf({ [part]: undefined })).toEqual({ part, reason: "is undefined" });
    }
  });

  it("an object or a list, except for the intent", () => {
    for (const part of textParts.filter((name) => name !== "intent")) {
      expect(refusalOf({ [part]: { id: "a" } })).toEqual({ part, reason: "is object" });
      expect(refusalOf({ [part]: ["a"] })).toEqual({ part, reason: "is object" });
    }
  });

  it("longer than an index takes, except for the intent, which is hashed", () => {
    const reason = "is longer than 512 bytes";
    for (const part of textParts.filter((name) => name !== "intent")) {
      expect(refusalOf({ [part]: "é".repeat(257) })).toEqual({ part, reason });
      expect(() => identifyWith({ [part]: "é".repeat(256) })).not.toThrow();
    }
    expect(() => identifyWith({ intent: "é".repeat(5000) })).not.toThrow();
  });

  it("checked apart from an identity any differently", () => {
    for (const [, value, reason] of malformed) {
      const error = raisedBy(() => checkedText(value, "supersedes.reason"));
      expect(error).toMatchObject({
        code: "INTENT_INVALID",
        details: { part: "supersedes.reason", reason },
      });
    }
    expect(checkedText("the amount was wrong", "supersedes.reason")).toBe("the amount was wrong");
  });
});

describe("a structured intent can't be", () => {
  it.each<[string, unknown, string, string]>([
    ["all null", { user: null, order: null }, "intent.user", "is null"],
    ["partly null", { user: "u", order: null }, "intent.order", "is null"],
    ["partly undefined", { user: "u", order: undefined }, "intent.order", "is undefined"],
    ["all undefined", { user: undefined }, "intent.user", "is undefined"],
    ["null further down", { user: "u", order: { id: null } }, "intent.order.id", "is null"],
    ["null in a list", { orders: ["1", null] }, "intent.orders[1]", "is null"],
    ["blank further down", { order: { id: " " } }, "intent.order.id", "is blank"],
    ["blank in a list", { orders: ["1", ""] }, "intent.orders[1]", "is blank"],
    ["empty", {}, "intent", "is empty"],
    ["empty further down", { order: {} }, "intent.order", "is empty"],
    ["an empty list further down", { orders: [] }, "intent.orders", "is empty"],
    ["an object in a list that is empty", { orders: [{}] }, "intent.orders[0]", "is empty"],
    ["named by a blank", { " ": "u" }, "intent", "is blank"],
    ["named invisibly", { "a\u200b": "u" }, "intent", "holds an invisible character"],
    ["a list", ["8812"], "intent", "is object"],
    ["an empty list", [], "intent", "is object"],
  ])("%s", (_name, intent, part, reason) => {
    expect(refusalOf({ intent })).toEqual({ part, reason });
  });

  it("undefined further down, where JSON would drop it and two intents would look like one", () => {
    expect(refusalOf({ intent: { order: { id: undefined, line: "1" } } }).part).toBe(
      "intent.order.id",
    );
    expect(refusalOf({ intent: { orders: [{ id: undefined, line: "1" }] } }).part).toBe(
      "intent.orders[0].id",
    );
  });

  it("anything that is no plain JSON, and the path is told", () => {
    const cyclic: Record<string, unknown> = { user: "u" };
    cyclic["self"] = cyclic;
    const unfit: readonly [unknown, string][] = [
      [new Date(0), "$ is an instance of Date"],
      [new Map([["user", "u"]]), "$ is an instance of Map"],
      [{ when: new Date(0) }, "$.when is an instance of Date"],
      [{ order: 10n }, "$.order is a value of type bigint"],
      [{ order: Number.NaN }, "$.order is NaN"],
      [{ order: 2 ** 53 }, "$.order is the integer 9007199254740992"],
      [{ "a\ud800": "u" }, "$ is text with a lone surrogate"],
      [cyclic, "$.self is a reference to one of its own parents"],
    ];
    for (const [intent, told] of unfit) {
      const { part, reason } = refusalOf({ intent });
      expect(part).toBe("intent");
      expect(reason).toContain(told);
    }
  });

  it("two names that are one after normalisation", () => {
    expect(refusalOf({ intent: { "caf\u00e9": "1", "cafe\u0301": "2" } }).part).toMatch(/^intent/);
  });
});

describe("an identity", () => {
  it("is a structure of version 1 with the parts and nothing else", () => {
    expect(identify({ ...parts, scope: "step", supersedes: "old-key" })).toEqual({
      v: 1,
      tenant: "acme",
      operation: "refund",
      scope: "step",
      intent: "refund:order-8812:ticket-5521",
      workflowId: "w-1",
      stepId: "s-1",
      supersedes: "old-key",
    });
    const more = { attempt: 3, runId: "r-7", toolCallId: "message_111_1", now: 1 };
    expect(identifyWith(more)).toEqual(identify(parts));
  });

  it("takes numbers and booleans inside a structured intent", () => {
    const intent = { order: 8812, line: 0, express: false, parts: ["a", 1], at: { shop: "s" } };
    expect(identifyWith({ intent }).intent).toEqual(intent);
  });

  it("is NFC-normalised in every text, and in the names of a structured intent", () => {
    const composed = "caf\u00e9";
    const decomposed = "cafe\u0301";
    for (const part of textParts) {
      expect(identifyWith({ [part]: decomposed })).toEqual(identifyWith({ [part]: composed }));
      expect(identifyWith({ [part]: decomposed })).toMatchObject({ [part]: composed });
    }
    expect(identifyWith({ intent: { [decomposed]: [{ shop: decomposed }] } })).toEqual(
      identifyWith({ intent: { [composed]: [{ shop: composed }] } }),
    );
  });

  it("keeps apart what NFC keeps apart: ligatures, full-width letters, upper and lower case", () => {
    const texts = ["fi", "\ufb01", "a", "\uff41", "A", "\u0430"];
    const intents = texts.map((intent) => JSON.stringify(identifyWith({ intent })));
    expect(new Set(intents).size).toBe(texts.length);
  });

  it("keeps inner white space and characters beyond the basic plane", () => {
    const intent = "refund order 8812 \u{1f600}";
    expect(identifyWith({ intent }).intent).toBe(intent);
  });

  it("takes a member called __proto__ for a member and nothing else", () => {
    const intent = JSON.parse('{"__proto__":{"order":"1"}}') as object;
    expect(JSON.stringify(identifyWith({ intent }).intent)).toBe('{"__proto__":{"order":"1"}}');
  });
});

describe("a scope", () => {
  const ids = { workflowId: "w-1", stepId: "s-1" };
  const others = { workflowId: "w-2", stepId: "s-2" };

  it("business ignores workflow and step, so that two runs and two agents collide", () => {
    const here = identifyWith({ scope: "business", ...ids });
    expect(identifyWith({ scope: "business", ...others })).toEqual(here);
    expect(identifyWith({ scope: "business", workflowId: undefined, stepId: undefined })).toEqual(
      here,
    );
    expect(Object.keys(here)).not.toContain("workflowId");
  });

  it("workflow needs the workflow's id and ignores the step's", () => {
    const here = identifyWith({ scope: "workflow", ...ids });
    expect(here).toMatchObject({ workflowId: "w-1" });
    expect(identifyWith({ scope: "workflow", ...ids, stepId: "s-2" })).toEqual(here);
    expect(identifyWith({ scope: "workflow", ...ids, stepId: undefined })).toEqual(here);
    expect(identifyWith({ scope: "workflow", ...others })).not.toEqual(here);
    expect(refusalOf({ scope: "workflow", workflowId: undefined }).part).toBe("workflowId");
  });

  it("step needs both ids and tells both apart", () => {
    const here = identifyWith({ scope: "step", ...ids });
    expect(identifyWith({ scope: "step", ...ids, stepId: "s-2" })).not.toEqual(here);
    expect(identifyWith({ scope: "step", ...ids, workflowId: "w-2" })).not.toEqual(here);
    expect(refusalOf({ scope: "step", ...ids, workflowId: undefined }).part).toBe("workflowId");
    expect(refusalOf({ scope: "step", ...ids, stepId: undefined }).part).toBe("stepId");
  });
});
