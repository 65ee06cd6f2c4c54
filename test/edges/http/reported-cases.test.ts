/**
 * Failures that people reported of others, at a route on a real socket. Some more are in bodies.test.ts
 * and routes.test.ts.
 */
import { expect } from "vitest";
import type { Handler } from "../../../src/edges/http/index.ts";
import type { Store } from "../../../src/index.ts";
import {
  dropCalls,
  interceptStore,
  movableRuntime,
  unavailable,
} from "../../support/store-faults.ts";
import { type Fate, serveRoute, startWire } from "./servers.ts";
import {
  type HttpWorld,
  contract,
  httpScenario,
  lookUpIn,
  problemOf,
  refundBody,
} from "./world.ts";

interface Posted {
  readonly key?: string;
  readonly body?: unknown;
}

/** Posts as a person of one tenant. */
function post(url: string, { key = "form-1", body = refundBody }: Posted = {}): Promise<Response> {
  return fetch(`${url}/refunds`, {
    method: "POST",
    headers: {
      "idempotency-key": key,
      "x-tenant": "acme",
      "x-principal": "user-1",
      "content-type": "application/json",
    },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

const isReplay = ({ headers }: Response): boolean => headers.get("idempotent-replayed") === "true";

httpScenario(
  "480, 480.0 and 4.8e2 are one amount, and the text of it is none (case 5)",
  async (world) => {
    const { url } = await serveRoute("node", world.route({ name: "served" }));
    const answers = [];
    for (const amount of ["480", "480.0", "4.8e2", '"480"'])
      answers.push(await post(url, { body: `{"amount":${amount}}` }));
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 422]);
    expect(answers.map(isReplay)).toEqual([false, true, true, false]);
    world.assertEffects(1);
  },
);

httpScenario(
  "two routes on one store go by their own fingerprints, and a mismatch stays one in every process (case 16)",
  async (world) => {
    const amounts = world.route({ name: "amounts", fingerprint: { fields: ["amountMinor"] } });
    const orders = world.route({ name: "orders", fingerprint: { fields: ["orderId"] } });
    const changed = { ...refundBody, amountMinor: 1, note: "in other words" };
    for (const [route, path, status] of [
      [amounts, "/amounts", 422],
      [orders, "/orders", 201],
    ] as const) {
      expect((await world.send({ route, path })).status).toBe(201);
      const noted = await world.send({ route, path, body: { ...refundBody, note: "later" } });
      expect([noted.status, isReplay(noted)]).toEqual([201, true]);
      for (let round = 1; round <= 3; round += 1)
        expect((await world.send({ route, path, body: changed })).status).toBe(status);
    }
    await world.send();
    const other = await world.another();
    for (const route of [undefined, other, undefined, other])
      expect((await world.send({ ...(route && { route }), body: changed })).status).toBe(422);
    world.assertEffects(3);
  },
);

httpScenario(
  "an answer that its handler has read itself is done all the same, and nobody runs it again (case 44)",
  async (world) => {
    const route = world.route({ name: "reading" }, async (request) => {
      const answer = Response.json(await world.refund(await request.json()), { status: 201 });
      if ((await answer.text()) === "") throw new Error("nothing came");
      return answer;
    });
    const { url } = await serveRoute("node", route);
    for (const replayed of [false, true, true]) {
      const answer = await post(url);
      expect([answer.status, isReplay(answer)]).toEqual([201, replayed]);
      const { type, detail } = (await answer.json()) as Record<string, string>;
      expect(type).toMatch(/#body-not-stored$/);
      expect(detail).toContain("the handler had read it itself");
      expect(detail?.includes("ran nothing new")).toBe(replayed);
    }
    expect((await world.rows()).map(({ status }) => status)).toEqual(["DONE"]);
    world.assertEffects(1);
  },
);

httpScenario(
  "an error that JSON can't carry leaves the outcome unknown like any other (case 44)",
  async (world) => {
    const route = world.route({ name: "cyclic" }, async (request) => {
      await world.refund(await request.json());
      const error = Object.assign(new Error("lost"), { big: 1n, self: {} });
      throw Object.assign(error, { self: error });
    });
    const { url } = await serveRoute("node", route);
    const codes = [];
    for (let round = 1; round <= 3; round += 1) codes.push((await problemOf(await post(url))).code);
    expect(codes).toEqual(["OUTCOME_UNKNOWN", "NEEDS_REVIEW", "NEEDS_REVIEW"]);
    world.assertEffects(1);
  },
);

httpScenario(
  "a completion of which only the acknowledgement is lost is done (case 46)",
  async (world) => {
    const { url } = await serveRoute("node", world.route({ name: "served" }));
    const first = await post(url);
    expect([first.status, first.headers.get("idempotent-recorded")]).toEqual([201, null]);
    expect(isReplay(await post(url))).toBe(true);
    world.assertEffects(1);
  },
  (store) => dropCalls(store, { methods: ["complete"], when: "after", times: 1 }),
);

const away = { on: false };
const awayRuntime = movableRuntime();
const awayAtComplete = (store: Store): Store =>
  interceptStore(store, (method, call) => {
    if (method !== "complete" || !away.on) return call();
    // The lease of the handler is over at once.
    awayRuntime.move(30_000);
    throw unavailable();
  });

httpScenario(
  "an answer that could not be recorded is given once, and found by looking later (case 46)",
  async (world) => {
    away.on = true;
    const terms = { ...contract, lookUp: lookUpIn(world) };
    const route = world.route({ name: "unrecorded", contract: terms });
    const { url } = await serveRoute("node", route);
    const first = await post(url);
    expect(first.status).toBe(201);
    const recorded = first.headers.get("idempotent-recorded");
    away.on = false;
    world.clock.advance(60_000);
    const again = await post(url);
    expect([again.status, isReplay(again), recorded]).toEqual([201, true, "false"]);
    expect(await again.json()).toEqual(await first.json());
    world.assertEffects(1);
  },
  awayAtComplete,
  awayRuntime,
);

httpScenario(
  "a client that sends again whenever a reply is lost has one effect (cases 53, 84)",
  async (world) => {
    const { url } = await serveRoute("node", world.route({ name: "served" }));
    const fates: Fate[] = ["lose-reply", "lose-reply", "lose-reply", "lose-reply"];
    const wire = await startWire(url, () => fates.shift() ?? "pass");
    const told: string[] = [];
    for (let round = 1; round <= 5; round += 1)
      told.push(
        await post(wire).then(
          ({ status }) => String(status),
          () => "lost",
        ),
      );
    expect(told).toEqual(["lost", "lost", "lost", "lost", "201"]);
    world.assertEffects(1);
  },
);

httpScenario(
  "two clicks through a proxy that sends twice, in front of a slow refund, are one (case 106)",
  async (world) => {
    const route = world.route({ name: "clicked", onInProgress: { waitMs: 60_000 } });
    const { url } = await serveRoute("node", route);
    const wire = await startWire(url, () => "twice");
    world.provider.fault({ gate: "slow" });
    const clicks = [post(wire), post(wire)];
    await world.provider.parked("slow");
    world.provider.release("slow");
    const answers = await Promise.all(clicks);
    const texts = await Promise.all(answers.map((answer) => answer.text()));
    expect(answers.map(({ status }) => status)).toEqual([201, 201]);
    expect(texts[0]).toBe(texts[1]);
    world.assertEffects(1);
  },
);

const statuses = [400, 401, 403, 404, 408, 409, 422, 425, 429, 500, 502, 503, 504];

/** Says what the handler does with a request of the key `how-status`. */
function ending(world: HttpWorld, again: Set<string>): Handler<unknown> {
  return async (request, call) => {
    const key = call.operation?.idempotencyKey ?? "";
    const [how, text] = key.split("-");
    const status = Number(text);
    const isSecond = again.has(key);
    again.add(key);
    if (how === "answers" || isSecond) await world.refund(await request.json());
    if (how === "answers") return new Response(null, { status });
    if (how === "refuses") throw call.refused({ status, reason: "no" });
    if (isSecond) return new Response(null, { status: 201 });
    throw call.notBegun({ status, reason: "later" });
  };
}

httpScenario(
  "what each status leaves behind, answered after the effect, refused, or turned away before it (case 58)",
  async (world) => {
    const { url } = await serveRoute(
      "node",
      world.route({ name: "ends" }, ending(world, new Set())),
    );
    const told: Record<string, string[]> = {};
    for (const status of statuses) {
      for (const how of ["answers", "refuses", "turns away"]) {
        const key = `${how}-${status}`.replace(" ", "_");
        const answers = [await post(url, { key }), await post(url, { key })];
        const row = (await world.rows()).find(({ intent }) => intent.includes(`"${key}"`));
        const statusesTold = answers.map((answer) => answer.status).join(" ");
        (told[how] ??= []).push(`${statusesTold} ${row?.status}`);
      }
    }
    const done = (status: number): string => `${status} ${status} DONE`;
    const failed = (status: number): string => `${status} ${status} FAILED`;
    const later = (status: number): string => `${status} 201 DONE`;
    const unknown = "504 409 NEEDS_REVIEW";
    const isFinal = (status: number): boolean => [400, 401, 403, 404, 409, 422].includes(status);
    expect(told).toEqual({
      answers: statuses.map((status) => (isFinal(status) ? done(status) : unknown)),
      refuses: statuses.map((status) => (status < 500 ? failed(status) : unknown)),
      "turns away": statuses.map((status) =>
        status < 500 || status === 503 ? later(status) : unknown,
      ),
    });
    // Thirteen were answered after the effect; ten of those turned away came again.
    world.assertEffects(13 + 10);
  },
);

httpScenario(
  "a refusal stays with its key, and the mended matter goes through under a new one (case 59)",
  async (world) => {
    const route = world.route({ name: "card" }, async (request, call) => {
      if (call.operation?.idempotencyKey === "old-card")
        throw call.refused({ status: 402, reason: "The card was declined" });
      return Response.json(await world.refund(await request.json()), { status: 201 });
    });
    const { url } = await serveRoute("node", route);
    const keys = ["old-card", "old-card", "new-card", "new-card", "old-card"];
    const told: string[] = [];
    for (const key of keys) {
      const answer = await post(url, { key });
      told.push(`${answer.status}${isReplay(answer) ? " again" : ""}`);
    }
    expect(told).toEqual(["402", "402 again", "201", "201 again", "402 again"]);
    expect(world.runs.count).toBe(2);
    world.assertEffects(1);
  },
);

httpScenario(
  "a failure that is proved later frees the matter for a new key; an absence that may end doesn't (case 60)",
  async (world) => {
    const lookUp = {
      lagMs: 1000,
      authoritative: true,
      find: ({ arguments: args }: { readonly arguments: { readonly body: unknown } }) => {
        const { orderId } = (args.body as { json: { orderId: string } }).json;
        if (orderId === "absent") return { answer: "absent" } as const;
        const response = new Response(null, { status: 402 });
        return {
          answer: "found",
          effects: [{ status: "failed", providerId: "tx_1", response }],
        } as const;
      },
    };
    const lost = new Set(["reverted-1", "absent-1"]);
    const route = world.route(
      { name: "broadcast", contract: { ...contract, lookUp } },
      async (request, call) => {
        if (lost.has(call.operation?.idempotencyKey ?? "")) throw new Error("lost");
        return Response.json(await world.refund(await request.json()), { status: 201 });
      },
    );
    const { url } = await serveRoute("node", route);
    const codes = async (orderId: string): Promise<string[]> => {
      const told = [];
      for (let round = 1; round <= 3; round += 1) {
        const body = { ...refundBody, orderId };
        told.push((await problemOf(await post(url, { key: `${orderId}-1`, body }))).code);
        world.clock.advance(60_000);
      }
      return told;
    };
    expect(await codes("reverted")).toEqual([
      "OUTCOME_UNKNOWN",
      "OPERATION_FAILED",
      "OPERATION_FAILED",
    ]);
    expect(await codes("absent")).toEqual(["OUTCOME_UNKNOWN", "NEEDS_REVIEW", "NEEDS_REVIEW"]);
    for (let round = 1; round <= 2; round += 1)
      expect((await post(url, { key: "reverted-2" })).status).toBe(201);
    world.assertEffects(1);
  },
);
