/**
 * Cases that people reported of agents and their clients, as the gateway meets them.
 */
import { expect } from "vitest";
import {
  type GatewayWorld,
  gatewayScenario,
  lookedUp,
  operationOf,
  textOf,
  toldBy,
} from "./support/gateway-world.ts";
import { approval, onlyRow } from "./support/reviewing.ts";

function byHost(world: GatewayWorld, toolUseId: string, reason: string) {
  return world.refund({ reason }, world.agent, { "claudecode/toolUseId": toolUseId });
}

gatewayScenario("a host's id of the call is in no key (case 11)", {}, async (world) => {
  const answers = [
    await byHost(world, "message_111_1", "broken"),
    await byHost(world, "message_222_1", "broken"),
  ];
  world.assertEffects(1);
  expect(new Set(answers.map((answer) => operationOf(answer).key)).size).toBe(1);
});

gatewayScenario(
  "a model that lost its answers calls twelve times, and each answer tells a replay (cases 49, 86)",
  {},
  async (world) => {
    const told: string[] = [];
    for (let turn = 1; turn <= 12; turn += 1) {
      const answer = await byHost(world, `toolu_${turn}`, `for the ${turn}th time`);
      told.push(toldBy(answer));
      if (turn > 1) expect(textOf(answer)).toContain("this call sent nothing new");
    }
    world.assertEffects(1);
    expect(told).toEqual(["DONE", ...Array(11).fill("REPLAYED")]);
  },
);

gatewayScenario(
  "a server that calls an effect an error is asked, and a changed call is refused (case 54)",
  { policy: lookedUp },
  async (world) => {
    world.set("report-error");
    const first = await world.refund();
    const changed = await world.refund({ amount_minor: 48_001 });
    const same = await world.refund();
    world.assertEffects(1);
    const told = ["OUTCOME_UNKNOWN", "PAYLOAD_MISMATCH", "REPLAYED"];
    expect([first, changed, same].map(toldBy)).toEqual(told);
    expect(same.structuredContent).toMatchObject({ id: "re_1" });
  },
);

gatewayScenario(
  "a call that was approved meanwhile runs once, however often it is made (case 75)",
  { policy: approval },
  async (world) => {
    const pending = await world.refund();
    expect(textOf(pending)).not.toMatch(/fail|denied|try again/i);
    const { guard } = await world.bare();
    const { tenant, key, version } = await onlyRow(world);
    const decision = { decision: "run-again", by: "ann", why: "asked the customer" } as const;
    await guard.resolve({ tenant, key, version, ...decision });
    const answers = [await world.refund(), await world.refund()];
    world.assertEffects(1);
    expect(answers.map(toldBy)).toEqual(["DONE", "REPLAYED"]);
  },
);

gatewayScenario(
  "two agents in two workflows take one ticket, and it is refunded once (case 92)",
  {},
  async (world) => {
    const other = await world.connect();
    const by = (workflowId: string) => ({ "dev.nevertwice/context": { workflowId, stepId: "s" } });
    const answers = await Promise.all([
      world.refund({}, world.agent, by("run-1")),
      world.refund({}, other, by("run-2")),
    ]);
    world.assertEffects(1);
    expect(answers.map(toldBy).toSorted()).toEqual(["DONE", "REPLAYED"]);
  },
);
