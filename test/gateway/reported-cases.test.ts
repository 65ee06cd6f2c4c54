/**
 * Cases that people reported of agents and their clients, as the gateway meets them.
 */
import { expect, onTestFinished } from "vitest";
import {
  type GatewayWorld,
  type ToolAnswer,
  gatewayScenario,
  lookedUp,
  operationOf,
  textOf,
  toldBy,
  twoTenants,
} from "./support/gateway-world.ts";
import { post } from "./support/post.ts";
import { approval, carried, onlyRow } from "./support/reviewing.ts";

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

/** A call by bare HTTP: what a proxy or a cache between would see. */
function postRefund(url: string, headers: Readonly<Record<string, string>>): Promise<Response> {
  const params = { name: "issue_refund", arguments: { order_id: "8812", amount_minor: 48_000 } };
  return post(url, { jsonrpc: "2.0", id: 1, method: "tools/call", params }, headers);
}

gatewayScenario(
  "a replay has the stored result, and no header of the first answer or its caller (case 48)",
  twoTenants,
  async (world) => {
    const token = "Bearer acme-token-0123456789";
    const cookie = { cookie: "session=of-the-first", "x-request-id": "first" };
    const first = await postRefund(world.service.url, { authorization: token, ...cookie });
    const replay = await postRefund(world.service.url, { authorization: token });
    const [done, replayed] = [await first.text(), await replay.text()];
    world.assertEffects(1);
    expect([first.status, replay.status]).toEqual([200, 200]);
    expect(replayed).toContain('"replayed":true');
    for (const kept of ['"structuredContent":{"id":"re_1"', '"x-vendor-result":{"traced":true}']) {
      expect(done).toContain(kept);
      expect(replayed).toContain(kept);
    }
    expect([...replay.headers.keys()]).toEqual([...first.headers.keys()]);
    expect(replay.headers.has("set-cookie")).toBe(false);
    const stored = JSON.stringify([await world.rows(), [...replay.headers], replayed]);
    expect(stored).not.toMatch(/of-the-first|acme-token/);
  },
);

gatewayScenario(
  "a call that is withdrawn before the claim leaves no row, and the next one runs (case 85)",
  {},
  async (world) => {
    const params = { name: "issue_refund", arguments: { order_id: "8812", amount_minor: 48_000 } };
    const withdrawn = (await world.gateway.callTool({
      method: "tools/call",
      params,
      era: "modern",
      facts: { meta: {}, header: () => undefined, tokenTenant: undefined, parameterKey: undefined },
      clientCapabilities: {},
      clientName: "agent",
      signal: AbortSignal.abort(),
      onProgress: undefined,
      inputResponses: undefined,
      requestState: undefined,
      ask: undefined,
    })) as ToolAnswer;
    expect(toldBy(withdrawn)).toBe("ABORTED");
    expect(textOf(withdrawn)).toContain("Nothing was sent. The same call is safe.");
    expect(await world.rows()).toEqual([]);
    world.assertEffects(0);
    expect([await world.refund(), await world.refund()].map(toldBy)).toEqual(["DONE", "REPLAYED"]);
    world.assertEffects(1);
  },
);

gatewayScenario(
  "a queue's redrive and the model's own retry have one effect, and the second is told who acts (case 90)",
  { policy: `${carried}    wait: 100ms` },
  async (world) => {
    // Without a guard both hang, and a gateway waits for what is under way.
    onTestFinished(() => world.clear("hang"));
    world.set("hang");
    const queue = await world.connect();
    const redriven = world.refund({ reason: "delivered again" }, queue);
    redriven.catch(() => {});
    await expect.poll(() => world.effects().length).toBe(1);
    const retried = await world.refund({ reason: "no answer came" });
    expect(toldBy(retried)).toBe("IN_PROGRESS");
    expect(textOf(retried)).toContain("being executed right now by another call");
    expect(textOf(retried)).not.toMatch(/fail|try again/i);
    world.clear("hang");
    expect(toldBy(await redriven)).toBe("DONE");
    expect(toldBy(await world.refund())).toBe("REPLAYED");
    world.assertEffects(1);
  },
);
