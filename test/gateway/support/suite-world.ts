/**
 * The suite's server by HTTP, in this process, and a gateway in front of a server.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { type IncomingMessage, type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  localhostHostValidation,
  localhostOriginValidation,
  toNodeHandler,
} from "@modelcontextprotocol/node";
import { createMcpHandler } from "@modelcontextprotocol/server";
import { pino } from "pino";
import { onTestFinished } from "vitest";
import { definitionHash } from "../../../src/edges/mcp/tool-definition.ts";
import { readConfig } from "../../../src/gateway/config/load-config.ts";
import { type Gateway, startGateway } from "../../../src/gateway/gateway.ts";
import type { Pins } from "../../../src/gateway/pins.ts";
import { serveAgentsOnHttp } from "../../../src/gateway/serve-http.ts";
import type { OpenStore, StoreSuite } from "../../support/stores.ts";
import { createSuiteServer, listTools } from "./suite-server.ts";

/** A folder that goes with the test. */
export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "nevertwice-outside-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** The suite's server, as it is served. */
export interface ServedSuite {
  readonly url: string;
  readonly listener: Server;
  /** The requests that came, newest last. */
  readonly requests: readonly IncomingMessage[];
  /** Those of them whose answer has left. */
  readonly answered: readonly IncomingMessage[];
}

/** Serves both eras, the older one without sessions. */
export async function serveSuite(): Promise<ServedSuite> {
  const requests: IncomingMessage[] = [];
  const answered: IncomingMessage[] = [];
  const handler = createMcpHandler(() =>
    createSuiteServer({
      toolsChanged: () => handler.notify.toolsChanged(),
      promptsChanged: () => handler.notify.promptsChanged(),
    }),
  );
  const handle = toNodeHandler(handler);
  const listener = createServer((request, response) => {
    requests.push(request);
    response.once("finish", () => answered.push(request));
    if (!localhostHostValidation()(request, response)) return;
    if (!localhostOriginValidation()(request, response)) return;
    void handle(request as Parameters<typeof handle>[0], response);
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    await handler.close();
    listener.closeAllConnections();
    listener.close();
  });
  const { port } = listener.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/mcp`, listener, requests, answered };
}

/** What the suite's server lists, as a person looked at it. */
function suitePins(): Pins {
  return new Map(listTools().tools.map((tool) => [`suite/${tool.name}`, definitionHash(tool)]));
}

/** Policies that guard these tools of the suite's server. */
export function guardedTools(names: readonly string[]): string {
  const policies = names.map(
    (name) =>
      `  suite/${name}: { kind: non-idempotent, intent: "${name}:{args.order}", businessArguments: { order: null } }`,
  );
  return ["tools:", ...policies].join("\n");
}

/** A gateway with sessions; what its configuration doesn't list passes. */
export async function startBefore(
  suite: StoreSuite,
  upstream: string,
  tools = "",
): Promise<{ url: string; gateway: Gateway; opened: OpenStore }> {
  const opened = await suite.open();
  const text = `
context: { tenant: { value: acme } }
unlisted: pass
http: { port: 0, sessions: true }
upstreams:
  suite: ${upstream}
${tools}
`;
  const config = readConfig(join(folder(), "nevertwice.yaml"), text, {});
  const log = pino({ level: "silent" });
  const pins = suitePins();
  const gateway = await startGateway({
    config,
    readPins: () => pins,
    store: opened.store,
    log,
    version: "0.0.0",
  });
  const http = config.http ?? { host: "127.0.0.1", port: 0, path: "/mcp", tokens: [] };
  const service = await serveAgentsOnHttp(gateway, http, "0.0.0", log);
  onTestFinished(async () => {
    await gateway.close();
    await service.close();
  });
  return { url: service.url, gateway, opened };
}
