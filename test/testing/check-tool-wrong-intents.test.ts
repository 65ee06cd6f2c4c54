/**
 * Tools that are wrong about identity: free text, run ids, narrow scopes, forgotten arguments. Each
 * is caught by the check that is meant for it, with the right advice.
 */
import { expect, it } from "vitest";
import { type CheckName, checkTool } from "../../src/testing/index.ts";
import { type ToolChange, expectFailures, resultOf, startSandbox } from "./check-tool-harness.ts";

type Source = { args: Record<string, unknown>; trusted: Record<string, string> };

const wrongTools: [
  title: string,
  change: ToolChange,
  failures: CheckName[],
  found: string,
  advice: string,
][] = [
  [
    "free text in the intent",
    { intent: ({ args }: Source) => `refund:${args["orderId"]}:${args["reason"]}` },
    ["reworded"],
    "the reworded call is another intent: it differs in intent",
    "make `intent` of trusted ids alone",
  ],
  [
    "free text among the business arguments",
    { businessArguments: ["orderId", "amountMinor", "currency", "reason"] },
    ["reworded"],
    "the free text counts as a business argument: reason",
    "take reason out of `businessArguments`",
  ],
  [
    "a business argument that is forgotten",
    { businessArguments: ["orderId", "currency"] },
    ["payload-modified"],
    "nobody notices that amountMinor changed",
    "add amountMinor to `businessArguments`",
  ],
  [
    "a business argument in the intent",
    { intent: ({ args }: Source) => `refund:${args["orderId"]}:${args["amountMinor"]}` },
    ["payload-modified"],
    "with another amountMinor the call is another intent",
    "take amountMinor out of `intent`",
  ],
  [
    "the id of a run in the intent",
    { intent: ({ args, trusted }: Source) => `refund:${args["orderId"]}:${trusted["runId"]}` },
    ["redelivered", "two-runs"],
    "the second delivery is another intent: it differs in intent",
    "make `intent` of trusted ids alone",
  ],
  [
    "the scope of a workflow where the business has one refund",
    { scope: "workflow" },
    ["redelivered", "two-runs"],
    "it differs in workflowId",
    'set `scope: "business"`: with scope "workflow" each workflow has an intent of its own',
  ],
  [
    "the scope of a step where the business has one refund",
    { scope: "step" },
    ["redelivered", "two-runs"],
    "it differs in workflowId, stepId",
    'with scope "step" each step',
  ],
];

it.each(wrongTools)("%s", async (_, change, failures, found, advice) => {
  const sandbox = await startSandbox();
  const withStep: typeof sandbox.options.example = async (n, id) => {
    const { args, context } = await sandbox.options.example(n, id);
    return { args, context: { ...context, stepId: "refund" } };
  };
  const report = await sandbox.check(change, { example: withStep });
  expectFailures(report, failures);
  for (const name of failures) expect(resultOf(report, name).advice).toContain(advice);
  expect(failures.map((name) => resultOf(report, name).found)[0]).toMatch(
    new RegExp(`${found}|2 effects: the intent was doubled`),
  );
  // Where nothing is doubled, the reason itself is what was found.
  const [first] = failures.map((name) => resultOf(report, name));
  if (first?.effects === 1) expect(first.found).toContain(found);
  else expect(first?.effects).toBe(2);
});

it("an intent made by chance or clock is another one each time", async () => {
  const sandbox = await startSandbox();
  let calls = 0;
  const report = await sandbox.check({
    intent: ({ args }: Source) => `refund:${args["orderId"]}:${(calls += 1)}`,
  });
  expectFailures(report, ["baseline"]);
  expect(resultOf(report, "baseline")).toMatchObject({
    found: expect.stringContaining("another intent each time"),
    advice: expect.stringContaining("no clock, no counter, no chance"),
  });
  expect(resultOf(report, "redelivered").verdict).toBe("not-checkable");
});

it("`rerun` says how another run would call: here with an event id of its own", async () => {
  const sandbox = await startSandbox();
  const intent = ({ args, trusted }: Source): string =>
    `refund:${args["orderId"]}:${trusted["eventId"] ?? "none"}`;
  const tool = sandbox.tool({ intent });
  const only: CheckName[] = ["redelivered"];
  expectFailures(await checkTool(tool, { ...sandbox.options, only }), []);
  const report = await checkTool(tool, {
    ...sandbox.options,
    only,
    rerun: ({ args, context }) => ({
      args,
      context: { ...context, trusted: { ...context.trusted, eventId: "evt_2" } },
    }),
  });
  expectFailures(report, ["redelivered"]);
});
