/**
 * Agents by streamable HTTP, with health and readiness beside the endpoint.
 *
 * @module
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  localhostHostValidation,
  localhostOriginValidation,
  toNodeHandler,
} from "@modelcontextprotocol/node";
import {
  type AuthInfo,
  type McpHandlerRequestOptions,
  createMcpHandler,
  isLegacyRequest,
} from "@modelcontextprotocol/server";
import { NeverTwiceError } from "../base/errors.ts";
import { createAgentServer } from "./agent-server.ts";
import { AgentSessions } from "./agent-sessions.ts";
import type { HttpConfig } from "./config/gateway-config.ts";
import { isLoopback } from "./config/load-config.ts";
import type { Gateway } from "./gateway.ts";
import { refuseMismatch } from "./header-mismatch.ts";
import type { Logger } from "./log.ts";
import { passedOn } from "./passed-on.ts";

/** A listening service. */
export interface HttpService {
  readonly url: string;
  /** Takes no new requests; resolves when those under way are answered. */
  close(): Promise<void>;
}

const closeWithinMs = 2000;

type Request = IncomingMessage & { auth?: AuthInfo };

/** Listens; resolves when it does. */
export async function serveAgentsOnHttp(
  gateway: Gateway,
  config: HttpConfig,
  version: string,
  log: Logger,
): Promise<HttpService> {
  const { requestBytes } = gateway.config.limits;
  const handler = createMcpHandler((context) => createAgentServer(gateway, version, context), {
    maxRequestBodySize: requestBytes,
    onerror: (error) => log.warn({ reason: error.message }, "agent request"),
  });
  const sessions = config.sessions
    ? new AgentSessions({
        createServer: () => createAgentServer(gateway, version, { era: "legacy" }),
        requestBytes,
      })
    : undefined;
  const fetch = async (request: globalThis.Request, given?: McpHandlerRequestOptions) =>
    sessions !== undefined && (await isLegacyRequest(request, given?.parsedBody))
      ? sessions.fetch(request, given)
      : ((await refuseMismatch(gateway, request)) ?? handler.fetch(request, given));
  const answer = toNodeHandler({ fetch }, { maxRequestBodySize: requestBytes });
  const stopTools = gateway.onToolsChanged(() => {
    handler.notify.toolsChanged();
    sessions?.notify("notifications/tools/list_changed", {});
  });
  const stopOthers = gateway.forwarder.onNotification((method, params) => {
    if (passedOn.test(method)) sessions?.notify(method, params);
    if (method === "notifications/resources/list_changed") handler.notify.resourcesChanged();
    if (method === "notifications/prompts/list_changed") handler.notify.promptsChanged();
    if (method === "notifications/resources/updated")
      handler.notify.resourceUpdated(String(params["uri"]));
  });
  const server = createServer((request: Request, response) => {
    if (request.url === "/healthz") return tell(response, 200, "ok");
    if (request.url === "/readyz") return tellReadiness(gateway, response);
    if (!isAllowed(gateway, config, request, response)) return;
    answer(request as Parameters<typeof answer>[0], response).catch((error: unknown) => {
      log.error({ error: String(error) }, "agent request");
      response.destroy();
    });
  });
  await listen(server, config);
  const { port } = server.address() as AddressInfo;
  const host = config.host.includes(":") ? `[${config.host}]` : config.host;
  return {
    url: `http://${host}:${port}${config.path}`,
    close: async () => {
      stopTools();
      stopOthers();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await Promise.all([handler.close(), sessions?.close()]);
      server.closeIdleConnections();
      // Whoever reads an answer slowly gets a moment; streams without an end do not.
      const timer = setTimeout(() => server.closeAllConnections(), closeWithinMs);
      await closed;
      clearTimeout(timer);
    },
  };
}

function listen(server: Server, { host, port }: HttpConfig): Promise<void> {
  return new Promise((resolve, reject) => {
    const refuse = ({ message }: Error): void =>
      reject(new NeverTwiceError("CONFIGURATION_INVALID", `\`http\` can't be served: ${message}`));
    server.once("error", refuse);
    server.listen(port, host, () => {
      server.off("error", refuse);
      resolve();
    });
  });
}

/** Answers a request that may not pass, and says so. */
function isAllowed(
  gateway: Gateway,
  config: HttpConfig,
  request: Request,
  response: ServerResponse,
): boolean {
  const [path] = (request.url ?? "").split("?");
  if (path !== config.path) {
    tell(response, 404, "There is nothing here.");
    return false;
  }
  // A web page must not reach a gateway on its reader's own machine (DNS rebinding).
  if (isLoopback(config.host)) {
    if (!localhostHostValidation()(request, response)) return false;
    if (!localhostOriginValidation()(request, response)) return false;
  }
  // As the configuration says by now: tokens may be changed without a restart.
  const { tokens } = gateway.config.http ?? config;
  if (tokens.length === 0 && isLoopback(config.host)) return true;
  const given = /^Bearer (.+)$/i.exec(request.headers.authorization ?? "")?.[1] ?? "";
  const known = tokens.find(({ token }) => isSame(token, given));
  if (known === undefined) {
    response.setHeader("www-authenticate", "Bearer");
    tell(response, 401, "A bearer token is needed; nothing was sent.");
    return false;
  }
  request.auth = {
    token: given,
    clientId: known.tenant,
    scopes: [],
    extra: { tenant: known.tenant },
  };
  return true;
}

/** In constant time, whatever the lengths. */
function isSame(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}

function tell(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8" });
  response.end(`${text}\n`);
}

function tellReadiness(gateway: Gateway, response: ServerResponse): void {
  const { isReady, servers } = gateway;
  response.writeHead(isReady ? 200 : 503, { "content-type": "application/json" });
  response.end(`${JSON.stringify({ ready: isReady, servers })}\n`);
}
