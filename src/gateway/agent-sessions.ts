/**
 * Sessions for agents of the older era (2025-11-25): with one, a client can be asked back, hears of
 * changes, and fetches an answer whose stream broke in place of calling again.
 * https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
 *
 * A session is a connection and nothing more: what a call did is in the store, whatever becomes of it.
 *
 * @module
 */
import { randomUUID } from "node:crypto";
import {
  type McpHandlerRequestOptions,
  type Server,
  WebStandardStreamableHTTPServerTransport,
  legacyStatelessFallback,
} from "@modelcontextprotocol/server";
import { KeptEvents } from "./kept-events.ts";

/** Options of {@link AgentSessions}. */
export interface AgentSessionsOptions {
  readonly createServer: () => Server;
  readonly requestBytes: number;
  /** The longest that nothing is heard of a session. Default 30 min. */
  readonly idleMs?: number;
  /** With one more, the one that was heard of longest ago ends. Default 1000. */
  readonly most?: number;
}

interface Session {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly server: Server;
  /** The bearer token that opened it: an id alone opens nothing to anybody else. */
  readonly owner: string | undefined;
  heardAtMs: number;
}

const sessionHeader = "mcp-session-id";

/** See the module. */
export class AgentSessions {
  readonly #options: AgentSessionsOptions;
  /** In the order in which they were heard of. */
  readonly #sessions = new Map<string, Session>();
  readonly #sessionless: ReturnType<typeof legacyStatelessFallback>;

  constructor(options: AgentSessionsOptions) {
    this.#options = options;
    this.#sessionless = legacyStatelessFallback(options.createServer, undefined, {
      maxRequestBodySize: options.requestBytes,
    });
  }

  /** How many are open. */
  get size(): number {
    return this.#sessions.size;
  }

  /** Answers a request of the older era. */
  async fetch(request: Request, given: McpHandlerRequestOptions = {}): Promise<Response> {
    this.#endIdle();
    const id = request.headers.get(sessionHeader);
    if (id !== null) {
      const session = this.#sessions.get(id);
      if (session === undefined || session.owner !== given.authInfo?.token) return noSession();
      this.#hear(id, session);
      return session.transport.handleRequest(request, given);
    }
    if (request.method === "POST" && (await opensSession(request)))
      return this.#open(request, given);
    return this.#sessionless(request, given);
  }

  async #open(request: Request, given: McpHandlerRequestOptions): Promise<Response> {
    const server = this.#options.createServer();
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: new KeptEvents(),
      maxRequestBodySize: this.#options.requestBytes,
      onsessioninitialized: (id) => {
        this.#hear(id, { transport, server, owner: given.authInfo?.token, heardAtMs: 0 });
        this.#endSurplus();
      },
      onsessionclosed: (id) => void this.#sessions.delete(id),
    });
    await server.connect(transport);
    return transport.handleRequest(request, given);
  }

  #hear(id: string, session: Session): void {
    session.heardAtMs = performance.now();
    this.#sessions.delete(id);
    this.#sessions.set(id, session);
  }

  #endIdle(): void {
    const { idleMs = 30 * 60_000 } = this.#options;
    const before = performance.now() - idleMs;
    for (const [id, session] of this.#sessions) {
      if (session.heardAtMs >= before) return;
      this.#end(id, session);
    }
  }

  #endSurplus(): void {
    const { most = 1000 } = this.#options;
    for (const [id, session] of this.#sessions) {
      if (this.#sessions.size <= most) return;
      this.#end(id, session);
    }
  }

  #end(id: string, { server }: Session): void {
    this.#sessions.delete(id);
    void server.close().catch(() => {});
  }

  /** Tells every client something. */
  notify(method: string, params: Readonly<Record<string, unknown>>): void {
    for (const { server } of this.#sessions.values())
      void server.notification({ method, params: { ...params } }).catch(() => {});
  }

  /** Ends them all. */
  async close(): Promise<void> {
    const servers = [...this.#sessions.values()].map(({ server }) => server);
    this.#sessions.clear();
    await Promise.allSettled(servers.map((server) => server.close()));
  }
}

async function opensSession(request: Request): Promise<boolean> {
  try {
    const message: unknown = await request.clone().json();
    return (message as { method?: unknown } | null)?.method === "initialize";
  } catch {
    return false;
  }
}

/** The client is to open another session. */
function noSession(): Response {
  const error = { code: -32_001, message: "Session not found. Nothing was sent." };
  return Response.json({ jsonrpc: "2.0", id: null, error }, { status: 404 });
}
