/**
 * Real servers on free ports, one for each adapter, with the world's route at `POST /refunds`.
 */
import {
  type IncomingMessage,
  type Server,
  type ServerResponse,
  createServer,
  request as httpRequest,
} from "node:http";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import { onTestFinished } from "vitest";
import {
  type HttpRoute,
  expressHandler,
  fastifyRoute,
  honoHandler,
  nodeHandler,
} from "../../../src/edges/http/index.ts";

export const adapters = ["node", "express", "fastify", "hono"] as const;
export type Adapter = (typeof adapters)[number];

/** Errors that the server's own framework was told of. */
export interface Served {
  readonly url: string;
  readonly errors: unknown[];
}

/** Starts a server with the route at every method of `/refunds`; closed after the test. */
export async function serveRoute(adapter: Adapter, route: HttpRoute<unknown>): Promise<Served> {
  const errors: unknown[] = [];
  const server = await starters[adapter](route, errors);
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, errors };
}

type Starter = (route: HttpRoute<unknown>, errors: unknown[]) => Promise<Server>;

const starters: Record<Adapter, Starter> = {
  node: async (route, errors) => {
    const handler = nodeHandler(route, { onError: (error) => errors.push(error) });
    return listening(createServer((request, response) => void handler(request, response)));
  },
  express: async (route, errors) => {
    const app = express();
    app.all("/refunds", expressHandler(route));
    app.use(((error, _request, response, _next) => {
      errors.push(error);
      response.status(500).end();
    }) as express.ErrorRequestHandler);
    return listening(createServer(app));
  },
  fastify: async (route, errors) => {
    const app = fastify({ forceCloseConnections: true });
    app.setErrorHandler((error, _request, reply) => {
      errors.push(error);
      return reply.code(500).send();
    });
    for (const method of ["GET", "POST", "PATCH"])
      await app.register(fastifyRoute(route, { method, url: "/refunds" }));
    await app.listen({ port: 0, host: "127.0.0.1" });
    return app.server;
  },
  hono: async (route, errors) => {
    const app = new Hono();
    app.all("/refunds", honoHandler(route));
    app.onError((error, context) => {
      errors.push(error);
      return context.body(null, 500);
    });
    return new Promise((resolve) => {
      const server = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, () =>
        resolve(server as Server),
      );
    });
  },
};

/** Resolves once the server listens on a free port. */
export function listening(server: Server): Promise<Server> {
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve(server));
  });
}

/** What becomes of a request on a wire. `twice` sends it upstream two times at once. */
export type Fate = "pass" | "twice" | "lose-reply";

/** A wire to a server, as proxies are between; `fate` is asked for each request. */
export async function startWire(target: string, fate: () => Fate): Promise<string> {
  const carry = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = Buffer.concat((await request.toArray()) as Buffer[]);
    const { method = "POST", rawHeaders } = request;
    const headers = rawHeaders
      .flatMap((name, index) => (index % 2 === 0 ? [[name, rawHeaders[index + 1] ?? ""]] : []))
      .filter(([name = ""]) => !/^(?:host|connection|content-length)$/i.test(name));
    const send = (): Promise<Response> =>
      fetch(`${target}${request.url}`, { method, headers: headers as [string, string][], body });
    const found = fate();
    const [answer] = await Promise.all(found === "twice" ? [send(), send()] : [send()]);
    const text = await answer.text();
    if (found === "lose-reply") return void response.destroy();
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(text);
  };
  const server = createServer(
    (request, response) => void carry(request, response).catch(() => response.destroy()),
  );
  await listening(server);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Sends a whole request, and hangs up when the promise says so. */
export async function sendAndHangUp(
  url: string,
  headers: Record<string, string>,
  body: string,
  when: () => Promise<void>,
): Promise<void> {
  const request = httpRequest(url, { method: "POST", headers });
  request.on("error", () => {});
  request.end(body);
  await when();
  request.destroy();
}
