/**
 * The proxy by streamable HTTP. Whatever is no call of a tool passes as it is, streams too.
 *
 * @module
 */
import { randomUUID } from "node:crypto";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { localhostHostValidation, localhostOriginValidation } from "@modelcontextprotocol/node";
import type { FaultPlan } from "./fault-plan.ts";
import { type StruckCall, strike } from "./faults.ts";
import { type BackRequest, type HttpBack, endToEnd } from "./http-back.ts";
import { StruckAnswer, isQuestion } from "./struck-answer.ts";
import { toolCalledBy } from "./tool-called.ts";

/** Options of {@link startHttpProxy}. */
export interface HttpProxyOptions {
  readonly back: HttpBack;
  /** 0: any free one. On loopback only. */
  readonly port: number;
  readonly plan: FaultPlan;
  readonly holdMs: number;
  readonly effectSeen?: StruckCall<unknown>["effectSeen"];
}

/** A listening proxy. */
export interface HttpProxy {
  readonly url: string;
  close(): Promise<void>;
}

/** Listens; resolves when it does. */
export async function startHttpProxy(options: HttpProxyOptions): Promise<HttpProxy> {
  const server = createServer((request, response) => {
    // A web page must not reach a server on its reader's own machine (DNS rebinding).
    if (!localhostHostValidation()(request, response)) return;
    if (!localhostOriginValidation()(request, response)) return;
    serve(options, request, response).catch(() => request.socket.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await Promise.all([closed, options.back.close()]);
    },
  };
}

async function serve(
  options: HttpProxyOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { back, plan, effectSeen, holdMs } = options;
  const asked = await readRequest(request);
  const tool = toolCalledBy(asked.message);
  const fault = tool === undefined ? "none" : plan(tool);
  if (fault === "none") return passThrough(back, asked, response);
  const answer = new StruckAnswer(response);
  // A proxy that answers 503 has passed nothing on; but a server that isn't answered never gets there.
  const passes = fault === "unavailable-after" ? isQuestion : (): boolean => true;
  const outcome = await strike(fault, {
    send: () => answer.hold(back.forward(asked), passes),
    sendTwin: () => answer.hold(back.forward(withAnotherId(asked)), isQuestion),
    kill: () => back.kill?.(),
    effectSeen,
    holdMs,
  });
  if (outcome.told === "nothing") answer.lose();
  else if (outcome.told === "unavailable") answer.refuse();
  else answer.give(outcome.reply);
}

async function readRequest(request: IncomingMessage): Promise<BackRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks).toString("utf8");
  const { method = "GET", headers } = request;
  return { method, headers: endToEnd(headers), body, message: parsed(body) };
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function withAnotherId(asked: BackRequest): BackRequest {
  const message = { ...(asked.message as object), id: `twin-${randomUUID()}` };
  return { ...asked, message, body: JSON.stringify(message) };
}

/** The client's going away reaches the server, too. */
async function passThrough(
  back: HttpBack,
  asked: BackRequest,
  response: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const answer = await back.forward({ ...asked, signal: gone.signal });
  response.writeHead(answer.status, endToEnd(answer.headers));
  response.flushHeaders();
  if (answer.body === null) return void response.end();
  await pipeline(Readable.fromWeb(answer.body), response);
}
