/**
 * The tool check on tools that are right: with every hook, with none, on both stores, with and
 * without a clock, keyed and not. And on tools that go straight through.
 */
import { expect, it } from "vitest";
import { z } from "zod";
import { defineTool, hours } from "../../src/index.ts";
import {
  type CheckProgress,
  type Verdict,
  checkNames,
  checkTool,
  formatReport,
} from "../../src/testing/index.ts";
import { TestClock, describeStores } from "../support/stores.ts";
import {
  type Sandbox,
  type ToolChange,
  expectFailures,
  resultOf,
  startSandbox,
} from "./check-tool-harness.ts";

const resendable = { shape: "uuid", retentionMs: hours(24), atomic: true } as const;

/** Spans that can really be waited for. */
const quick = { timeoutMs: 4000, flightMs: 100, sendWithinMs: 4000, marginMs: 50, leaseMs: 5100 };

function namesWith(report: Awaited<ReturnType<typeof checkTool>>, verdict: Verdict): string[] {
  return report.checks.filter((check) => check.verdict === verdict).map(({ name }) => name);
}

describeStores("a good keyed tool passes every check", (suite) => {
  it("with the store's clock in hand", async () => {
    const sandbox = await startSandbox();
    const opened = await suite.open();
    const progress: CheckProgress[] = [];
    const report = await sandbox.check(
      {},
      {
        store: (clock) => opened.again({ clock: Object.assign(new TestClock(), { read: clock }) }),
        onProgress: (told) => progress.push(told),
      },
    );

    expectFailures(report, []);
    expect(report.checks.map(({ name }) => name)).toEqual(checkNames);
    expect(namesWith(report, "not-checkable"), formatReport(report)).toEqual(["worker-killed"]);
    expect(namesWith(report, "advice")).toEqual([]);
    expect(progress).toHaveLength(checkNames.length);
    expect(progress[0]).toEqual({ name: "baseline", position: 1, total: checkNames.length });
    expect(resultOf(report, "payload-modified")).toMatchObject({
      effects: 1,
      expectedEffects: [1, 1],
      told: ["EXECUTED", "PAYLOAD_MISMATCH"],
    });
    expect(resultOf(report, "two-agents").told).toEqual(["EXECUTED", "IN_PROGRESS", "REPLAYED"]);
    expect(resultOf(report, "refused")).toMatchObject({ effects: 0, expectedEffects: [0, 0] });
    expect(resultOf(report, "key-atomic").found).toContain("claimed and measured");
  });

  it("without it leases are waited for, and what takes too long is said to be not checkable", async () => {
    const sandbox = await startSandbox();
    const opened = await suite.open();
    const check = (contract: ToolChange["contract"], timeoutMs: number) =>
      sandbox.check(
        { contract: contract ?? {} },
        {
          store: () => opened.again(),
          only: ["worker-dies", "worker-dies-early", "key-expired"],
          timeoutMs,
        },
      );
    const quickly = await check(quick, 60_000);
    expectFailures(quickly, []);
    expect(namesWith(quickly, "pass")).toEqual(["baseline", "worker-dies", "worker-dies-early"]);
    expect(resultOf(quickly, "key-expired").found).toMatch(/24 h|86\d+/);

    const slowly = await check({}, 8000);
    expect(namesWith(slowly, "pass")).toEqual(["baseline"]);
    expect(resultOf(slowly, "worker-dies").found).toContain("let `store` use the clock");
  });
});

it("without hooks the faults are played on our side, and what needs the provider is not checkable", async () => {
  const sandbox = await startSandbox();
  const { reword: _, modify: __, ...options } = sandbox.options;
  const report = await checkTool(sandbox.tool(), { ...options, faults: {} });
  expectFailures(report, []);
  expect(namesWith(report, "not-checkable")).toEqual([
    "worker-killed",
    "reworded",
    "payload-modified",
    "refused",
    "key-payload",
    "key-after-error",
    "key-declines",
    "key-retention",
  ]);
  // The request never left, so the retry brings the effect.
  expect(resultOf(report, "answers-500")).toMatchObject({ effects: 1 });
  expect(resultOf(report, "answers-503-late")).toMatchObject({ effects: 1 });
});

it("an SDK's own errors can be handed in, so that a classifier knows them", async () => {
  const sandbox = await startSandbox();
  const declined = new Error("card_declined");
  const report = await sandbox.check(
    { contract: { classify: (error) => (error === declined ? "definitive" : "unknown") } },
    {
      only: ["refused"],
      faults: { errorFor: (status) => (status === 402 ? declined : new Error(`status ${status}`)) },
    },
  );
  expectFailures(report, []);
  expect(resultOf(report, "refused").told).toEqual(["OPERATION_FAILED", "OPERATION_FAILED"]);
});

it.each<[string, Parameters<typeof startSandbox>[0], ToolChange]>([
  [
    "strict, without a key and a look-up",
    { keys: "unkeyed" },
    { contract: { mode: "strict", key: undefined, lookUp: undefined } as never },
  ],
  [
    "strict, with a look-up that lags",
    { keys: "unkeyed", lookUpLagMs: 400 },
    { contract: { mode: "strict", key: undefined } as never },
  ],
  [
    "proved absence, with a look-up that lags",
    { keys: "unkeyed", lookUpLagMs: 400 },
    { contract: { mode: "proved-absence", key: undefined } as never },
  ],
  [
    "a window, with a provider that burns its keys",
    { saves: "burns" },
    { contract: { key: { ...resendable, afterError: "burnt" }, lookUp: undefined } as never },
  ],
])("a true contract fails nothing: %s", async (_, behaviour, change) => {
  for (const withHooks of [true, false]) {
    const sandbox = await startSandbox(behaviour);
    const report = await sandbox.check(change, withHooks ? {} : { faults: {} });
    expectFailures(report, []);
  }
});

it("what a provider keeps though it isn't declared is advised, and no fault", async () => {
  const sandbox = await startSandbox();
  const report = await sandbox.check({
    contract: { mode: "strict", key: { shape: "uuid" } },
  });
  expectFailures(report, []);
  expect(namesWith(report, "advice")).toEqual(["key-atomic", "key-after-error", "key-declines"]);
  expect(resultOf(report, "key-atomic")).toMatchObject({
    found: expect.stringContaining("not claimed though it holds"),
    advice: expect.stringContaining("`contract.key.atomic: true`"),
  });
  expect(resultOf(report, "key-after-error").advice).toContain('"replays"');
});

it("tools that go straight through must be as harmless as they say", async () => {
  const sandbox = await startSandbox();
  const check = (kind: "read-only" | "convergent", work: Work) =>
    checkTool(
      defineTool({
        name: "tool",
        kind,
        arguments: z.looseObject({ orderId: z.string() }),
        execute: ({ orderId }) => work(sandbox, orderId),
      }),
      sandbox.options,
    );
  const readOnly = defineTool({
    name: "find",
    kind: "read-only",
    arguments: z.looseObject({}),
    execute: () => [],
  });
  const read: Work = ({ client }) => client.findEffects({ tag: "none" });
  const create: Work = ({ client }, orderId) =>
    client.createEffect({ operation: "tag", body: { orderId } });
  const ensure: Work = ({ client }, orderId) =>
    client.createEffect({ operation: "tag", body: { orderId }, key: orderId });

  expectFailures(await check("read-only", read), []);
  expectFailures(await check("convergent", ensure), []);
  const doubled = await check("convergent", create);
  expectFailures(doubled, ["baseline"]);
  expect(doubled.checks).toHaveLength(1);
  expect(resultOf(doubled, "baseline")).toMatchObject({
    effects: 2,
    expectedEffects: [1, 1],
    advice: expect.stringContaining('`kind: "non-idempotent"`'),
  });
  expectFailures(await check("read-only", ensure), ["baseline"]);
  const broken = { ...sandbox.options, countEffects: () => Promise.reject(new Error("401")) };
  await expect(checkTool(readOnly, broken)).rejects.toMatchObject({
    code: "CONFIGURATION_INVALID",
    message: expect.stringContaining("`countEffects` failed: 401"),
  });
});

type Work = (sandbox: Sandbox, orderId: string) => Promise<unknown>;
