/**
 * Registration refuses for plain JavaScript what the types refuse, and names the part. What a contract
 * must hold is in define-tool-contract.test.ts.
 */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { isNeverTwiceError } from "../../src/base/errors.ts";
import { defineTool } from "../../src/guard/define-tool.ts";
import type { GuardedParts, Tool } from "../../src/guard/tool.ts";

const refund = {
  name: "issue_refund",
  kind: "non-idempotent",
  arguments: z.object({ orderId: z.string(), amountMinor: z.int(), reason: z.string() }),
  intent: () => "refund:1",
  businessArguments: ["orderId", "amountMinor"],
  contract: { timeoutMs: 30_000, flightMs: 60_000 },
  execute: () => ({ id: "re_1" }),
};
const readOrder = {
  name: "read_order",
  kind: "read-only",
  arguments: z.object({ orderId: z.string() }),
  execute: () => null,
};

type Parts = Record<string, unknown>;

/** As plain JavaScript calls it. */
function define(declaration: unknown): Tool {
  return defineTool(declaration as Parameters<typeof defineTool>[0]);
}

function guardedOf(change: Parts = {}): GuardedParts {
  const { guarded } = define({ ...refund, ...change });
  if (guarded === null) throw new Error("went straight through");
  return guarded;
}

/** The text with which registration is refused. */
function refusalOf(register: () => unknown): string {
  const error = raisedBy(register);
  if (!isNeverTwiceError(error, "TOOL_INVALID")) throw error;
  expect(error.message).toMatch(/^The tool \S+ can't be registered: .*\.$/);
  expect(error.message).toContain(String(error.details["tool"]));
  return error.message;
}

function raisedBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return new Error("was registered");
}

function refusal(change: Parts): string {
  return refusalOf(() => define({ ...refund, ...change }));
}

describe("a tool of any kind needs", () => {
  it.each([undefined, "", "  ", null, 8812])("a name, not %s", (name) => {
    const message = refusal({ name });
    expect(message).toContain("The tool (unnamed)");
    expect(message).toContain("`name` is missing");
  });

  it.each([undefined, null, {}, { "~standard": {} }, { parse: () => 1 }, z])(
    "a Standard Schema validator, not %s",
    (schema) => {
      for (const tool of [refund, readOrder]) {
        expect(refusalOf(() => define({ ...tool, arguments: schema }))).toContain("`arguments`");
      }
    },
  );

  it("a validator, which may be a function as well as an object", () => {
    const callable = Object.assign(() => 1, { "~standard": { validate: () => ({ value: {} }) } });
    expect(define({ ...readOrder, arguments: callable }).schema).toBe(callable);
  });

  it.each([undefined, null, {}, "run"])("a function to execute, not %s", (execute) => {
    expect(refusal({ execute })).toContain("`execute` is missing");
    expect(refusalOf(() => define({ ...readOrder, execute }))).toContain("`execute` is missing");
  });

  it.each([undefined, null, "", "idempotent", "Read-Only", true])("a kind, not %s", (kind) => {
    expect(refusal({ kind })).toContain("`kind` must be");
  });

  it.each([undefined, null, 1, "issue_refund"])("a declaration at all, not %s", (declaration) => {
    expect(refusalOf(() => define(declaration))).toContain("`name` is missing");
  });
});

describe("a tool that goes straight through", () => {
  it.each(["read-only", "convergent"] as const)("is %s, registers and is frozen", (kind) => {
    const tool = define({ ...readOrder, kind });
    const { name, arguments: schema, execute } = readOrder;
    expect(tool).toEqual({ name, kind, schema, execute, guarded: null });
    expect(Object.isFrozen(tool)).toBe(true);
  });

  it.each(["intent", "businessArguments", "contract", "lookAlike", "operation", "scope"])(
    "has no %s, for nothing would heed it",
    (part) => {
      const all: Parts = {
        ...refund,
        operation: "refund",
        scope: "business",
        lookAlike: { rule: "hold", windowMs: 1000 },
      };
      for (const kind of ["read-only", "convergent"]) {
        expect(refusalOf(() => define({ ...readOrder, kind, [part]: all[part] }))).toContain(
          `\`${part}\` belongs to a non-idempotent tool only`,
        );
      }
    },
  );
});

describe("a non-idempotent tool needs", () => {
  it.each([undefined, null, "refund:1", {}])("an intent, not %s", (intent) => {
    expect(refusal({ intent })).toContain("`intent` is missing");
  });

  it.each([undefined, null, "orderId", true, [], {}])(
    "declared business arguments, not %s",
    (businessArguments) => {
      expect(refusal({ businessArguments })).toContain("`businessArguments` is missing");
    },
  );

  it.each<[unknown, string]>([
    [[""], "no field's name"],
    [["orderId", 1], "no field's name"],
    [["orderId", null], "no field's name"],
    [{ "": true }, "no field's name"],
    [{ orderId: false }, "`businessArguments.orderId` must be true or a function"],
    [{ orderId: undefined }, "`businessArguments.orderId` must be true or a function"],
    [{ orderId: "trim" }, "`businessArguments.orderId` must be true or a function"],
  ])("business arguments that are fields, not %o", (businessArguments, reason) => {
    expect(refusal({ businessArguments })).toContain(reason);
  });

  it.each([undefined, null, "stripe", 1])("a contract, not %s", (contract) => {
    expect(refusal({ contract })).toContain("`contract` is missing");
  });

  it.each(["", "attempt", "Business", 1])("a scope that exists, not %o", (scope) => {
    expect(refusal({ scope })).toContain("`scope` must be");
  });

  it.each(["", " ", null, 1])("an operation with a name where it is given, not %o", (operation) => {
    expect(refusal({ operation })).toContain("`operation` is missing");
  });
});

describe("a registered tool", () => {
  it("is frozen, and has its name for operation and the business for scope", () => {
    const tool = define(refund);
    expect(tool).toMatchObject({
      name: "issue_refund",
      kind: "non-idempotent",
      guarded: { operation: "issue_refund", scope: "business", lookAlike: null },
    });
    expect(Object.isFrozen(tool)).toBe(true);
    expect(Object.isFrozen(tool.guarded)).toBe(true);
  });

  it("keeps what it is given", () => {
    const trim = (id: string): string => id.trim();
    const lookAlike = { rule: "hold", windowMs: 1, fields: ["orderId"] };
    const guarded = guardedOf({
      operation: "refund",
      scope: "step",
      businessArguments: { orderId: trim, amountMinor: true },
      lookAlike,
    });
    expect(guarded).toMatchObject({ operation: "refund", scope: "step", lookAlike });
    expect([...guarded.fields]).toEqual([
      ["orderId", trim],
      ["amountMinor", true],
    ]);
    expect([...guardedOf().fields]).toEqual([
      ["orderId", true],
      ["amountMinor", true],
    ]);
    const { intent, contract } = refund;
    expect(guarded).toMatchObject({ intent, contract });
  });
});

it("a rule that holds calls is a function", () => {
  expect(refusal({ hold: "above 20000" })).toContain("`hold` must be a function");
  expect(guardedOf({ hold: () => "always" }).hold?.({})).toBe("always");
  expect(guardedOf({}).hold).toBeNull();
});

describe("a look-alike rule", () => {
  const rule = { rule: "warn", windowMs: 1000 };

  it.each([undefined, null, "merge", "Hold", true])("warns or holds, and is not %s", (kind) => {
    expect(refusal({ lookAlike: { ...rule, rule: kind } })).toContain("`lookAlike.rule` must be");
  });

  it.each([undefined, null, 0, -1, Number.NaN, Infinity, "1000"])(
    "has a window above zero, not %s",
    (windowMs) => {
      expect(refusal({ lookAlike: { ...rule, windowMs } })).toContain("`lookAlike.windowMs` must");
    },
  );

  it("names business arguments only: no other field is recorded", () => {
    for (const field of ["reason", "orderNumber", ""]) {
      const message = refusal({ lookAlike: { ...rule, fields: ["orderId", field] } });
      expect(message).toContain(`\`lookAlike.fields\` names ${field}`);
    }
  });

  it("names a field at least, or else every two operations would look alike", () => {
    expect(refusal({ lookAlike: { ...rule, fields: [] } })).toContain("`lookAlike.fields`");
  });

  it.each([null, "warn", "hold", true, 1])("is an object, not %s", (lookAlike) => {
    expect(refusal({ lookAlike })).toContain("`lookAlike");
  });

  it.each(["orderId", { orderId: true }, 1])("lists its fields, not %o", (fields) => {
    expect(refusal({ lookAlike: { ...rule, fields } })).toContain("`lookAlike.fields`");
  });

  it("registers with some, with all or without fields", () => {
    for (const fields of [["orderId"], ["orderId", "amountMinor"], undefined]) {
      const lookAlike = { ...rule, rule: "hold", ...(fields === undefined ? {} : { fields }) };
      expect(guardedOf({ lookAlike }).lookAlike).toEqual(lookAlike);
    }
  });
});

describe("names", () => {
  it.each(["refund\u0000", " refund", "re\nfund", "\ud800"])(
    "that can't be part of a key are refused: %j",
    (name) => {
      expect(() => define({ ...refund, name })).toThrow("can't be registered");
    },
  );

  it.each(["account", "endpoint"])("of an %s are text that isn't blank", (part) => {
    for (const value of ["", " ", 1, null]) {
      const contract = { ...refund.contract, [part]: value };
      expect(refusal({ contract })).toContain(`\`contract.${part}\` must be text`);
    }
  });
});
