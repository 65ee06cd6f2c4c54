/**
 * All upstream servers of a gateway: their connections, and what they list.
 *
 * @module
 */
import { errorText } from "../base/errors.ts";
import { type ToolDefinition, isToolDefinition } from "../edges/mcp/tool-definition.ts";
import { UpstreamConnection } from "../edges/mcp/upstream-connection.ts";
import type { UpstreamSpec } from "./config/gateway-config.ts";
import type { Logger } from "./log.ts";
import { openTransport } from "./open-transport.ts";

type Members = Readonly<Record<string, unknown>>;

/** Options of {@link Upstreams}. */
export interface UpstreamsOptions {
  readonly log: Logger;
  readonly version: string;
  /** Called when a server's tools may be others than before. */
  readonly onTools: () => void;
  readonly onNotification: (server: string, method: string, params: Members) => void;
  readonly onServerRequest: (server: string, method: string, params: Members) => Promise<Members>;
}

interface Held {
  readonly spec: UpstreamSpec;
  readonly connection: UpstreamConnection;
}

/** Most pages that a list may have. */
const maxPages = 64;

/** See the module. */
export class Upstreams {
  readonly #options: UpstreamsOptions;
  readonly #held = new Map<string, Held>();
  readonly #listings = new Map<string, readonly ToolDefinition[]>();
  readonly #listing = new Map<string, Promise<void>>();
  /** No longer in the configuration; calls that began before may still be at them. */
  readonly #leaving = new Set<UpstreamConnection>();

  constructor(options: UpstreamsOptions) {
    this.#options = options;
  }

  /** Connections by server, in the order of the configuration. */
  get connections(): ReadonlyMap<string, UpstreamConnection> {
    return new Map([...this.#held].map(([name, { connection }]) => [name, connection]));
  }

  /** What each server listed last; a server that was never reached is missing. */
  get listings(): ReadonlyMap<string, readonly ToolDefinition[]> {
    return this.#listings;
  }

  /**
   * Takes up a configuration. Servers that stay the same keep their connections; those that go stay
   * open until {@link Upstreams.retire} is called.
   */
  async use(specs: ReadonlyMap<string, UpstreamSpec>): Promise<void> {
    const before = new Map(this.#held);
    this.#held.clear();
    const starts: Promise<void>[] = [];
    for (const [name, spec] of specs) {
      const known = before.get(name);
      if (known !== undefined && JSON.stringify(known.spec) === JSON.stringify(spec)) {
        this.#held.set(name, known);
        before.delete(name);
        continue;
      }
      this.#listings.delete(name);
      const connection = this.#connect(spec);
      this.#held.set(name, { spec, connection });
      starts.push(this.#start(name, connection));
    }
    for (const [name, { connection }] of before) {
      if (!specs.has(name)) this.#listings.delete(name);
      this.#leaving.add(connection);
    }
    await Promise.all(starts);
  }

  /**
   * Closes the servers that have gone, each as soon as its calls have ended. One that never answers is
   * closed after the span, which is longer than any call is waited for.
   */
  retire(withinMs: number): void {
    for (const connection of this.#leaving) void this.#closeIdle(connection, withinMs);
  }

  async #closeIdle(connection: UpstreamConnection, withinMs: number): Promise<void> {
    await whenIdle(connection, withinMs);
    await connection.close();
    this.#leaving.delete(connection);
  }

  #connect(spec: UpstreamSpec): UpstreamConnection {
    const { log, version, onServerRequest, onNotification } = this.#options;
    const { name } = spec;
    const say = log.child({ server: name });
    const connection: UpstreamConnection = new UpstreamConnection({
      name,
      openTransport: () => openTransport(spec, (text) => say.debug({ text }, "server says")),
      protocol: spec.protocol === "modern" ? { pin: "2026-07-28" } : spec.protocol,
      clientInfo: { name: "nevertwice-gateway", version },
      clientCapabilities: Object.fromEntries(spec.requests.map((each) => [each, {}])),
      onServerRequest: (method, params) => onServerRequest(name, method, params),
      onNotification: (method, params) => {
        if (method === "notifications/tools/list_changed") this.#relist(name, connection);
        else onNotification(name, method, params);
      },
      onState: (state, reason) => {
        say[state === "down" ? "warn" : "info"]({ state, reason }, "server");
        if (state === "up") this.#relist(name, connection);
      },
    });
    return connection;
  }

  async #start(name: string, connection: UpstreamConnection): Promise<void> {
    await connection.start();
    await this.#listing.get(name);
  }

  /** One after another, so that the newest list wins. */
  #relist(name: string, connection: UpstreamConnection): void {
    const before = this.#listing.get(name) ?? Promise.resolve();
    this.#listing.set(
      name,
      before.then(() => this.#list(name, connection)),
    );
  }

  async #list(name: string, connection: UpstreamConnection): Promise<void> {
    try {
      const tools = (await listAll(connection, "tools/list", "tools")).filter(isToolDefinition);
      if (this.#held.get(name)?.connection !== connection) return;
      const same = JSON.stringify(this.#listings.get(name)) === JSON.stringify(tools);
      this.#listings.set(name, tools);
      if (!same) this.#options.onTools();
    } catch (error) {
      this.#options.log.warn({ server: name, reason: errorText(error) }, "tools can't be listed");
      // A lost connection lists again when it is back.
      const again = (): void => {
        if (connection.state === "up") this.#relist(name, connection);
      };
      setTimeout(again, 1000).unref();
    }
  }

  /** Closes every connection now. */
  async close(): Promise<void> {
    const open = [...this.#held.values()].map(({ connection }) => connection);
    await Promise.all([...open, ...this.#leaving].map((connection) => connection.close()));
  }
}

/** All pages of a list; a server without that kind of thing has none. */
export async function listAll(
  connection: Pick<UpstreamConnection, "request" | "capabilities">,
  method: string,
  member: string,
): Promise<readonly unknown[]> {
  const capability = method.split("/")[0] ?? "";
  if (connection.capabilities[capability] === undefined) return [];
  const found: unknown[] = [];
  let cursor: unknown;
  for (let page = 0; page < maxPages; page += 1) {
    const result = await connection.request(method, cursor === undefined ? {} : { cursor });
    const items = result[member];
    if (Array.isArray(items)) found.push(...(items as unknown[]));
    cursor = result["nextCursor"];
    if (typeof cursor !== "string" || cursor === "") break;
  }
  return found;
}

async function whenIdle(connection: UpstreamConnection, withinMs: number): Promise<void> {
  const untilMs = performance.now() + withinMs;
  while (connection.pendingCount > 0 && performance.now() < untilMs) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
