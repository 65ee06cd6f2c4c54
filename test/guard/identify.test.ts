/**
 * Which operation a call is can be asked without making it; and a compensation that could run twice,
 * or can't be given arguments, is refused when its tool is declared.
 */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type Tool, createGuard, defineTool } from "../../src/index.ts";
import { describeStores } from "../support/stores.ts";

const guarded = {
  name: "charge",
  kind: "non-idempotent",
  arguments: z.object({ order: z.string() }),
  intent: ({ args }: { args: { order: string } }) => `charge:${args.order}`,
  businessArguments: ["order"],
  contract: { timeoutMs: 1000, flightMs: 1000 },
  execute: () => "charged",
} as const;

const reading = defineTool({
  name: "read",
  kind: "read-only",
  arguments: z.object({}),
  execute: () => "read",
});

describeStores("identify", (suite) => {
  it("names the operation that a call would be, and records nothing", async () => {
    const { store } = await suite.open();
    const guard = await createGuard({ store });
    const charge: Tool = defineTool(guarded as never);
    const context = { tenant: "acme" };
    const identity = await guard.identify(charge, { order: "8812" }, context);
    expect(await store.read({ tenant: "acme", key: identity?.key ?? "" })).toBeUndefined();
    const { key } = await guard.run(charge, { order: "8812" }, context);
    expect(identity).toMatchObject({ tenant: "acme", key });
    expect((await store.read({ tenant: "acme", key: key ?? "" }))?.fingerprint).toBe(
      identity?.fingerprint,
    );
    const undo = { ...context, compensates: { key: key ?? "" } };
    const other = await guard.identify(charge, { order: "8812" }, undo);
    const second = await guard.identify(
      charge,
      { order: "8812" },
      {
        ...context,
        compensates: { key: key ?? "", effect: "ch_2" },
      },
    );
    expect(new Set([key, other?.key, second?.key]).size).toBe(3);
    expect(await guard.identify(reading, {}, context)).toBeNull();
  });
});

describe("a declared compensation", () => {
  const charge: Tool = defineTool(guarded as never);

  it.each([
    ["nothing", null],
    ["no tool", { arguments: () => ({}) }],
    ["a tool that goes straight through", { tool: reading, arguments: () => ({}) }],
    ["no arguments", { tool: charge }],
  ])("is refused with %s", (_, compensation) => {
    const declare = (): unknown => defineTool({ ...guarded, name: "other", compensation } as never);
    expect(declare).toThrow(expect.objectContaining({ code: "TOOL_INVALID" }));
  });

  it("is kept, and refused for a tool that goes straight through", () => {
    const compensation = { tool: charge, arguments: () => ({}) };
    const tool: Tool = defineTool({ ...guarded, name: "other", compensation } as never);
    expect(tool.guarded?.compensation).toBe(compensation);
    const pass = { name: "r", kind: "read-only", arguments: z.object({}), execute: () => 1 };
    expect(() => defineTool({ ...pass, compensation } as never)).toThrow(/compensation/);
  });
});
