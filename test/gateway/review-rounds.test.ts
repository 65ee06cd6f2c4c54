/**
 * The rounds of a review dialogue, as a client sees them that carries them itself: an answer counts for
 * the call that was shown, in time, once, and at every gateway that shares the secret.
 */
import { type Client, isInputRequiredResult } from "@modelcontextprotocol/client";
import { expect, onTestFinished, vi } from "vitest";
import { type ToolAnswer, gatewayScenario, toldBy } from "./support/gateway-world.ts";
import { approval, asking, decisionsIn, says } from "./support/reviewing.ts";

/** A client of the newer era that shows the rounds instead of answering them. */
async function rawCall(
  agent: Client,
  more: Record<string, unknown> = {},
  change: Record<string, unknown> = {},
): Promise<ToolAnswer> {
  const params = {
    name: "issue_refund",
    arguments: { order_id: "8812", amount_minor: 48_000, ...change },
    ...more,
  };
  const result = await agent.request(
    { method: "tools/call", params } as never,
    { allowInputRequired: true } as never,
  );
  return result as unknown as ToolAnswer;
}

gatewayScenario(
  "an answer counts for the call that was shown, and for it alone",
  asking,
  async (world) => {
    const agent = await world.connect({ capabilities: { elicitation: {} } });
    const question = await rawCall(agent);
    expect(isInputRequiredResult(question)).toBe(true);
    const inputResponses = { "nevertwice-review": says("approve") };
    const { requestState } = question;
    const forged = `${String(requestState).slice(0, -4)}AAAA`;
    const others = [
      await rawCall(agent, { inputResponses, requestState }, { order_id: "8813" }),
      await rawCall(agent, { inputResponses, requestState }, { amount_minor: 90_000 }),
      await rawCall(agent, { inputResponses, requestState: forged }),
      await rawCall(agent, { inputResponses: {}, requestState }),
    ];
    world.assertEffects(0);
    expect(others.map(toldBy)).toEqual([
      "NEEDS_REVIEW",
      "PAYLOAD_MISMATCH",
      "NEEDS_REVIEW",
      "NEEDS_REVIEW",
    ]);
    // Answers without a state are a client's own idea: the question is asked.
    expect(isInputRequiredResult(await rawCall(agent, { inputResponses }))).toBe(true);
    const approved = await rawCall(agent, { inputResponses, requestState });
    const again = await rawCall(agent, { inputResponses, requestState });
    world.assertEffects(1);
    expect([approved, again].map(toldBy)).toEqual(["DONE", "REPLAYED"]);
  },
);

gatewayScenario("arguments never answer for a person", asking, async (world) => {
  const change = { decision: "approve", reason: "approve", inputResponses: says("approve") };
  expect(toldBy(await world.refund(change))).toBe("NEEDS_REVIEW");
  world.assertEffects(0);
});

gatewayScenario(
  "an answer that comes too late changes nothing",
  { policy: approval, config: "review: { elicit: true, within: 5s }" },
  async (world) => {
    const agent = await world.connect({ capabilities: { elicitation: {} } });
    const { requestState } = await rawCall(agent);
    const inputResponses = { "nevertwice-review": says("approve") };
    onTestFinished(() => void vi.useRealTimers());
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 10_000 });
    const late = await rawCall(agent, { inputResponses, requestState });
    expect(toldBy(late)).toBe("NEEDS_REVIEW");
    world.assertEffects(0);
  },
);

gatewayScenario(
  "gateways that share a secret take each other's answers, once",
  { policy: approval, config: 'review: { elicit: true, secret: "${TOKEN_ACME}${TOKEN_BIRCH}" }' },
  async (world) => {
    const agent = await world.connect({ capabilities: { elicitation: {} } });
    const { requestState } = await rawCall(agent);
    const inputResponses = { "nevertwice-review": says("approve") };
    const { agent: other } = await world.another();
    const answers = await Promise.all(
      [agent, other].map((each) => rawCall(each, { inputResponses, requestState })),
    );
    expect(answers.map(toldBy).toSorted()).toEqual(["DONE", "REPLAYED"]);
    expect(await decisionsIn(world)).toHaveLength(1);
    world.assertEffects(1);
  },
);
