/**
 * The same story on a real socket behind each adapter: one effect, the same bytes again, and a client
 * that hangs up. Then what is particular to one of them.
 */
import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  createHttpEdge,
  expressHandler,
  fastifyRoute,
  honoHandler,
} from "../../../src/edges/http/index.ts";
import { createGuard } from "../../../src/index.ts";
import { describeStores } from "../../support/stores.ts";
import { adapters, listening, sendAndHangUp, serveRoute } from "./servers.ts";
import {
  contract,
  createHttpWorld,
  edgeOptions,
  firstKey,
  gate,
  httpScenario,
  problemOf,
  refundBody,
} from "./world.ts";

const headers = {
  "idempotency-key": firstKey,
  "x-tenant": "acme",
  "x-principal": "user-1",
  "content-type": "application/json",
};

/** With commas inside, which must not part them (case 48). */
const fields = { "content-disposition": 'attachment; filename="a,b.txt"', etag: 'W/"a,b"' };

function post(
  url: string,
  change: { key?: string; body?: string; path?: string } = {},
): Promise<Response> {
  return fetch(`${url}${change.path ?? "/refunds"}`, {
    method: "POST",
    headers: { ...headers, ...(change.key === undefined ? {} : { "idempotency-key": change.key }) },
    body: change.body ?? JSON.stringify(refundBody),
  });
}

for (const adapter of adapters) {
  httpScenario(
    `${adapter}: one effect, the same bytes again, and the draft's refusals`,
    async (world) => {
      const contexts: unknown[] = [];
      const route = world.route(
        { name: "served", maxBodyBytes: 100_000 },
        async (request, call) => {
          contexts.push(call.context);
          const { id } = await world.refund(await request.json());
          const answer = Response.json(
            { id },
            { status: 201, headers: { ...fields, location: `/refunds/${id}` } },
          );
          answer.headers.append("set-cookie", "a=1");
          answer.headers.append("set-cookie", "b=2");
          return answer;
        },
      );
      const { url } = await serveRoute(adapter, route);
      const first = await post(url);
      const text = await first.text();
      expect([first.status, first.headers.getSetCookie()]).toEqual([201, ["a=1", "b=2"]]);
      const again = await post(url);
      expect([again.status, await again.text(), again.headers.getSetCookie()]).toEqual([
        201,
        text,
        [],
      ]);
      expect(again.headers.get("idempotent-replayed")).toBe("true");
      expect(again.headers.get("content-length")).toBe(String(text.length));
      expect(again.headers.get("location")).toBe(first.headers.get("location"));
      for (const answer of [first, again])
        for (const [name, value] of Object.entries(fields))
          expect([name, answer.headers.get(name)]).toEqual([name, value]);

      expect((await post(url, { body: "{}" })).status).toBe(422);
      expect((await post(url, { path: "/refunds?x=1" })).status).toBe(422);
      const unsafe = await problemOf(await post(url, { key: "u", body: '{"n":9007199254740993}' }));
      expect(unsafe).toMatchObject({ status: 400, code: "UNSUPPORTED_ARGUMENT" });
      const large = await post(url, { key: "l", body: JSON.stringify("x".repeat(3_000_000)) });
      expect((await problemOf(large)).status).toBe(413);
      const bare = await fetch(`${url}/refunds`, { method: "POST", body: "{}" });
      expect((await problemOf(bare)).type).toBe("key-missing");
      expect(contexts).toHaveLength(1);
      world.assertEffects(1);
    },
  );

  httpScenario(`${adapter}: a client that hangs up cancels nothing`, async (world) => {
    const route = world.route({ name: "served", onInProgress: { waitMs: 60_000 } });
    const { url, errors } = await serveRoute(adapter, route);
    world.provider.fault({ gate: "slow" });
    await sendAndHangUp(`${url}/refunds`, headers, JSON.stringify(refundBody), () =>
      world.provider.parked("slow"),
    );
    world.provider.release("slow");
    const again = await post(url);
    expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([201, "true"]);
    expect(errors).toEqual([]);
    world.assertEffects(1);
  });

  httpScenario(
    `${adapter}: a request whose body breaks off runs nothing, and the whole one runs once`,
    async (world) => {
      const seen: string[] = [];
      const route = world.route({ name: "served" }, async (request) => {
        seen.push(await request.text());
        await world.refund({ lines: seen.length });
        return new Response(null, { status: 201 });
      });
      const [begun, ended] = [gate(), gate()];
      const handle: typeof route.handle = async (request, context) => {
        begun.open();
        try {
          return await route.handle(request, context);
        } finally {
          ended.open();
        }
      };
      const { url } = await serveRoute(adapter, { ...route, handle });
      const csv = { ...headers, "content-type": "text/csv" };
      const half = httpRequest(`${url}/refunds`, {
        method: "POST",
        headers: { ...csv, "content-length": "20" },
      });
      half.on("error", () => {}).write("8812;480\n");
      await begun.wait;
      half.destroy();
      await ended.wait;
      expect([seen, await world.rows()]).toEqual([[], []]);
      const body = "8812;480\n8813;480\n";
      for (let round = 1; round <= 2; round += 1) {
        const answer = await fetch(`${url}/refunds`, { method: "POST", headers: csv, body });
        expect(answer.status).toBe(201);
      }
      expect(seen).toEqual([body]);
      world.assertEffects(1);
    },
  );

  httpScenario(
    `${adapter}: 204, an empty answer and a large stream come as they are`,
    async (world) => {
      const answers: Record<string, () => Response> = {
        none: () => new Response(null, { status: 204 }),
        empty: () => new Response("", { status: 201 }),
        large: () => new Response(new Uint8Array(3_000_000), { status: 200 }),
      };
      const route = world.route({ name: "served" }, async (request, call) => {
        await world.refund(await request.json());
        return (
          answers[call.operation?.idempotencyKey ?? ""]?.() ?? new Response(null, { status: 404 })
        );
      });
      const { url } = await serveRoute(adapter, route);
      for (const [key, status, bytes] of [
        ["none", 204, 0],
        ["empty", 201, 0],
        ["large", 200, 3_000_000],
      ] as const) {
        const first = await post(url, { key });
        expect([first.status, (await first.arrayBuffer()).byteLength]).toEqual([status, bytes]);
        const again = await post(url, { key });
        expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([status, "true"]);
      }
      world.assertEffects(3);
    },
  );
}

describeStores("each adapter", (suite) => {
  it.each(adapters)(
    "%s: two fields of the key are refused, and an error of the app is the framework's",
    async (adapter) => {
      const world = await createHttpWorld(suite, createGuard);
      const http = createHttpEdge<unknown>({
        ...edgeOptions,
        guard: world.guard,
        principal: () => Promise.reject(new Error("no session")),
      });
      const route = http.route({ name: "r", key: "required", contract }, () => new Response());
      const { url, errors } = await serveRoute(adapter, route);
      const status = await new Promise((resolve, reject) => {
        const request = httpRequest(`${url}/refunds`, { method: "POST" }, (response) => {
          response.resume();
          resolve(response.statusCode);
        });
        request.setHeader("idempotency-key", ["a", "a"]);
        request.on("error", reject).end("{}");
      });
      expect(status).toBe(400);
      expect(errors).toEqual([]);
      expect((await post(url)).status).toBe(500);
      expect(errors).toEqual([expect.objectContaining({ message: "no session" })]);
      expect(await world.rows()).toEqual([]);
    },
  );

  it.each(adapters)("%s: reading goes straight through", async (adapter) => {
    const world = await createHttpWorld(suite, createGuard);
    const route = world.route({ name: "r" }, (request) => new Response(request.method));
    const { url } = await serveRoute(adapter, route);
    const read = await fetch(`${url}/refunds`, { headers });
    expect([read.status, await read.text()]).toEqual([200, "GET"]);
    expect(await world.rows()).toEqual([]);
  });
});

describe("a body that something in front has read", () => {
  describeStores("is refused, and never taken for an empty one", (suite) => {
    it("on Express, unless its bytes were kept", async () => {
      const world = await createHttpWorld(suite, createGuard);
      const app = express();
      const keep = (request: object, _response: object, bytes: Buffer): void => {
        Object.assign(request, { rawBody: bytes });
      };
      app.use("/kept", express.json({ verify: keep }));
      app.use("/lost", express.json());
      const handler = expressHandler(world.route({ name: "read" }));
      app.post("/kept", handler);
      app.post("/lost", handler);
      const server = await listening(createServer(app));
      onTestFinished(() => void server.close());
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const lost = await problemOf(await post(url, { path: "/lost" }));
      expect(lost).toMatchObject({ status: 500, code: "CONFIGURATION_INVALID" });
      world.assertEffects(0);
      expect((await post(url, { path: "/kept" })).status).toBe(201);
      expect((await post(url, { path: "/kept", body: "{}" })).status).toBe(422);
      expect((await post(url, { path: "/kept" })).headers.has("idempotent-replayed")).toBe(true);
      world.assertEffects(1);
    });

    it("on Hono", async () => {
      const world = await createHttpWorld(suite, createGuard);
      const app = new Hono();
      app.use(async (context, next) => {
        await context.req.json();
        await next();
      });
      app.post("/refunds", honoHandler(world.route({ name: "read" })));
      const answer = await app.request("/refunds", {
        method: "POST",
        headers,
        body: JSON.stringify(refundBody),
      });
      expect((await problemOf(answer)).code).toBe("CONFIGURATION_INVALID");
      world.assertEffects(0);
    });

    it("and a Fastify plugin keeps its bytes while the others parse", async () => {
      const world = await createHttpWorld(suite, createGuard);
      const app = fastify();
      await app.register(
        fastifyRoute(world.route({ name: "read" }), { method: "POST", url: "/refunds" }),
      );
      app.post("/parsed", (request, reply) => reply.send(request.body));
      onTestFinished(() => app.close());
      const inject = (url: string) =>
        app.inject({ method: "POST", url, headers, payload: JSON.stringify(refundBody) });
      expect((await inject("/parsed")).json()).toEqual(refundBody);
      expect((await inject("/refunds")).statusCode).toBe(201);
      expect((await inject("/refunds")).headers["idempotent-replayed"]).toBe("true");
      world.assertEffects(1);
    });
  });
});

describeStores("the request's target", (suite) => {
  it("is a path of this service, whatever it looks like", async () => {
    const world = await createHttpWorld(suite, createGuard);
    const seen: unknown[] = [];
    const route = world.route({ name: "r" }, (_request, call) => {
      seen.push(call.operation?.arguments.path);
      return new Response();
    });
    const { url } = await serveRoute("node", route);
    const { port } = new URL(url);
    for (const [path, host] of [
      ["//evil.example/refunds", "a"],
      ["/refunds", "not a host"],
      ["http://x/abs", "b"],
    ] as const) {
      await new Promise((resolve, reject) => {
        const options = { port, path, method: "POST", headers: { ...headers, host } };
        httpRequest(options, (response) => response.resume().on("end", resolve))
          .on("error", reject)
          .end("{}");
      });
    }
    expect(seen).toEqual(["//evil.example/refunds", "/refunds", "/abs"]);
  });
});
