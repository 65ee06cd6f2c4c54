/**
 * The gateway: agents on one side, upstream MCP servers on the other, the guard between them.
 *
 * @module
 */
import { randomBytes } from "node:crypto";
import { minutes } from "../base/duration.ts";
import { NeverTwiceError } from "../base/errors.ts";
import { maxDepth } from "../base/plain-json.ts";
import { type Guard, type GuardOptions, createGuard } from "../guard/create-guard.ts";
import type { Tool } from "../guard/tool.ts";
import type { Store } from "../ledger/store.ts";
import { errorResult } from "../edges/mcp/answers.ts";
import { paramHeaders } from "../edges/mcp/param-headers.ts";
import type { ToolDefinition } from "../edges/mcp/tool-definition.ts";
import { AgentError } from "./agent-error.ts";
import type { AgentRequest } from "./agent-request.ts";
import { type Catalogue, type CatalogueEntry, buildCatalogue } from "./catalogue.ts";
import type { GatewayConfig } from "./config/gateway-config.ts";
import { Forwarder } from "./forwarder.ts";
import { type GuardedCallParts, callGuarded } from "./guarded-call.ts";
import type { Logger } from "./log.ts";
import { statusTool, tellStatus } from "./operation-status.ts";
import type { Pins } from "./pins.ts";
import { ReviewDialogue } from "./review-dialogue.ts";
import { Upstreams } from "./upstreams.ts";

type Members = Readonly<Record<string, unknown>>;

/** Until tools that could not be taken up are tried again. */
const rebuildAgainMs = 1000;

/** Options of {@link startGateway}. */
export interface GatewayOptions {
  readonly config: GatewayConfig;
  /** Read again whenever the catalogue is built. */
  readonly readPins: () => Pins;
  readonly store: Store;
  readonly log: Logger;
  readonly version: string;
  /** More for the guard: settings that are accepted by name, points of a test. */
  readonly guard?: Partial<Pick<GuardOptions, "accept" | "onPoint" | "keySecret" | "runtime">>;
  /** For tests, which put a guard that guards nothing in its place. */
  readonly createGuard?: (options: GuardOptions) => Promise<Guard>;
}

/** What one configuration and one listing come to. A call keeps the one that it began with. */
interface Era {
  readonly config: GatewayConfig;
  readonly catalogue: Catalogue;
  readonly guard: Guard;
  readonly dialogue: ReviewDialogue;
  /** The gateway's own tool, where it is offered. */
  readonly status: ToolDefinition | undefined;
  readonly stop: AbortController;
}

/** A running gateway. */
export class Gateway {
  readonly #options: GatewayOptions;
  readonly #upstreams: Upstreams;
  readonly #forwarder: Forwarder;
  readonly #calls = new Set<Promise<unknown>>();
  readonly #toolsListeners = new Set<() => void>();
  readonly #withdraw = new AbortController();
  /** Seals review dialogues where the configuration names no secret. */
  readonly #secret = randomBytes(32);
  #config: GatewayConfig;
  /** As they were read last. */
  #pins: Pins | undefined;
  #era: Era | undefined;
  #building: Promise<void> = Promise.resolve();
  #closing = false;

  /** Use {@link startGateway}. */
  constructor(options: GatewayOptions) {
    const { log, version, config } = options;
    this.#options = options;
    this.#config = config;
    this.#upstreams = new Upstreams({
      log,
      version,
      onTools: () => void this.#rebuildLater(),
      onNotification: (server, method, params) => this.#forwarder.notified(server, method, params),
      onServerRequest: (server, method, params) => this.#forwarder.asked(server, method, params),
    });
    this.#forwarder = new Forwarder(() => this.#upstreams.connections, log);
  }

  /** Connects, lists and builds. */
  async start(): Promise<void> {
    await this.#upstreams.use(this.#config.upstreams);
    await this.#building;
    if (this.#era === undefined) await this.#build();
  }

  /**
   * Takes up another configuration. Calls under way end with the old one.
   *
   * @throws {NeverTwiceError} what the configuration, the lock file or the store is refused for; then
   * nothing has changed.
   */
  async reload(config: GatewayConfig): Promise<void> {
    if (this.#closing) return;
    this.#pins = this.#options.readPins();
    await this.#createGuard(config, []);
    const longestMs = longestCallMs(this.#config);
    this.#config = config;
    await this.#upstreams.use(config.upstreams);
    await this.#rebuildLater();
    this.#upstreams.retire(longestMs);
  }

  get config(): GatewayConfig {
    return this.#config;
  }

  /** Every server is up, and calls are taken. */
  get isReady(): boolean {
    const states = [...this.#upstreams.connections.values()].map(({ state }) => state);
    return !this.#closing && this.#era !== undefined && states.every((state) => state === "up");
  }

  /** The state of each server. */
  get servers(): Readonly<Record<string, string>> {
    const connections = [...this.#upstreams.connections];
    return Object.fromEntries(connections.map(([name, { state }]) => [name, state]));
  }

  get forwarder(): Forwarder {
    return this.#forwarder;
  }

  /** What is known of the tools; see {@link Catalogue}. */
  get catalogue(): Catalogue {
    return this.#require().catalogue;
  }

  /** Calls back when agents should list the tools again; the returned function stops that. */
  onToolsChanged(listener: () => void): () => void {
    this.#toolsListeners.add(listener);
    return () => this.#toolsListeners.delete(listener);
  }

  /** One after another, so that the newest listing wins. */
  #rebuildLater(): Promise<void> {
    const rebuilt = this.#building.then(() => this.#build());
    this.#building = rebuilt.catch((error: unknown) => {
      this.#options.log.error({ error: String(error) }, "the tools could not be taken up");
      // What a server lists by now must not go unnoticed.
      setTimeout(() => void this.#rebuildLater(), rebuildAgainMs).unref();
    });
    return this.#building;
  }

  /** As the lock file has them; while it can't be read, as they were. */
  #readPins(): Pins {
    try {
      this.#pins = this.#options.readPins();
    } catch (error) {
      if (this.#pins === undefined) throw error;
      this.#options.log.error({ error: String(error) }, "the pins stay as they were");
    }
    return this.#pins;
  }

  #createGuard(config: GatewayConfig, tools: readonly Tool[]): Promise<Guard> {
    const { store, log, guard: more, createGuard: create = createGuard } = this.#options;
    return create({
      ...more,
      store,
      tools,
      ...(config.retentionMs === undefined ? {} : { retentionMs: config.retentionMs }),
      onWarning: (warning) => log.warn({ ...warning }, "guard"),
    });
  }

  async #build(): Promise<void> {
    if (this.#closing) return;
    const { store, log } = this.#options;
    const config = this.#config;
    const { connections, listings } = this.#upstreams;
    const catalogue = buildCatalogue(config, this.#readPins(), listings, connections);
    const tools = [...catalogue.entries.values()].flatMap((entry) =>
      entry.verdict === "guarded" ? [entry.tool] : [],
    );
    const guard = await this.#createGuard(config, tools);
    const status = statusIn(config, catalogue);
    const clash = config.operationStatus !== undefined && status === undefined;
    const clashes = clash ? [clashOf(config.operationStatus)] : [];
    for (const remark of [...catalogue.remarks, ...clashes]) log.warn({ remark }, "tool");
    const stop = new AbortController();
    const before = this.#era;
    const { secret = this.#secret, withinMs } = config.review;
    const dialogue = new ReviewDialogue({ store, log, secret, withinMs });
    this.#era = { config, catalogue, guard, dialogue, status, stop };
    before?.stop.abort();
    void guard.keepSweeping({ signal: stop.signal });
    log.info({ tools: catalogue.entries.size, guarded: tools.length }, "tools taken up");
    for (const listener of this.#toolsListeners) listener();
  }

  #require(): Era {
    if (this.#era === undefined) throw new AgentError(-32603, "The gateway is starting.");
    return this.#era;
  }

  /** `tools/list`: what may be called, in one page. */
  listTools(): Members {
    const { catalogue, status } = this.#require();
    const tools = [...catalogue.entries.values()].flatMap((entry) =>
      entry.verdict === "refused" ? [] : [{ ...entry.shown, name: entry.shownName }],
    );
    return { tools: status === undefined ? tools : [...tools, status] };
  }

  /**
   * `tools/call`. Every answer of the guard is a result.
   *
   * @throws {AgentError} for what the protocol itself calls an error.
   */
  callTool(request: AgentRequest): Promise<Members> {
    if (this.#closing)
      throw new AgentError(-32603, "The gateway is shutting down; nothing was sent.");
    const call = this.#call(request);
    this.#calls.add(call);
    const forget = (): void => void this.#calls.delete(call);
    call.then(forget, forget);
    return call;
  }

  async #call(request: AgentRequest): Promise<Members> {
    const era = this.#require();
    const { name } = request.params;
    if (name === era.status?.name) return this.#status(era, request);
    const entry = typeof name === "string" ? era.catalogue.entries.get(name) : undefined;
    if (entry === undefined) return unknownTool(request);
    const startedMs = performance.now();
    const result = await this.#answer(era, entry, request);
    const operation = Object.values((result["_meta"] ?? {}) as Members).find(isOperation);
    const spanMs = Math.round(performance.now() - startedMs);
    this.#options.log.info({ tool: entry.name, spanMs, ...operation }, "call");
    return result;
  }

  async #answer(era: Era, entry: CatalogueEntry, request: AgentRequest): Promise<Members> {
    if (entry.verdict === "refused") return errorResult(entry.refusal);
    try {
      checkDepth(request.params["arguments"], era.config.limits.depth);
      // Before anything is claimed a withdrawal is heard; afterwards it changes nothing (R13).
      if (request.signal.aborted)
        throw new NeverTwiceError(
          "ABORTED",
          "The caller withdrew before anything was recorded. Nothing was sent. The same call is safe.",
        );
      return entry.verdict === "pass"
        ? await this.#pass(entry, request)
        : await callGuarded(this.#partsOf(era), entry, request);
    } catch (error) {
      if (error instanceof AgentError) throw error;
      return errorResult(error);
    }
  }

  /** The ledger is asked, and no server. */
  async #status(era: Era, request: AgentRequest): Promise<Members> {
    try {
      checkDepth(request.params["arguments"], era.config.limits.depth);
      const { entries } = era.catalogue;
      return await tellStatus({ ...this.#partsOf(era), entries }, request);
    } catch (error) {
      return errorResult(error);
    }
  }

  #partsOf({ config, guard, dialogue }: Era): GuardedCallParts {
    const { store } = this.#options;
    const withdraw = this.#withdraw.signal;
    return { config, guard, dialogue, store, forwarder: this.#forwarder, withdraw };
  }

  /** A tool without a doubled effect to fear: as it came, and a withdrawal is passed on. */
  async #pass(
    entry: Extract<CatalogueEntry, { verdict: "pass" }>,
    request: AgentRequest,
  ): Promise<Members> {
    // Whoever runs no tasks takes the call as a plain one (2025-11-25, tasks).
    const { task: _asTask, ...given } = request.params;
    const params = { ...given, name: entry.shown.name };
    const signal = AbortSignal.any([request.signal, this.#withdraw.signal]);
    const { upstream, shown } = entry;
    const headers =
      upstream.era === "modern" ? paramHeaders(shown.inputSchema, given["arguments"]) : {};
    const asked = { ...request, signal };
    return this.#forwarder.forward(upstream, "tools/call", params, asked, headers);
  }

  /**
   * Ends the gateway. Calls in flight may go on for the span that the configuration gives; those that
   * haven't ended by then are left UNKNOWN, and the next call or sweep finds out what became of them.
   */
  async close(): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    this.#era?.stop.abort();
    const { shutdownMs } = this.#config;
    const settled = Promise.allSettled(this.#calls);
    const timer = setTimeout(
      () => this.#withdraw.abort(new Error("the gateway shuts down")),
      shutdownMs,
    );
    await settled;
    clearTimeout(timer);
    await this.#upstreams.close();
  }
}

/** The longest that a call is waited for; of a tool that passes, the agent's client decides that. */
function longestCallMs({ policies }: GatewayConfig): number {
  const spans = [...policies.values()].map((policy) =>
    policy.kind === "non-idempotent" ? Math.max(policy.timeoutMs, policy.flightMs) : 0,
  );
  return Math.max(minutes(1), ...spans);
}

/** Starts a gateway; servers that can't be reached are tried again by themselves. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const gateway = new Gateway(options);
  try {
    await gateway.start();
    return gateway;
  } catch (error) {
    await gateway.close();
    throw error;
  }
}

/**
 * No server lists it, so none is asked: one that ran it all the same would run it past every policy.
 * Each era is told in its own way. In the newer one it is an error of the protocol; servers of the older
 * one on the official SDK say it in a result, which is the only form that a model is sure to read.
 * https://modelcontextprotocol.io/specification/2026-07-28/server/tools#error-handling
 */
function unknownTool({ params, era }: AgentRequest): Members {
  const text = `Unknown tool: ${String(params["name"])}. None of the servers that were reached lists it; nothing was recorded and nothing was sent.`;
  if (era === "modern") throw new AgentError(-32602, text);
  return { isError: true, content: [{ type: "text", text }] };
}

/** A server's own tool of that name goes first. */
function statusIn(config: GatewayConfig, catalogue: Catalogue): ToolDefinition | undefined {
  const name = config.operationStatus;
  return name === undefined || catalogue.entries.has(name) ? undefined : statusTool(name);
}

function clashOf(name: string | undefined): string {
  return `${name}: a server's tool has this name, so the gateway's own is not offered; give it another one with \`operationStatus: { name: … }\``;
}

function checkDepth(value: unknown, limit: number): void {
  if (depthOf(value, Math.min(limit, maxDepth)) >= 0) return;
  throw new NeverTwiceError(
    "UNSUPPORTED_ARGUMENT",
    `The arguments are nested deeper than ${limit} levels. Nothing was recorded and nothing was sent.`,
  );
}

/** Levels that are left below the value, or -1 where it is too deep. */
function depthOf(value: unknown, left: number): number {
  if (typeof value !== "object" || value === null) return left;
  if (left === 0) return -1;
  const below = Object.values(value).map((each) => depthOf(each, left - 1));
  return Math.min(left, ...below);
}

function isOperation(value: unknown): value is Members {
  return typeof value === "object" && value !== null && ("status" in value || "code" in value);
}
