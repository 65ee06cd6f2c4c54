/**
 * A check that is set up wrongly says so, instead of saying anything of the tool; and the report is
 * read as it should be.
 */
import { expect, it } from "vitest";
import {
  type CheckOptions,
  ToolCheckError,
  checkTool,
  defineCheck,
  expectTool,
  formatReport,
} from "../../src/testing/index.ts";
import { expectFailures, resultOf, startSandbox } from "./check-tool-harness.ts";

it.each<[string, Partial<Record<keyof CheckOptions, unknown>>, RegExp]>([
  ["no example", { example: undefined }, /`example` must be a function/],
  ["no probe", { countEffects: 3 }, /`countEffects` must be a function/],
  ["a store that is none", { store: {} }, /`store` must be a function/],
  ["a store function that returns none", { store: () => ({}) }, /`store` must return a store/],
  ["a hook that is none", { faults: { advance: true } }, /`faults.advance` must be a function/],
  ["a fault that is not known", { faults: { dropReplies: () => {} } }, /no fault dropReplies/],
  ["an unknown check", { only: ["base-line"] }, /no check base-line; there are baseline, /],
  ["an unknown check to skip", { skip: ["x"] }, /there is no check x/],
  ["no time", { timeoutMs: 0 }, /`timeoutMs` must be above zero/],
  ["no time to settle", { settleMs: -1 }, /`settleMs` must be at least zero/],
  ["an example that is no call", { example: () => ({}) }, /must return `\{ args, context \}`/],
  [
    "an example that breaks",
    {
      example: () => {
        throw new Error("no fixtures");
      },
    },
    /`example` failed: no fixtures/,
  ],
  [
    "an argument that doesn't fit",
    { example: () => ({ args: { orderId: 8812 }, context: { tenant: "acme" } }) },
    /the example is not a valid call: .*\$\.orderId/,
  ],
  [
    "a context without a tenant",
    {
      example: () => ({
        args: { orderId: "1", ticketId: "2", amountMinor: 1, currency: "EUR", reason: "" },
        context: {},
      }),
    },
    /not a valid call: .*tenant/,
  ],
  [
    "a probe that breaks",
    { countEffects: () => Promise.reject(new Error("401")) },
    /`countEffects` failed: 401/,
  ],
  [
    "a probe that counts nothing",
    { countEffects: () => undefined },
    /must return a whole number, not undefined/,
  ],
])("%s is refused", async (_, change, message) => {
  const sandbox = await startSandbox();
  const checking = sandbox.check({}, change as Partial<CheckOptions>);
  await expect(checking).rejects.toMatchObject({
    code: "CONFIGURATION_INVALID",
    message: expect.stringMatching(message),
  });
  expect(sandbox.provider.arrivals()).toEqual([]);
});

it("what is no tool is refused", async () => {
  const sandbox = await startSandbox();
  for (const tool of [undefined, {}, { name: "refund", execute: () => {} }]) {
    await expect(checkTool(tool as never, sandbox.options)).rejects.toMatchObject({
      code: "CONFIGURATION_INVALID",
      message: expect.stringContaining("`tool` is not a tool"),
    });
  }
  await expect(checkTool(sandbox.tool(), undefined as never)).rejects.toMatchObject({
    code: "CONFIGURATION_INVALID",
  });
});

it.each<[string, Partial<CheckOptions>, RegExp]>([
  ["a probe that finds nothing", { countEffects: () => 0 }, /`countEffects` finds nothing/],
  [
    "an example that was used before",
    { countEffects: () => 2 },
    /hold 2 effects of the example before it was called/,
  ],
  [
    "an example that ignores its number",
    {
      example: () => ({
        args: { orderId: "1", ticketId: "2", amountMinor: 1, currency: "EUR", reason: "" },
        context: { tenant: "acme" },
      }),
    },
    /same intent for another `n` and `id`/,
  ],
])("%s: the baseline fails, and nothing else is judged", async (_, change, found) => {
  const sandbox = await startSandbox();
  const report = await sandbox.check({}, change);
  expectFailures(report, ["baseline"]);
  expect(resultOf(report, "baseline").found).toMatch(found);
  const others = report.checks.slice(1).map(({ verdict }) => verdict);
  expect(new Set(others)).toEqual(new Set(["not-checkable"]));
  expect(sandbox.provider.ledger()).toHaveLength(1);
});

it("a probe that counts everybody's effects, and a call that doesn't work", async () => {
  const sandbox = await startSandbox();
  const all = await sandbox.check({}, { countEffects: () => sandbox.provider.count() });
  expectFailures(all, ["baseline"]);
  expect(resultOf(all, "baseline").found).toContain("1 effects of an example that was never sent");

  sandbox.provider.faultAlways({ decline: true });
  const declined = await sandbox.check();
  expectFailures(declined, ["baseline"]);
  expect(resultOf(declined, "baseline").found).toContain("the call itself did not work");

  const { client } = sandbox;
  sandbox.provider.faultAlways(null);
  const twice = await sandbox.check({
    execute: async (args: never) => {
      await client.createEffect({ operation: "refund", body: args });
      return client.createEffect({ operation: "refund", body: args });
    },
  });
  expectFailures(twice, ["baseline"]);
  expect(resultOf(twice, "baseline")).toMatchObject({
    effects: 2,
    found: "one call made 2 effects",
  });
});

it("a probe or hook that breaks later, and a request that never ends, fail their own check alone", async () => {
  const sandbox = await startSandbox();
  const { client } = sandbox;
  const report = await sandbox.check(
    {},
    {
      only: ["reply-dropped", "refused"],
      faults: {
        ...sandbox.options.faults,
        dropReply: () => Promise.reject(new Error("no such route")),
      },
    },
  );
  expectFailures(report, ["reply-dropped"]);
  expect(resultOf(report, "reply-dropped").found).toContain("a fault failed: no such route");

  let counted = 0;
  const offline = await sandbox.check(
    {},
    {
      only: ["redelivered", "refused"],
      countEffects: async (example) => {
        counted += 1;
        if (counted === 4) throw new Error("502");
        return sandbox.options.countEffects(example);
      },
    },
  );
  expectFailures(offline, ["redelivered"]);
  expect(resultOf(offline, "redelivered").found).toContain("`countEffects` failed: 502");

  let requests = 0;
  const hung = await sandbox.check(
    {
      execute: (args: never, call: { wireKey: string; key: string }) =>
        client
          .createEffect({ operation: "refund", body: args, key: call.wireKey, tag: call.key })
          .then((effect) => ((requests += 1) > 1 ? new Promise(() => {}) : effect)),
    },
    { only: ["key-honoured", "look-up-absent"], timeoutMs: 6000 },
  );
  expectFailures(hung, ["key-honoured"]);
  expect(resultOf(hung, "key-honoured")).toMatchObject({
    found: "the check did not end within 6 s",
    advice: expect.stringContaining("must heed `call.signal`"),
  });
});

it("the table says what was found, when, and what to change; expectTool throws it", async () => {
  const sandbox = await startSandbox();
  const good = await sandbox.check({}, { only: ["redelivered"] });
  expectTool(good);
  expect(formatReport(good)).toBe(
    [
      "issue_refund: 2 of 2 checks passed, 0 failed.",
      "",
      "               check        effects  told",
      "pass           baseline     1        EXECUTED",
      "pass           redelivered  1        EXECUTED, REPLAYED",
    ].join("\n"),
  );
  const bad = await sandbox.check(
    { scope: "workflow" },
    { only: ["redelivered", "answers-500", "worker-killed"] },
  );
  const table = formatReport(bad);
  expect(table).toContain("issue_refund: 2 of 4 checks passed, 1 failed, 1 not checkable.");
  expect(table).toMatch(/^FAIL +redelivered +2 \(not 1\) +EXECUTED ×2$/m);
  expect(table).toMatch(/^ +when: the trigger is delivered again/m);
  expect(table).toMatch(/^ +found: 2 effects: the intent was doubled$/m);
  expect(table).toMatch(/^ +change: set `scope: "business"`/m);
  expect(table).toMatch(/OUTCOME_UNKNOWN ×5, NEEDS_REVIEW/);
  const thrown = await Promise.reject(new ToolCheckError(bad)).catch((error: unknown) => error);
  expect(() => expectTool(bad)).toThrow((thrown as Error).message);
  expect((thrown as ToolCheckError).report).toBe(bad);
});

it("a check in a file is what it is given", async () => {
  const sandbox = await startSandbox();
  const check = { tool: sandbox.tool(), ...sandbox.options };
  expect(defineCheck(check)).toBe(check);
});
