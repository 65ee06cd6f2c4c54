/**
 * Review in the agent's client: a person is asked there about what waits for a decision. The review
 * queue stays the record, of two channels one wins, and nothing but a person's answer decides.
 */
import { expect, it } from "vitest";
import type { OperationRecord } from "../../src/index.ts";
import { questionAbout } from "../../src/gateway/review-question.ts";
import { sqliteSuite } from "../support/stores.ts";
import { type OnAsked, eras } from "./support/asked-agent.ts";
import {
  type GatewayWorld,
  type ToolAnswer,
  createGatewayWorld,
  gatewayScenario,
  textOf,
  toldBy,
} from "./support/gateway-world.ts";
import {
  approval,
  asked,
  asking,
  carried,
  decisionsIn,
  elicit,
  onlyRow,
  says,
} from "./support/reviewing.ts";

async function decideElsewhere(world: GatewayWorld, decision: "run-again" | "did-not-happen") {
  const { guard } = await world.bare();
  const { tenant, key, version } = await onlyRow(world);
  await guard.resolve({ tenant, key, version, decision, by: "ann", why: "in the console" });
}

for (const era of eras) {
  gatewayScenario(
    `an approval that is given in a ${era} client lets the call run once`,
    asking,
    async (world) => {
      const { agent, shown } = await asked(world, era, () => says("approve"));
      const answers = [await world.refund({}, agent), await world.refund({}, agent)];
      world.assertEffects(1);
      expect(answers.map(toldBy)).toEqual(["DONE", "REPLAYED"]);
      expect(shown).toHaveLength(1);
      expect(shown[0]).toContain('order_id "8812"');
      expect(await decisionsIn(world)).toMatchObject([
        { decision: "run-again", by: "elicitation by agent", why: "asked the customer" },
      ]);
    },
  );

  gatewayScenario(`a decline that is given in a ${era} client is final`, asking, async (world) => {
    const { agent, shown } = await asked(world, era, () => says("decline", "not our fault"));
    const answers = [await world.refund({}, agent), await world.refund({}, agent)];
    world.assertEffects(0);
    expect(answers.map(toldBy)).toEqual(["OPERATION_FAILED", "OPERATION_FAILED"]);
    expect(shown).toHaveLength(1);
    expect(textOf(answers[1] as ToolAnswer)).toContain("not our fault");
  });

  gatewayScenario(
    `what a ${era} client's person leaves open stays in the queue`,
    asking,
    async (world) => {
      const said = [
        { action: "cancel" },
        { action: "decline" },
        says("not now"),
        says("approve", " "),
        says("it took effect"),
        { action: "accept", content: { decision: "approve" } },
        { action: "accept" },
      ];
      const waiting = [...said];
      const { agent, shown } = await asked(world, era, () => waiting.shift() ?? {});
      for (const _ of said) expect(toldBy(await world.refund({}, agent))).toBe("NEEDS_REVIEW");
      world.assertEffects(0);
      expect(shown).toHaveLength(said.length);
      expect(await decisionsIn(world)).toEqual([]);
      expect((await onlyRow(world)).status).toBe("NEEDS_REVIEW");
    },
  );

  gatewayScenario(
    `the console decides while a ${era} client's person thinks, and wins`,
    asking,
    async (world) => {
      const { agent } = await asked(world, era, async () => {
        await decideElsewhere(world, "did-not-happen");
        return says("approve");
      });
      const answer = await world.refund({}, agent);
      world.assertEffects(0);
      expect(toldBy(answer)).toBe("OPERATION_FAILED");
      expect(textOf(answer)).toContain("The decision was not recorded");
      expect(await decisionsIn(world)).toMatchObject([{ by: "ann" }]);
    },
  );

  gatewayScenario(
    `two ${era} clients approve at once, and the call runs once`,
    asking,
    async (world) => {
      let waiting = 0;
      let open: () => void = () => {};
      const both = new Promise<void>((resolve) => (open = resolve));
      const onAsked: OnAsked = async () => {
        waiting += 1;
        if (waiting === 2) open();
        await both;
        return says("approve");
      };
      const agents = [await asked(world, era, onAsked), await asked(world, era, onAsked)];
      const answers = await Promise.all(agents.map(({ agent }) => world.refund({}, agent)));
      world.assertEffects(1);
      expect(answers.map(toldBy).toSorted()).toEqual(["DONE", "REPLAYED"]);
      expect(await decisionsIn(world)).toHaveLength(1);
    },
  );

  gatewayScenario(
    `a ${era} client's person can't say that it did not happen while it may still`,
    { policy: carried, config: elicit },
    async (world) => {
      world.set("die-after-effect");
      const choices: unknown[] = [];
      const { agent, shown } = await asked(world, era, ({ requestedSchema }) => {
        const { decision } = requestedSchema["properties"] as { decision: { enum: unknown } };
        choices.push(decision.enum);
        return says("it did not take effect");
      });
      expect(toldBy(await world.refund({}, agent))).toBe("OUTCOME_UNKNOWN");
      await expect.poll(async () => toldBy(await world.refund({}, agent))).toBe("NEEDS_REVIEW");
      expect(shown.at(-1)).toContain("Whether it took effect is not known");
      expect(choices[0]).toEqual(["it took effect", "not now"]);
      expect(await decisionsIn(world)).toEqual([]);
      world.assertEffects(1);
    },
  );

  gatewayScenario(
    `what a ${era} client's person saw at the provider settles a doubt`,
    { policy: carried, config: elicit },
    async (world) => {
      world.set("die-after-effect");
      const { agent } = await asked(world, era, () => says("it took effect", "saw it at the bank"));
      expect(toldBy(await world.refund({}, agent))).toBe("OUTCOME_UNKNOWN");
      await expect.poll(async () => toldBy(await world.refund({}, agent))).toBe("REPLAYED");
      world.assertEffects(1);
      expect(await decisionsIn(world)).toMatchObject([{ decision: "happened" }]);
    },
  );
}

gatewayScenario(
  "nobody is asked unless the policy says so",
  { policy: approval },
  async (world) => {
    const { agent, shown } = await asked(world, "modern", () => says("approve"));
    expect(toldBy(await world.refund({}, agent))).toBe("NEEDS_REVIEW");
    expect(shown).toEqual([]);
    world.assertEffects(0);
  },
);

gatewayScenario(
  "one tool may be left out of what all are asked about",
  { policy: `${approval}\n    review: { elicit: false }`, config: elicit },
  async (world) => {
    const { agent, shown } = await asked(world, "modern", () => says("approve"));
    expect([toldBy(await world.refund({}, agent)), shown]).toEqual(["NEEDS_REVIEW", []]);
    world.assertEffects(0);
  },
);

gatewayScenario(
  "a client that takes no forms is told that a person has been asked",
  asking,
  async (world) => {
    const url = await world.connect({ capabilities: { elicitation: { url: {} } } });
    const old = await world.connect({ era: "legacy", capabilities: { elicitation: {} } });
    for (const agent of [world.agent, url, old])
      expect(toldBy(await world.refund({}, agent))).toBe("NEEDS_REVIEW");
    world.assertEffects(0);
  },
);

gatewayScenario(
  "a person who never answers in an older client leaves the call in the queue",
  { policy: approval, config: "review: { elicit: true, within: 100ms }" },
  async (world) => {
    const { agent, shown } = await asked(world, "legacy", () => new Promise(() => {}));
    expect(toldBy(await world.refund({}, agent))).toBe("NEEDS_REVIEW");
    expect(shown).toHaveLength(1);
    world.assertEffects(0);
  },
);

gatewayScenario(
  "after an approval the server may ask back, and each gets its own answer",
  asking,
  async (world) => {
    world.set("ask");
    const { agent, shown } = await asked(world, "modern", ({ message }) =>
      message === "Sure?" ? { action: "accept", content: { sure: true } } : says("approve"),
    );
    expect(toldBy(await world.refund({}, agent))).toBe("DONE");
    expect(shown.map((message) => message.split("\n")[0])).toEqual([
      "shop/issue_refund waits for a decision. Nothing was sent for it.",
      "Sure?",
    ]);
    world.assertEffects(1);
  },
);

gatewayScenario(
  "a look-alike that is held may be let run by the agent's person",
  {
    policy: `${carried}    lookAlike: { rule: hold, window: 1h }`,
    intent: "refund:{args.order_id}:{trusted.ticket}",
    config: `${elicit}
context:
  tenant: { value: acme }
  trusted: { ticket: { header: x-ticket } }`,
    agent: { headers: { "x-ticket": "1" } },
  },
  async (world) => {
    const { agent, shown } = await asked(world, "modern", () => says("approve", "both are meant"));
    const other = await world.connect({ headers: { "x-ticket": "2" } });
    await world.refund({}, other);
    expect(toldBy(await world.refund({}, agent))).toBe("DONE");
    expect(shown).toHaveLength(1);
    expect(shown[0]).toContain("looks like another operation of the same kind");
    world.assertEffects(2);
  },
);

it("what is offered: never that it did not happen before it can be known, and nothing of an incident", async () => {
  const world = await createGatewayWorld(sqliteSuite, { policy: carried });
  world.set("die-after-effect");
  await world.refund();
  expect(toldBy(await world.refund())).toBe("NEEDS_REVIEW");
  const row = await onlyRow(world);
  const offered = (record: OperationRecord): unknown =>
    (questionAbout(record)?.requestedSchema["properties"] as { decision: { enum: unknown } })
      ?.decision.enum;
  const { quietUntilMs } = row;
  expect(offered({ ...row, readAtMs: quietUntilMs })).toEqual(["it took effect", "not now"]);
  const later = { ...row, readAtMs: quietUntilMs + 1 };
  expect(offered(later)).toEqual(["it took effect", "it did not take effect", "not now"]);
  expect(questionAbout(later)?.message).toContain("Look at the provider before you answer.");
  expect(questionAbout({ ...later, incident: "another result" })).toBeUndefined();
  expect(questionAbout({ ...later, status: "UNKNOWN" })).toBeUndefined();
  const long = row.arguments?.replace("8812", "8".repeat(600)) ?? null;
  const about = questionAbout({ ...later, arguments: long });
  expect(about?.message).toMatch(/8… \(\d+ characters\)/);
});

/** Keys and times differ from run to run. */
function steady(text: string): string {
  return text
    .replaceAll(/\b[0-9a-f]{64}\b/g, "<key>")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>");
}

it("what a person is shown", async () => {
  const held = await createGatewayWorld(sqliteSuite, asking);
  const holding = await asked(held, "modern", () => says("not now"));
  await held.refund({}, holding.agent);
  const doubtful = await createGatewayWorld(sqliteSuite, { policy: carried, config: elicit });
  doubtful.set("die-after-effect");
  const doubting = await asked(doubtful, "modern", () => says("not now"));
  await doubtful.refund({}, doubting.agent);
  await doubtful.refund({}, doubting.agent);
  expect([...holding.shown, ...doubting.shown].map(steady)).toMatchInlineSnapshot(`
    [
      "shop/issue_refund waits for a decision. Nothing was sent for it.
    Arguments: amount_minor 48000, currency "EUR", order_id "8812".
    Why a person is asked: amount_minor is 48000, and above 20000 a person has to approve.
    Intent: {"intent":"refund:8812","operation":"shop/issue_refund","scope":"business","tenant":"acme","v":1}. Key <key>.",
      "shop/issue_refund was sent once, first <time>, or may have been. Whether it took effect is not known.
    It may still take effect until <time>, so that it did not can't be decided yet.
    Arguments: amount_minor 48000, currency "EUR", order_id "8812".
    Why a person is asked: the provider can't be asked what happened, and sending again could double the effect.
    Intent: {"intent":"refund:8812","operation":"shop/issue_refund","scope":"business","tenant":"acme","v":1}. Key <key>.",
    ]
  `);
});
