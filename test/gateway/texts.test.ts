/**
 * Every text of the gateway that a model can read, as a snapshot: what is known, what is not, whether
 * the same call is safe. None of an unknown outcome says "failed" or "try again".
 */
import { expect, it } from "vitest";
import { NeverTwiceError, errorCodes } from "../../src/index.ts";
import { errorResult, outcomeResult } from "../../src/edges/mcp/answers.ts";
import { sqliteSuite } from "../support/stores.ts";
import {
  type GatewayWorld,
  type ToolAnswer,
  createGatewayWorld,
  operationOf,
  textOf,
  toldBy,
} from "./support/gateway-world.ts";
import { carried } from "./support/reviewing.ts";

/** Keys and times differ from run to run. */
function steady(answer: ToolAnswer): string {
  const text = answer.content
    .slice(answer.isError === true ? 0 : -1)
    .map((block) => block.text)
    .join("\n");
  const told = text
    .replaceAll(/\b[0-9a-f]{64}\b/g, "<key>")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>")
    .replaceAll(/in about \d+ \w+/g, "in about <span>");
  return `[${toldBy(answer)}] ${told}`;
}

async function decide(
  world: GatewayWorld,
  answer: ToolAnswer,
  decision: "happened" | "did-not-happen" | "run-again",
): Promise<void> {
  const { guard } = await world.bare();
  const [row] = await world.rows();
  const version = row?.version ?? 0;
  const key = operationOf(answer).key ?? "";
  await guard.resolve({ tenant: "acme", key, version, decision, by: "ann", why: "asked the bank" });
}

it("the answers of one intent, from done to superseded", async () => {
  const world = await createGatewayWorld(sqliteSuite, {
    policy: `${carried}    wait: 0ms\n    mismatch: values`,
  });
  world.set("hang");
  const running = world.refund();
  await expect.poll(() => world.effects().length).toBe(1);
  const meanwhile = await world.refund();
  world.clear("hang");
  const done = await running;
  const replayed = await world.refund();
  const mismatched = await world.refund({ amount_minor: 1 });
  const supersedes = { key: operationOf(done).key, reason: "wrong amount" };
  const changed = await world.refund({ amount_minor: 1 }, world.agent, {
    "dev.nevertwice/context": { supersedes },
  });
  const superseded = await world.refund();
  const answers = [meanwhile, done, replayed, mismatched, changed, superseded];
  expect(answers.map(steady)).toMatchInlineSnapshot(`
    [
      "[IN_PROGRESS] This intent is being executed right now by another call; its outcome is not known yet. This call sent nothing. The same call is safe and will bring the outcome, best in about <span>; a changed call is not safe. Key <key>.",
      "[DONE] Done: this intent took effect once. Key <key>.",
      "[REPLAYED] Already done: this intent took effect once, first sent <time>. This is its stored outcome; this call sent nothing new. Key <key>.",
      "[PAYLOAD_MISMATCH] This intent is already recorded with other business arguments (they differ in amount_minor). This call sent nothing and changed nothing. Calling with the recorded arguments is safe; if the business wants something else now, that is a new intent that names this one and a reason. Key <key>.
    amount_minor: recorded 48000, this call 1.",
      "[DONE] Done: this intent took effect once. Key <key>.",
      "[REPLAYED] Already done: this intent took effect once, first sent <time>. This is its stored outcome; this call sent nothing new. It was replaced by the intent with key <key>. Key <key>.",
    ]
  `);
});

it("the answers of a doubt, and of a person's decisions about it", async () => {
  const world = await createGatewayWorld(sqliteSuite, {});
  world.set("die-after-effect");
  const unknown = await world.refund();
  const review = await world.refund();
  await decide(world, review, "happened");
  const decided = await world.refund();
  expect([unknown, review, decided].map(steady)).toMatchInlineSnapshot(`
    [
      "[OUTCOME_UNKNOWN] A request for this intent was sent, or may have been, and whether it took effect is not known (the call ended with an error that proves nothing). The same call is safe: it looks before it sends. A changed call, or a new intent for the same matter, is not safe. Key <key>.",
      "[NEEDS_REVIEW] Whether this intent took effect can't be settled by any rule (the provider can't be asked what happened, and sending again could double the effect); a person has been asked and has not decided yet. This call sent nothing. The same call is safe and will bring the decision; a changed call, or a new intent for the same matter, is not safe. Key <key>.",
      "[REPLAYED] Already done: this intent took effect once, first sent <time>. This is its stored outcome; this call sent nothing new. Key <key>.",
    ]
  `);
});

it("the answers of a call that needs approval, and of one that is declined", async () => {
  const policy = `${carried}    approval: { argument: amount_minor, above: 20000 }`;
  const world = await createGatewayWorld(sqliteSuite, { policy });
  const pending = await world.refund();
  await decide(world, pending, "did-not-happen");
  const declined = await world.refund();
  world.assertEffects(0);
  expect([pending, declined].map(steady)).toMatchInlineSnapshot(`
    [
      "[NEEDS_REVIEW] Nothing was sent for this intent: before that, a person has been asked (amount_minor is 48000, and above 20000 a person has to approve) and has not decided yet. The same call is safe and will bring the decision; a changed call, or a new intent for the same matter, is not safe. Key <key>.",
      "[OPERATION_FAILED] This intent was declined before anything was sent for it: ann decided that it did not happen: asked the bank. No effect exists. The same call gives this same answer and sends nothing; another attempt is a new intent that names this one and a reason. Key <key>.",
    ]
  `);
});

it("the answers of calls that are refused before anything is recorded", async () => {
  const world = await createGatewayWorld(sqliteSuite, {
    intent: "refund:{args.order_id}:{trusted.ticket}",
    config: "limits: { depth: 3 }",
  });
  const answers = [
    await world.refund({}),
    await world.refund({ amount_minor: "many" }),
    await world.refund({ order_id: { a: { b: { c: 1 } } } }),
  ];
  expect(await world.rows()).toEqual([]);
  expect(answers.map(steady)).toMatchInlineSnapshot(`
    [
      "[INTENT_INVALID] The identity of this operation is incomplete: trusted.ticket is missing or no single value. Nothing was recorded and nothing was sent.",
      "[ARGUMENTS_INVALID] The arguments don't fit the schema of shop/issue_refund: $: data/amount_minor must be integer. Nothing was recorded and nothing was sent.",
      "[UNSUPPORTED_ARGUMENT] The arguments are nested deeper than 3 levels. Nothing was recorded and nothing was sent.",
    ]
  `);
});

it("no error of an unknown outcome says that it failed, or invites to another try", () => {
  for (const code of errorCodes) {
    const result = errorResult(new NeverTwiceError(code, "What is known."));
    expect(result).toMatchObject({ isError: true, content: [{ text: "What is known." }] });
  }
  const defect = errorResult(new Error("boom")) as unknown as ToolAnswer;
  expect(textOf(defect)).toMatch(/is not known.*The same call is safe/);
  expect(textOf(defect)).not.toMatch(/fail|try again/i);
});

it("a done result without the structure that its schema promises is marked, and says that it is done", () => {
  const outcome = {
    value: undefined,
    status: "DONE",
    replayed: true,
    recorded: true,
    key: "k",
    attempts: 1,
    firstExecutedAt: null,
    providerId: null,
    omitted: { reason: "it has 9 bytes and the limit is 1" },
    supersededBy: null,
    warnings: [],
    text: "Already done: this intent took effect once.",
  } as const;
  const definition = { name: "refund", inputSchema: {}, outputSchema: { type: "object" } };
  const value = undefined as never;
  expect(outcomeResult({ ...outcome, value }, definition)).toMatchObject({
    isError: true,
    content: [{ text: "Already done: this intent took effect once." }],
  });
  const { outputSchema: _, ...plain } = definition;
  expect(outcomeResult({ ...outcome, value }, plain)).not.toHaveProperty("isError");
});
