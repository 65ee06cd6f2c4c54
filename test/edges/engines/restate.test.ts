/**
 * A flow on a real Restate server: the engine runs a step again whose answer it did not get, and
 * the guard keeps the effect single. One prompt, one refund, one event.
 */
import { once } from "node:events";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { restateFlow, runKeyOf } from "../../../src/edges/engines/restate.ts";
import { describeStores } from "../../support/stores.ts";
import {
  askingFlow,
  dyingAfterEffect,
  givenUpFlow,
  ledgerOf,
  noTo,
  openEngineWorld,
  refundFlow,
  sagaFlow,
  ticket,
  yesTo,
} from "./engine-world.ts";
import { type RestateServer, startRestate } from "./restate-server.ts";

// Restate's SDK needs it; Node has it from version 22 on.
(Promise as { withResolvers?: unknown }).withResolvers ??= function withResolvers<T>() {
  let resolve: unknown;
  let reject: unknown;
  const promise = new Promise<T>((yes, no) => ([resolve, reject] = [yes, no]));
  return { promise, resolve, reject };
};
const restate = await import("@restatedev/restate-sdk");

let server: RestateServer | null = null;
beforeAll(async () => {
  server = await startRestate();
});
afterAll(async () => {
  await server?.stop();
});

async function serve(
  service: Parameters<typeof restate.serve>[0]["services"][number],
  name = "refund-ticket",
) {
  if (server === null) throw new Error("there is no Restate server");
  const handler = restate.createEndpointHandler({
    services: [service],
    // It tells of the errors that the test throws.
    logger: () => {},
  });
  const endpoint = createServer(handler);
  const sessions = new Set<{ destroy(): void }>();
  endpoint.on("session", (session) => sessions.add(session));
  endpoint.listen(0, "127.0.0.1");
  await once(endpoint, "listening");
  const { port } = endpoint.address() as AddressInfo;
  onTestFinished(() => {
    for (const session of sessions) session.destroy();
    endpoint.close();
  });
  const registered = await fetch(`${server.adminUrl}/deployments`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ uri: `http://127.0.0.1:${port}`, force: true }),
  });
  expect(registered.ok, await registered.text()).toBe(true);
  const { ingressUrl } = server;
  return async (key: string, handlerName: string, body: unknown) => {
    const url = `${ingressUrl}/${name}/${encodeURIComponent(key)}/${handlerName}`;
    const headers = { "content-type": "application/json" };
    const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
    const text = await answer.text();
    return { status: answer.status, body: text === "" ? undefined : (JSON.parse(text) as unknown) };
  };
}

const runOptions = { initialRetryInterval: 50, maxRetryInterval: 200 };

describeStores("a flow on Restate", (suite) => {
  const id = { tenant: "acme", runId: "run" };
  const play = async (passThrough: boolean) => {
    const world = await openEngineWorld((await suite.open()).store, passThrough);
    const { guard, died } = dyingAfterEffect(world.guard, 2);
    const { store, refund } = world;
    const options = { store, guard, tools: [refund], runOptions };
    const call = await serve(restateFlow(restate, refundFlow(world, refund), options));
    const own = { tenant: "acme", runId: `ticket-${suite.kind}-${passThrough}` };
    const running = call(runKeyOf(own), "run", ticket);
    const approval = await world.approvalOf(own.runId);
    const decision = yesTo(approval);
    expect(world.provider.ledger()).toHaveLength(0);
    const stale = await call(runKeyOf(own), "decide", { ...decision, version: 99 });
    expect(stale.status).toBe(409);
    expect((await call(runKeyOf(own), "decide", decision)).status).toBe(200);
    const ended = await running;
    return { world, ended, died };
  };

  it("prompts once and refunds once, though the process ends twice after the effect", async ({
    skip,
  }) => {
    if (server === null) return skip();
    const { world, ended, died } = await play(false);
    expect(ended).toMatchObject({ status: 200, body: { by: "lead@acme" } });
    expect(died()).toBe(2);
    expect(world.prompts()).toBe(1);
    expect(world.provider.ledger()).toHaveLength(1);
    expect(await world.eventIds()).toEqual([(ended.body as { eventId: string }).eventId]);
  });

  it("undoes what there is when a refund is refused, once, though the process ends twice after it", async ({
    skip,
  }) => {
    if (server === null) return skip();
    const world = await openEngineWorld((await suite.open()).store);
    const { guard, died } = dyingAfterEffect(world.guard, 2, "take_back");
    const { store, refund } = world;
    const name = `saga-${suite.kind}`;
    const saga = sagaFlow(name, refund, "one by one");
    const options = { store, guard, tools: [refund], runOptions };
    const call = await serve(restateFlow(restate, saga, options), name);
    world.provider.fault({ pass: true }, { decline: true });
    expect(await call(runKeyOf(id), "run", ticket)).toMatchObject({
      body: { code: "OPERATION_FAILED", undone: ["first"] },
    });
    expect(died()).toBe(2);
    expect(ledgerOf(world)).toEqual(["refund a", "take-back a"]);
  });

  it("waits for a refund in doubt, and then undoes it", async ({ skip }) => {
    if (server === null) return skip();
    const world = await openEngineWorld((await suite.open()).store);
    const { store, refund, guard } = world;
    const name = `doubt-${suite.kind}`;
    const saga = sagaFlow(name, refund, "one by one");
    const options = { store, guard, tools: [refund], runOptions };
    const call = await serve(restateFlow(restate, saga, options), name);
    world.provider.fault({ dropReplyAfterCommit: true }, { decline: true });
    expect(await call(runKeyOf(id), "run", ticket)).toMatchObject({
      body: { code: "OPERATION_FAILED", undone: ["first"] },
    });
    expect(ledgerOf(world)).toEqual(["refund a", "take-back a"]);
  });

  it("finds out what an act did that Restate gave up, and undoes that", async ({ skip }) => {
    if (server === null) return skip();
    const world = await openEngineWorld((await suite.open()).store);
    const { guard, died } = dyingAfterEffect(world.guard, 2, "issue_refund");
    const { store, refund } = world;
    const name = `given-up-${suite.kind}`;
    const limited = { ...runOptions, maxRetryAttempts: 2 };
    const options = { store, guard, tools: [refund], runOptions: limited };
    const call = await serve(restateFlow(restate, givenUpFlow(name, refund), options), name);
    expect(await call(runKeyOf(id), "run", ticket)).toMatchObject({ body: ["refund"] });
    expect(died()).toBe(2);
    expect(ledgerOf(world)).toEqual(["refund a", "take-back a"]);
  });

  it("refuses steps side by side, which it could not replay", async ({ skip }) => {
    if (server === null) return skip();
    const world = await openEngineWorld((await suite.open()).store);
    const { store, refund, guard } = world;
    const name = `side-by-side-${suite.kind}`;
    const saga = sagaFlow(name, refund, "side by side");
    const options = { store, guard, tools: [refund], runOptions };
    const call = await serve(restateFlow(restate, saga, options), name);
    const { status, body } = await call(runKeyOf(id), "run", ticket);
    expect(status).toBe(500);
    expect(JSON.stringify(body)).toMatch(/while another one is under way/);
    expect(ledgerOf(world)).not.toContain("refund b");
  });

  it.each(["APPROVAL_DECLINED", "APPROVAL_EXPIRED"])("refunds nothing after %s", async (code) => {
    if (server === null) return;
    const world = await openEngineWorld((await suite.open()).store);
    const { store, refund, guard } = world;
    const name = `asking-${suite.kind}-${code}`;
    const asking = askingFlow(name, refund, code === "APPROVAL_EXPIRED" ? 300 : 60_000);
    const options = { store, guard, tools: [refund], runOptions };
    const call = await serve(restateFlow(restate, asking, options), name);
    const running = call(runKeyOf(id), "run", ticket);
    if (code === "APPROVAL_DECLINED") {
      const approval = await world.approvalOf(id.runId);
      expect((await call(runKeyOf(id), "decide", noTo(approval))).status).toBe(200);
    }
    expect(await running).toMatchObject({ status: 200, body: { code } });
    expect(ledgerOf(world)).toEqual([]);
  });

  it("would refund three times without the guard", async ({ skip }) => {
    if (server === null) return skip();
    const { world } = await play(true);
    expect(world.prompts()).toBe(1);
    expect(world.provider.ledger()).toHaveLength(3);
  });
});
