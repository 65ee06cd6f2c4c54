/**
 * What passes through: calls without a doubled effect, resources, prompts, completions, and in the
 * other direction what a server of the older era asks or tells.
 *
 * @module
 */
import type { UpstreamConnection } from "../edges/mcp/upstream-connection.ts";
import {
  UpstreamLost,
  UpstreamNotConnected,
  UpstreamRefusal,
} from "../edges/mcp/upstream-errors.ts";
import type { AgentRequest } from "./agent-request.ts";
import { AgentError } from "./agent-error.ts";
import type { Logger } from "./log.ts";
import { listAll } from "./upstreams.ts";

type Members = Readonly<Record<string, unknown>>;
type Connections = ReadonlyMap<string, UpstreamConnection>;

/** Methods with one owner among the servers, and the member of `params` that names the thing. */
const ownedBy = {
  "prompts/get": "name",
  "resources/read": "uri",
  "resources/subscribe": "uri",
  "resources/unsubscribe": "uri",
} as const;

/** Lists that are put together from all servers, and the member of the result that holds them. */
const listMembers = {
  "prompts/list": "prompts",
  "resources/list": "resources",
  "resources/templates/list": "resourceTemplates",
} as const;

const others: ReadonlySet<string> = new Set(["completion/complete", "logging/setLevel"]);

/** Told to every agent's client, as it came. */
export type NotificationListener = (method: string, params: Members) => void;

/** See the module. */
export class Forwarder {
  readonly #connections: () => Connections;
  readonly #log: Logger;
  readonly #listeners = new Set<NotificationListener>();
  /** Calls under way by server, for what a server asks while it works on one. */
  readonly #underWay = new Map<UpstreamConnection, Set<AgentRequest>>();

  constructor(connections: () => Connections, log: Logger) {
    this.#connections = connections;
    this.#log = log;
  }

  /** What each server says that it can do. */
  get capabilities(): readonly Members[] {
    return [...this.#connections().values()].map(({ capabilities }) => capabilities);
  }

  /** What the servers tell models of themselves. */
  get instructions(): readonly string[] {
    return [...this.#connections().values()].flatMap(({ instructions }) =>
      instructions === undefined ? [] : [instructions],
    );
  }

  /** Calls back with notifications of servers; the returned function stops that. */
  onNotification(listener: NotificationListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  notified(server: string, method: string, params: Members): void {
    this.#log.debug({ server, method }, "notification");
    for (const listener of this.#listeners) listener(method, params);
  }

  /**
   * A server asks the agent's client. It doesn't say for which call; so it is passed on while exactly
   * one call of that server is under way, and refused otherwise.
   */
  async asked(server: string, method: string, params: Members): Promise<Members> {
    const connection = this.#connections().get(server);
    const calls = [...((connection && this.#underWay.get(connection)) ?? [])];
    const [call] = calls;
    if (call?.ask === undefined || calls.length > 1)
      throw new Error("no one client can answer this here");
    return call.ask(method, params);
  }

  /** Runs while the call counts as under way. */
  async during<T>(
    upstream: UpstreamConnection,
    request: AgentRequest,
    work: () => Promise<T>,
  ): Promise<T> {
    const calls = this.#underWay.get(upstream) ?? new Set();
    this.#underWay.set(upstream, calls.add(request));
    try {
      return await work();
    } finally {
      calls.delete(request);
    }
  }

  /**
   * Sends a request on as it came; a withdrawal is passed on.
   *
   * @throws {AgentError} what the server answered, or that it can't be asked.
   */
  forward(
    upstream: UpstreamConnection,
    method: string,
    params: Members,
    request: AgentRequest,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Members> {
    const { inputResponses, requestState } = request;
    const sent = {
      ...withoutProgress(params),
      ...(inputResponses === undefined ? {} : { inputResponses }),
      ...(requestState === undefined ? {} : { requestState }),
    };
    return this.during(upstream, request, () =>
      tellErrors(() =>
        upstream.request(method, sent, {
          cancel: request.signal,
          onProgress: request.onProgress,
          clientCapabilities: request.clientCapabilities,
          headers,
        }),
      ),
    );
  }

  /** Whether there is such a method, beside those of tools. */
  static knows(method: string): boolean {
    return [ownedBy, listMembers].some((each) => Object.hasOwn(each, method)) || others.has(method);
  }

  /** Everything but tools. Undefined: no such method. */
  async handle(request: AgentRequest): Promise<Members | undefined> {
    const { method } = request;
    if (Object.hasOwn(listMembers, method)) return this.#list(method as keyof typeof listMembers);
    if (Object.hasOwn(ownedBy, method)) return this.#forwardToOwner(method, request);
    if (method === "completion/complete") return this.#complete(request);
    if (method === "logging/setLevel") return {};
    return undefined;
  }

  async #list(method: keyof typeof listMembers): Promise<Members> {
    const member = listMembers[method];
    const servers = [...this.#connections()];
    const lists = await Promise.all(
      servers.map(async ([server, connection]) => ({
        server,
        items: await listed(connection, method, member),
      })),
    );
    const all = lists.flatMap(({ server, items }) => items.map((item) => ({ server, item })));
    if (method !== "prompts/list") return { [member]: all.map(({ item }) => item) };
    const counts = new Map<unknown, number>();
    for (const { item } of all) counts.set(item["name"], (counts.get(item["name"]) ?? 0) + 1);
    const shown = all.map(({ server, item }) =>
      (counts.get(item["name"]) ?? 0) > 1
        ? { ...item, name: `${server}__${String(item["name"])}` }
        : item,
    );
    return { [member]: shown };
  }

  async #forwardToOwner(method: string, request: AgentRequest): Promise<Members> {
    const member = ownedBy[method as keyof typeof ownedBy];
    const name = String(request.params[member]);
    return this.#tryServers(method, request, (server) => {
      const own = name.startsWith(`${server}__`) && member === "name";
      return { ...request.params, [member]: own ? name.slice(server.length + 2) : name };
    });
  }

  #complete(request: AgentRequest): Promise<Members> {
    return this.#tryServers("completion/complete", request, () => request.params);
  }

  /** Reading has no effect, so each server may be asked in turn until one knows the thing. */
  async #tryServers(
    method: string,
    request: AgentRequest,
    paramsFor: (server: string) => Members,
  ): Promise<Members> {
    let last: unknown = new AgentError(-32602, `No server knows what ${method} asks for.`);
    const capability = capabilityOf(method);
    for (const [server, connection] of this.#connections()) {
      if (connection.capabilities[capability] === undefined) continue;
      try {
        return await this.forward(connection, method, paramsFor(server), request);
      } catch (error) {
        if (request.signal.aborted) throw error;
        last = error;
      }
    }
    throw last;
  }
}

function capabilityOf(method: string): string {
  return method === "completion/complete" ? "completions" : (method.split("/")[0] ?? "");
}

async function listed(
  connection: UpstreamConnection,
  method: string,
  member: string,
): Promise<readonly Members[]> {
  try {
    return (await listAll(connection, method, member)) as readonly Members[];
  } catch {
    // A server that is away has nothing to show now.
    return [];
  }
}

function withoutProgress(params: Members): Members {
  const { _meta, ...rest } = params;
  const { progressToken: _ours, ...meta } = (_meta ?? {}) as Members;
  return Object.keys(meta).length === 0 ? rest : { ...rest, _meta: meta };
}

/** In words that a model can't misread (R29): nothing that passes through is recorded, so a repeat runs again. */
async function tellErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof UpstreamRefusal)
      throw new AgentError(error.code, error.message, error.data);
    if (error instanceof UpstreamNotConnected)
      throw new AgentError(-32603, `Nothing was sent: ${error.message}. The same request is safe.`);
    if (error instanceof UpstreamLost)
      throw new AgentError(
        -32603,
        `The server's answer got lost (${error.message}): whether the request was carried out is not known. It is not guarded here, so the same request would run again.`,
      );
    throw error;
  }
}
