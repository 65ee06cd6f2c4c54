/**
 * What the types refuse: a tool that must not run twice and lacks a part that has no safe default.
 */
import { describe, expectTypeOf, it } from "vitest";
import { z } from "zod";
import {
  type Contract,
  type ExecuteCall,
  type Guard,
  type GuardedTool,
  type LookUpAnswer,
  type LookUpQuestion,
  type Outcome,
  type PassTool,
  type RunContext,
  type Tool,
  defineTool,
} from "../../src/index.ts";
import type { IntentSource } from "../../src/guard/tool.ts";

const schema = z.object({
  orderId: z.string(),
  amountMinor: z.int(),
  reason: z.string(),
  memo: z.string().optional(),
});
type RefundArguments = z.infer<typeof schema>;

type Unsure = Extract<LookUpAnswer<unknown>, { answer: "unsure" }>;

interface Refund {
  readonly id: string;
}

const read = {
  name: "read_order",
  kind: "read-only",
  arguments: schema,
  execute: (): Refund => ({ id: "o_1" }),
} as const;

const refund = {
  name: "issue_refund",
  kind: "non-idempotent",
  arguments: schema,
  intent: ({ args }: { args: RefundArguments }) => `refund:${args.orderId}`,
  businessArguments: ["orderId", "amountMinor"],
  contract: { timeoutMs: 1000, flightMs: 1000 },
  execute: async (): Promise<Refund> => ({ id: "re_1" }),
} as const;

describe("a tool that lacks nothing", () => {
  it("compiles, and carries the type of its result", () => {
    expectTypeOf(defineTool(refund)).toEqualTypeOf<Tool<Refund>>();
    expectTypeOf(defineTool(read)).toEqualTypeOf<Tool<Refund>>();
    expectTypeOf(defineTool({ ...read, kind: "convergent" })).toEqualTypeOf<Tool<Refund>>();
  });

  it("may have every optional part", () => {
    defineTool({
      ...refund,
      operation: "refund",
      scope: "workflow",
      lookAlike: { rule: "hold", windowMs: 1000, fields: ["orderId"] },
    });
  });
});

describe("a non-idempotent tool does not compile", () => {
  it("without an intent", () => {
    const { intent: _, ...rest } = refund;
    // @ts-expect-error: what does the business want done once?
    defineTool(rest);
  });

  it("without business arguments", () => {
    const { businessArguments: _, ...rest } = refund;
    // @ts-expect-error: what does the effect depend on?
    defineTool(rest);
    // @ts-expect-error: a list without a name declares nothing.
    defineTool({ ...refund, businessArguments: [] });
  });

  it("without a contract, or with one that leaves a bound open", () => {
    const { contract: _, ...rest } = refund;
    // @ts-expect-error: what does the downstream promise?
    defineTool(rest);
    // @ts-expect-error: how long can a request go on to take effect?
    defineTool({ ...refund, contract: { timeoutMs: 1000 } });
    // @ts-expect-error: how long may a call take?
    defineTool({ ...refund, contract: { flightMs: 1000 } });
  });

  it("without a schema, a name, a kind or a function to run", () => {
    const { arguments: _arguments, ...unchecked } = refund;
    // @ts-expect-error: arguments that nobody checks.
    defineTool(unchecked);
    const { name: _name, ...nameless } = refund;
    // @ts-expect-error: a tool without a name.
    defineTool(nameless);
    const { kind: _kind, ...kindless } = refund;
    // @ts-expect-error: there is no default kind.
    defineTool(kindless);
    const { execute: _execute, ...idle } = refund;
    // @ts-expect-error: nothing to run.
    defineTool(idle);
  });

  it("with a business argument that is no field of the schema", () => {
    // @ts-expect-error: `orderNumber` is no field.
    defineTool({ ...refund, businessArguments: ["orderId", "orderNumber"] });
    // @ts-expect-error: `orderNumber` is no field.
    defineTool({ ...refund, businessArguments: { orderNumber: true } });
  });

  it("with a normaliser for another type than the field's", () => {
    const upper = (text: string): string => text.toUpperCase();
    defineTool({ ...refund, businessArguments: { orderId: upper, amountMinor: true } });
    // @ts-expect-error: the amount is a number.
    defineTool({ ...refund, businessArguments: { orderId: upper, amountMinor: upper } });
    // @ts-expect-error: false declares nothing.
    defineTool({ ...refund, businessArguments: { orderId: false } });
  });

  it("with a look-alike rule over a field that is no business argument", () => {
    const rule = { rule: "warn", windowMs: 1000 } as const;
    // @ts-expect-error: `reason` is neither hashed nor sent.
    defineTool({ ...refund, lookAlike: { ...rule, fields: ["reason"] } });
    // @ts-expect-error: there is no merging of look-alikes.
    defineTool({ ...refund, lookAlike: { ...rule, rule: "merge" } });
  });

  it("with a mode, a scope, a key shape or a kind that doesn't exist", () => {
    const { contract } = refund;
    // @ts-expect-error: no such mode.
    defineTool({ ...refund, contract: { ...contract, mode: "retry" } });
    // @ts-expect-error: no such scope.
    defineTool({ ...refund, scope: "attempt" });
    // @ts-expect-error: no such shape.
    defineTool({ ...refund, contract: { ...contract, key: { shape: "md5" } } });
    // @ts-expect-error: no such kind.
    defineTool({ ...refund, kind: "idempotent" });
  });

  it("with an intent that is no text and no object", () => {
    // @ts-expect-error: a number is no intent.
    defineTool({ ...refund, intent: () => 8812 });
    // @ts-expect-error: an intent that may be missing.
    defineTool({ ...refund, intent: (): string | undefined => undefined });
  });
});

describe("a tool that goes straight through does not compile", () => {
  it("with a contract, an intent or business arguments", () => {
    const { contract, intent, businessArguments } = refund;
    // @ts-expect-error: there is no doubt to settle.
    defineTool({ ...read, contract });
    // @ts-expect-error: there is no key to derive.
    defineTool({ ...read, intent });
    // @ts-expect-error: there is no fingerprint to take.
    defineTool({ ...read, businessArguments });
    // @ts-expect-error: convergent tools neither.
    defineTool({ ...read, kind: "convergent", contract });
  });
});

describe("what a tool is given", () => {
  it("execute sees the declared fields and nothing that the model wrote freely", () => {
    defineTool({
      ...refund,
      execute: (args, call) => {
        expectTypeOf(args).toEqualTypeOf<
          Readonly<Pick<RefundArguments, "orderId" | "amountMinor">>
        >();
        expectTypeOf(call).toEqualTypeOf<ExecuteCall>();
        // @ts-expect-error: `reason` is not declared.
        const undeclared: unknown = args.reason;
        // @ts-expect-error: the arguments are those that were recorded.
        args.amountMinor = 1;
        return undeclared;
      },
    });
  });

  it("execute sees the fields that are declared with a normaliser", () => {
    defineTool({
      ...refund,
      businessArguments: { orderId: (id) => id.toUpperCase(), memo: true },
      execute: (args) => {
        expectTypeOf(args).toEqualTypeOf<Readonly<Pick<RefundArguments, "orderId" | "memo">>>();
        return null;
      },
    });
  });

  it("execute can't ask for a field that is not declared: it would get undefined", () => {
    const execute = async (args: RefundArguments): Promise<Refund> => ({ id: args.reason });
    // @ts-expect-error: `reason` is not declared.
    defineTool({ ...refund, execute });
  });

  it("a look-up can't ask for a field that is not declared", () => {
    const find = async (question: LookUpQuestion<RefundArguments>): Promise<Unsure> => ({
      answer: "unsure",
      reason: question.arguments.reason,
    });
    // @ts-expect-error: `reason` is not declared.
    defineTool({ ...refund, contract: { ...refund.contract, lookUp: { find } } });
  });

  it("an intent can't ask for a tool-call id: it would be made of undefined", () => {
    type Source = IntentSource<RefundArguments> & { readonly toolCallId: string };
    const intent = (source: Source): string => `refund:${source.toolCallId}`;
    // @ts-expect-error: a tool-call id is no part of an intent.
    defineTool({ ...refund, intent });
  });

  it("execute can't see which attempt it is, for requests must not differ", () => {
    expectTypeOf<keyof ExecuteCall>().toEqualTypeOf<
      "tenant" | "key" | "wireKey" | "signal" | "beforeWrite" | "sendWithinMs" | "notSent"
    >();
  });

  it("the intent is made of arguments and trusted ids, and of no tool-call id or run id", () => {
    type Source = Parameters<GuardedTool<RefundArguments, "orderId", Refund>["intent"]>[0];
    expectTypeOf<keyof Source>().toEqualTypeOf<"args" | "trusted">();
    expectTypeOf<Source["args"]>().toEqualTypeOf<RefundArguments>();
    expectTypeOf<keyof RunContext>().toEqualTypeOf<
      | "tenant"
      | "workflowId"
      | "stepId"
      | "trusted"
      | "signal"
      | "onInProgress"
      | "supersedes"
      | "compensates"
    >();
  });

  it("the look-up and the provider's id see the same arguments and result", () => {
    type Arguments = Readonly<Pick<RefundArguments, "orderId">>;
    type OwnContract = GuardedTool<RefundArguments, "orderId", Refund>["contract"];
    expectTypeOf<OwnContract>().toEqualTypeOf<Contract<Arguments, Refund>>();
    defineTool({
      ...refund,
      contract: {
        ...refund.contract,
        providerId: (result) => result.id,
        lookUp: {
          find: ({ arguments: args }) => ({
            answer: "found",
            effects: [{ status: "succeeded", result: { id: args.orderId } }],
          }),
        },
      },
    });
  });

  it("a tool that goes straight through sees all its arguments and no key", () => {
    defineTool({
      ...read,
      execute: (args, call) => {
        expectTypeOf(args).toEqualTypeOf<RefundArguments>();
        expectTypeOf<keyof typeof call>().toEqualTypeOf<"tenant" | "signal">();
        return null;
      },
    });
    expectTypeOf<PassTool<RefundArguments, Refund>["contract"]>().toEqualTypeOf<undefined>();
  });
});

describe("what a caller is given", () => {
  it("the result's type flows to the value of the answer, awaited", () => {
    const run = (guard: Guard): unknown => {
      const outcome = guard.run(defineTool(refund), {}, { tenant: "acme" });
      expectTypeOf(outcome).resolves.toEqualTypeOf<Outcome<Refund>>();
      expectTypeOf<Awaited<typeof outcome>["value"]>().toEqualTypeOf<Refund>();
      const page = guard.run(defineTool(read), {}, { tenant: "acme" });
      expectTypeOf<Awaited<typeof page>["value"]>().toEqualTypeOf<Refund>();
      // @ts-expect-error: a tenant is never optional.
      return [outcome, guard.run(defineTool(refund), {}, {})];
    };
    expectTypeOf(run).toBeFunction();
  });
});
