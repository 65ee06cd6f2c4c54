/**
 * The world of a gateway scenario: a real store, an upstream server in a process of its own whose
 * ledger is a file, the gateway with real HTTP towards agents, and the official client as the agent.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { pino } from "pino";
import { expect, onTestFinished } from "vitest";
import { type Guard, type OperationRecord, createGuard } from "../../../src/index.ts";
import { type ToolDefinition, definitionHash } from "../../../src/edges/mcp/tool-definition.ts";
import { readConfig } from "../../../src/gateway/config/load-config.ts";
import { type Gateway, startGateway } from "../../../src/gateway/gateway.ts";
import type { Pins } from "../../../src/gateway/pins.ts";
import { type HttpService, serveAgentsOnHttp } from "../../../src/gateway/serve-http.ts";
import { type CreateGuard, itHoldsAndCanFail } from "../../support/scenario.ts";
import { type OpenStore, type StoreSuite, describeStores } from "../../support/stores.ts";
import { refundServer } from "./servers.ts";
import { wholeList } from "../../support/worker-params.ts";

/** A tool's result as the agent gets it. */
export interface ToolAnswer {
  readonly content: readonly { readonly type: string; readonly text?: string }[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
  readonly [member: string]: unknown;
}

/** What of the answer is ours. */
export interface Operation {
  readonly status?: string;
  readonly code?: string;
  readonly replayed?: boolean;
  readonly key?: string;
}

export interface AgentOptions {
  readonly era?: "legacy" | "modern";
  readonly headers?: Readonly<Record<string, string>>;
  readonly capabilities?: Readonly<Record<string, unknown>>;
}

export interface GatewayWorld {
  readonly opened: OpenStore;
  readonly gateway: Gateway;
  readonly service: HttpService;
  readonly folder: string;
  readonly agent: Client;
  /** Another agent. */
  connect(options?: AgentOptions): Promise<Client>;
  /** Another gateway on the same store. */
  another(): Promise<{ gateway: Gateway; agent: Client }>;
  /** Issues the refund. */
  refund(
    change?: Readonly<Record<string, unknown>>,
    by?: Client,
    meta?: Readonly<Record<string, unknown>>,
  ): Promise<ToolAnswer>;
  /** A guard on the same store, for a reviewer. */
  bare(): Promise<{ guard: Guard }>;
  /** Sets something that goes wrong in the server; see refund-server.ts. */
  set(flag: string): void;
  clear(flag: string): void;
  /** The server's ledger. */
  effects(): readonly Record<string, unknown>[];
  /** Asserts how many effects there are. THE verdict. */
  assertEffects(count: number): void;
  rows(): Promise<readonly OperationRecord[]>;
}

export interface GatewayScenarioOptions {
  /** Lines of the refund tool's policy. */
  readonly policy?: string;
  /** Of the refund tool. Default 60 s: of real time there is plenty. */
  readonly timeout?: string;
  /** Default: `refund:{args.order_id}`. */
  readonly intent?: string;
  /** Lines of the configuration beside it. */
  readonly config?: string;
  readonly agent?: AgentOptions;
  /** Where the refund server is, by HTTP; its ledger is in the folder. Default: a process of the gateway's. */
  readonly serverUrl?: (folder: string) => Promise<string>;
}

export const refundPolicy = `
    businessArguments: { order_id: trim, amount_minor: null, currency: upper-case }
    freeText: [reason]
    timeout: 60s
`;

/** The key travels, and the server remembers it. */
export const keyed = `
    key: { argument: idempotency_key, retention: 24h, atomic: true, afterError: re-executes }
    mode: window
`;

/** The server is asked what happened. */
export const lookedUp = `
    key: { argument: idempotency_key }
    reconcile:
      tool: list_refunds
      arguments: { order_id: "{args.order_id}" }
      items: /refunds
      match: { /idempotency_key: "{wireKey}" }
      id: /id
`;

/** Two tenants by their tokens; the agent has acme's. */
export const twoTenants = {
  config: `http:
  port: 0
  tokens:
    - { token: "\${TOKEN_ACME}", tenant: acme }
    - { token: "\${TOKEN_BIRCH}", tenant: birch }`,
  agent: { headers: { authorization: "Bearer acme-token-0123456789" } },
} satisfies GatewayScenarioOptions;

/** Registers a scenario on both stores, and the check that it breaks without a guard. */
export function gatewayScenario(
  title: string,
  options: GatewayScenarioOptions,
  play: (world: GatewayWorld) => Promise<void>,
): void {
  describeStores(title, (suite) => {
    itHoldsAndCanFail({ build: (create) => createGatewayWorld(suite, options, create), play });
  });
}

/** Creates the world on a fresh store. */
export async function createGatewayWorld(
  suite: StoreSuite,
  options: GatewayScenarioOptions,
  create: CreateGuard = createGuard,
): Promise<GatewayWorld> {
  const opened = await suite.open({});
  const pins = await refundPins();
  const folder = mkdtempSync(join(tmpdir(), "nevertwice-gateway-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const server = upstreamText(folder, await options.serverUrl?.(folder));
  const start = async (): Promise<{ gateway: Gateway; service: HttpService }> => {
    const config = readConfig(join(folder, "nevertwice.yaml"), configText(server, options), {
      TOKEN_ACME: "acme-token-0123456789",
      TOKEN_BIRCH: "birch-token-0123456789",
    });
    const gateway = await startGateway({
      config,
      readPins: () => pins,
      store: await opened.again(),
      log: pino({ level: process.env["GATEWAY_LOG"] ?? "silent" }),
      version: "0.0.0",
      createGuard: create,
    });
    const http = config.http ?? { host: "127.0.0.1", port: 0, path: "/mcp", tokens: [] };
    const service = await serveAgentsOnHttp(gateway, http, "0.0.0", pino({ level: "silent" }));
    onTestFinished(async () => {
      await gateway.close();
      await service.close();
    });
    return { gateway, service };
  };
  const { gateway, service } = await start();
  const agent = await connectAgent(service.url, options.agent);
  const ledger = join(folder, "ledger.jsonl");
  const effects = (): readonly Record<string, unknown>[] =>
    existsSync(ledger)
      ? readFileSync(ledger, "utf8")
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line) as Record<string, unknown>)
      : [];
  return {
    opened,
    gateway,
    service,
    folder,
    agent,
    connect: (more = {}) => connectAgent(service.url, { ...options.agent, ...more }),
    another: async () => {
      const other = await start();
      return {
        gateway: other.gateway,
        agent: await connectAgent(other.service.url, options.agent),
      };
    },
    refund: (change = {}, by = agent, meta) => {
      const args = { order_id: "8812", amount_minor: 48_000, ...change };
      const answering = callTool(by, "issue_refund", args, meta);
      // Under a pass-through a scenario may end before its calls do.
      answering.catch(() => {});
      return answering;
    },
    bare: async () => ({ guard: await createGuard({ store: await opened.again() }) }),
    set: (flag) => writeFileSync(join(folder, flag), ""),
    clear: (flag) => rmSync(join(folder, flag), { force: true }),
    effects,
    assertEffects: (count) => expect(effects(), "effects in the ledger").toHaveLength(count),
    rows: () => rowsOf(opened),
  };
}

/** Every operation in the store. */
export function rowsOf({ store }: OpenStore): Promise<readonly OperationRecord[]> {
  return store.list(wholeList);
}

function upstreamText(folder: string, url: string | undefined): string {
  return url === undefined
    ? `{ command: "${process.execPath}", args: ["${refundServer()}"], env: { LEDGER_FOLDER: "${folder}" } }`
    : `{ url: "${url}" }`;
}

function configText(server: string, options: GatewayScenarioOptions): string {
  const { policy, config = "", timeout = "60s" } = options;
  const { intent = "refund:{args.order_id}" } = options;
  return `
${config.includes("context:") ? "" : "context: { tenant: { value: acme } }"}
${config}
upstreams:
  shop: ${server}
tools:
  shop/issue_refund:
    kind: non-idempotent
    intent: "${intent}"
${refundPolicy.replace("60s", timeout)}
${policy ?? "    key: { argument: idempotency_key }"}
  shop/list_refunds: { kind: read-only }
`;
}

let pinned: Promise<Pins> | undefined;

/** What the refund server lists, as a person looked at it. */
export function refundPins(): Promise<Pins> {
  pinned ??= (async () => {
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [refundServer()],
    });
    const client = new Client({ name: "pins", version: "1.0.0" });
    await client.connect(transport);
    // Past the client's schemas, which would drop the server's own members.
    const listed = new Promise<ToolDefinition[]>((resolve) => {
      const onmessage = (message: unknown): void =>
        resolve((message as { result: { tools: ToolDefinition[] } }).result.tools);
      Object.assign(transport, { onmessage });
    });
    await transport.send({ jsonrpc: "2.0", id: 99, method: "tools/list", params: {} });
    const tools = await listed;
    await client.close();
    return new Map(tools.map((tool) => [`shop/${tool.name}`, definitionHash(tool)]));
  })();
  return pinned;
}

/** An agent with the official client. */
export async function connectAgent(url: string, options: AgentOptions = {}): Promise<Client> {
  const { era = "modern", headers = {}, capabilities = {} } = options;
  const client = new Client(
    { name: "agent", version: "1.0.0" },
    { capabilities, versionNegotiation: { mode: era === "modern" ? "auto" : "legacy" } },
  );
  await client.connect(
    new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { ...headers } } }),
  );
  onTestFinished(() => client.close());
  return client;
}

/** Calls a tool; the answer as the official client gives it. */
export async function callTool(
  client: Client,
  name: string,
  args: Readonly<Record<string, unknown>>,
  meta?: Readonly<Record<string, unknown>>,
): Promise<ToolAnswer> {
  const params = { name, arguments: args, ...(meta === undefined ? {} : { _meta: meta }) };
  return (await client.callTool(params)) as unknown as ToolAnswer;
}

/** What of an answer is ours. */
export function operationOf(answer: ToolAnswer): Operation {
  const meta = (answer["_meta"] ?? {}) as Readonly<Record<string, Operation | undefined>>;
  return meta["dev.nevertwice/operation"] ?? {};
}

/** DONE, REPLAYED, or an error's code. */
export function toldBy(answer: ToolAnswer): string {
  const { status, code, replayed } = operationOf(answer);
  return code ?? (replayed === true ? "REPLAYED" : (status ?? "NOTHING"));
}

/** Our text in an answer: the last one. */
export function textOf(answer: ToolAnswer): string {
  return answer.content.at(-1)?.text ?? "";
}
