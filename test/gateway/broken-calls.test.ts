/**
 * Calls that break: the server dies after the effect or before it, reports an error, hangs while the
 * agent goes away. One effect at most, none lost, and no answer that a model could take for a "no"
 * (case 84).
 */
import { expect } from "vitest";
import {
  type GatewayWorld,
  type ToolAnswer,
  gatewayScenario,
  keyed,
  lookedUp,
  textOf,
  toldBy,
} from "./support/gateway-world.ts";

/** Calls until the answer is another one; what is not known yet is asked again. */
async function untilTold(world: GatewayWorld, told: string): Promise<ToolAnswer> {
  let answer = await world.refund();
  await expect
    .poll(async () => toldBy((answer = await world.refund())), { interval: 100 })
    .toBe(told);
  return answer;
}

const misleading = /fail|try again/i;

gatewayScenario(
  "a server that dies after the effect is asked what happened, and the effect is found",
  { policy: lookedUp },
  async (world) => {
    world.set("die-after-effect");
    const first = await world.refund();
    expect(toldBy(first)).toBe("OUTCOME_UNKNOWN");
    expect(first.isError).toBe(true);
    expect(textOf(first)).not.toMatch(misleading);
    const found = await untilTold(world, "REPLAYED");
    world.assertEffects(1);
    expect(found.structuredContent).toMatchObject({ id: "re_1" });
    expect(world.gateway.servers).toEqual({ shop: "up" });
  },
);

gatewayScenario(
  "a server that dies after the effect gets the same key again, and knows it",
  { policy: keyed },
  async (world) => {
    world.set("die-after-effect");
    expect(toldBy(await world.refund())).toBe("OUTCOME_UNKNOWN");
    const done = await untilTold(world, "REPLAYED");
    world.assertEffects(1);
    expect(done.structuredContent).toEqual({ id: "re_1", order_id: "8812" });
  },
);

gatewayScenario(
  "a server that dies after the effect and can't be asked is left to a person",
  { policy: "    mode: strict\n    key: { argument: idempotency_key }" },
  async (world) => {
    world.set("die-after-effect");
    expect(toldBy(await world.refund())).toBe("OUTCOME_UNKNOWN");
    const later = await untilTold(world, "NEEDS_REVIEW");
    world.assertEffects(1);
    expect(textOf(later)).not.toMatch(misleading);
    expect((await world.rows()).map(({ status }) => status)).toEqual(["NEEDS_REVIEW"]);
  },
);

gatewayScenario(
  "a server that dies before the effect gets the request again where that is safe",
  { policy: keyed },
  async (world) => {
    world.set("die-before-effect");
    expect(toldBy(await world.refund())).toBe("OUTCOME_UNKNOWN");
    await untilTold(world, "REPLAYED");
    await world.refund();
    world.assertEffects(1);
  },
);

gatewayScenario(
  "an error that the tool reports proves nothing, and its words don't reach the model",
  { policy: lookedUp },
  async (world) => {
    world.set("report-error");
    const first = await world.refund();
    expect(toldBy(first)).toBe("OUTCOME_UNKNOWN");
    expect(JSON.stringify(first)).not.toMatch(/try again/);
    expect(toldBy(await world.refund())).toBe("REPLAYED");
    world.assertEffects(1);
  },
);

// The official SDK's low-level server validates a tool's result after the tool ran, and hands on the codes
// of the tool's own errors.
for (const flag of ["refuse-params", "refuse-method"]) {
  gatewayScenario(
    `an error of the protocol after the effect proves nothing (${flag})`,
    { policy: "    key: { argument: idempotency_key }" },
    async (world) => {
      world.set(flag);
      const first = await world.refund();
      expect(toldBy(first)).toBe("OUTCOME_UNKNOWN");
      expect(textOf(first)).not.toMatch(/no effect exists|did not leave/);
      expect(toldBy(await world.refund())).toBe("NEEDS_REVIEW");
      world.assertEffects(1);
    },
  );
}

gatewayScenario(
  "an error that the policy calls definitive settles the intent, and is replayed",
  {
    policy: '    key: { argument: idempotency_key }\n    definitive: [{ text: "^card_declined$" }]',
  },
  async (world) => {
    world.set("decline");
    const [first, second] = [await world.refund(), await world.refund()];
    world.assertEffects(0);
    expect([first, second].map(toldBy)).toEqual(["OPERATION_FAILED", "OPERATION_FAILED"]);
    expect(textOf(second)).toContain("The downstream refused this intent for good: card_declined.");
  },
);

gatewayScenario(
  "an agent that goes away in mid-call changes nothing: the call ends and is recorded",
  {},
  async (world) => {
    world.set("hang");
    const leaving = await world.connect();
    const gone = world.refund({}, leaving).catch(() => "gone");
    await expect.poll(() => world.effects().length).toBe(1);
    await leaving.close();
    expect(await gone).toBe("gone");
    world.clear("hang");
    const answer = await world.refund();
    world.assertEffects(1);
    expect(toldBy(answer)).toBe("REPLAYED");
    expect((await world.rows()).map(({ status }) => status)).toEqual(["DONE"]);
  },
);

gatewayScenario(
  "a cancelled call is not cancelled at the server once it is claimed",
  {},
  async (world) => {
    world.set("hang");
    const controller = new AbortController();
    const params = { name: "issue_refund", arguments: { order_id: "8812", amount_minor: 48_000 } };
    const cancelled = world.agent
      .callTool(params, { signal: controller.signal })
      .catch(() => "cancelled");
    await expect.poll(() => world.effects().length).toBe(1);
    controller.abort();
    expect(await cancelled).toBe("cancelled");
    world.clear("hang");
    expect(toldBy(await world.refund())).toBe("REPLAYED");
    world.assertEffects(1);
  },
);

gatewayScenario(
  "a gateway that is shut down in mid-call settles the call first, and answers it",
  {},
  async (world) => {
    world.set("hang");
    const call = world.refund();
    await expect.poll(() => world.effects().length).toBe(1);
    const closing = world.gateway.close();
    world.clear("hang");
    expect(toldBy(await call)).toBe("DONE");
    await closing;
    const { agent } = await world.another();
    expect(toldBy(await world.refund({}, agent))).toBe("REPLAYED");
    world.assertEffects(1);
  },
);

gatewayScenario(
  "a call whose server asks back goes on with the answers, and is no duplicate",
  { agent: { capabilities: { elicitation: { form: {} } } } },
  async (world) => {
    world.set("ask");
    let asked = 0;
    world.agent.setRequestHandler("elicitation/create", async () => {
      asked += 1;
      return { action: "accept", content: { sure: true } };
    });
    const first = await world.refund();
    expect([asked, toldBy(first)]).toEqual([1, "DONE"]);
    const second = await world.refund();
    expect([asked, toldBy(second)]).toEqual([1, "REPLAYED"]);
    world.assertEffects(1);
  },
);
