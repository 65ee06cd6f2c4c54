/**
 * The way to a server behind the proxy, a process or a URL: requests by message, each under an id of
 * its own, so that clients who share it, and the two calls of a twin, are told apart.
 *
 * @module
 */
import {
  type JSONRPCMessage,
  type JSONRPCRequest,
  PROTOCOL_VERSION_META_KEY,
  SUBSCRIPTION_ID_META_KEY,
  type Transport,
} from "@modelcontextprotocol/client";
import { errorText } from "../../base/errors.ts";
import { paramHeaders } from "../../edges/mcp/param-headers.ts";
import type { ToolDefinition } from "../../edges/mcp/tool-definition.ts";
import { UpstreamLost, isSessionGone } from "../../edges/mcp/upstream-errors.ts";

type Members = Readonly<Record<string, unknown>>;

interface Pending {
  readonly asked: JSONRPCRequest;
  readonly hear: (message: JSONRPCMessage) => void;
  readonly resolve: (reply: JSONRPCMessage) => void;
  readonly reject: (error: Error) => void;
  readonly withdrawn: AbortController;
}

/** Options of {@link ServerLink}. */
export interface ServerLinkOptions {
  readonly transport: Transport;
  /** What the server says by itself, in no request's name: notifications, and questions. */
  readonly onMessage: (message: JSONRPCMessage) => void;
  /** Ends the server at once, like a crash. Nothing, where it isn't ours. */
  readonly kill: () => void;
  /** Says that the client is done, before the connection is closed. */
  readonly leave?: () => Promise<void>;
}

/** How one request is sent. */
export interface LinkRequestOptions {
  /** What the server says in the request's name, with the ids that the client gave. */
  readonly hear?: (message: JSONRPCMessage) => void;
  /** Withdraws the request at the server. */
  readonly signal?: AbortSignal | undefined;
}

/** See the module. */
export class ServerLink {
  readonly ended: Promise<void>;
  readonly kill: () => void;
  readonly #transport: Transport;
  readonly #onMessage: (message: JSONRPCMessage) => void;
  readonly #leave: (() => Promise<void>) | undefined;
  readonly #pending = new Map<string, Pending>();
  readonly #tools = new Map<string, ToolDefinition>();
  #lastId = 0;

  private constructor({ transport, onMessage, kill, leave }: ServerLinkOptions) {
    this.#transport = transport;
    this.#onMessage = onMessage;
    this.kill = kill;
    this.#leave = leave;
    const onmessage = (message: JSONRPCMessage): void => this.#take(message);
    this.ended = new Promise((resolve) => {
      const onclose = (): void => {
        for (const { reject } of this.#pending.values())
          reject(new UpstreamLost("the connection to the server ended"));
        this.#pending.clear();
        resolve();
      };
      // Transports have one callback each, and no listeners to add.
      Object.assign(transport, { onmessage, onclose });
    });
  }

  /** Opens it; rejects when there is no such command. */
  static async start(options: ServerLinkOptions): Promise<ServerLink> {
    const link = new ServerLink(options);
    await options.transport.start();
    return link;
  }

  /** Sends a request, and gives its reply under the client's id. Rejects when none will come. */
  async request(asked: JSONRPCRequest, options: LinkRequestOptions = {}): Promise<JSONRPCMessage> {
    const { hear = () => {}, signal } = options;
    const id = `chaos-${(this.#lastId += 1)}`;
    const withdrawn = new AbortController();
    const replied = new Promise<JSONRPCMessage>((resolve, reject) => {
      this.#pending.set(id, { asked, hear, resolve, reject, withdrawn });
    });
    replied.catch(() => {});
    const withdraw = (): void => void this.#withdraw(id, "the client is gone").catch(() => {});
    signal?.addEventListener("abort", withdraw);
    try {
      await this.#send(withOurIds(asked, id), {
        headers: this.#headersOf(asked),
        requestSignal: withdrawn.signal,
        onRequestStreamEnd: () =>
          this.#pending.get(id)?.reject(new UpstreamLost("the server's answer broke off")),
      });
      return await replied;
    } finally {
      this.#pending.delete(id);
      signal?.removeEventListener("abort", withdraw);
    }
  }

  /** Passes on a notification, or the client's reply to a question. */
  async pass(message: JSONRPCMessage): Promise<void> {
    if (!("method" in message) || message.method !== "notifications/cancelled")
      return this.#send(message);
    const { requestId, reason } = (message.params ?? {}) as Members;
    const [id] = [...this.#pending].findLast(([, { asked }]) => asked.id === requestId) ?? [];
    return id === undefined ? this.#send(message) : this.#withdraw(id, String(reason));
  }

  /** By HTTP the newer era withdraws a request by ending its stream. */
  async #withdraw(id: string, reason: string): Promise<void> {
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    if (this.#transport.hasPerRequestStream !== true || !isModern(pending.asked)) {
      const params = { requestId: id, reason };
      return this.#send({ jsonrpc: "2.0", method: "notifications/cancelled", params });
    }
    // Nobody waits for its reply any more.
    this.#pending.delete(id);
    pending.withdrawn.abort();
  }

  async #send(message: JSONRPCMessage, options?: Parameters<Transport["send"]>[1]): Promise<void> {
    try {
      await this.#transport.send(message, options);
    } catch (error) {
      // A server that forgot the session knows none of its clients: they are to connect again.
      if (isSessionGone(error, this.#transport)) void this.close();
      throw new UpstreamLost(errorText(error), { cause: error });
    }
  }

  #take(message: JSONRPCMessage): void {
    if ("method" in message) {
      const [id] = idsIn(message).filter((each) => this.#pending.has(each));
      const pending = this.#pending.get(id ?? "");
      if (id === undefined || pending === undefined) return this.#onMessage(message);
      return pending.hear(withTheirIds(message, id, pending.asked));
    }
    const id = String(message.id);
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    this.#learn(pending.asked, message);
    pending.resolve({ ...withTheirIds(message, id, pending.asked), id: pending.asked.id });
  }

  /** What later requests by HTTP have to say in their headers. */
  #learn({ method }: JSONRPCRequest, reply: JSONRPCMessage): void {
    if (!("result" in reply)) return;
    const { protocolVersion, tools } = reply.result as Members;
    if (method === "initialize") this.#transport.setProtocolVersion?.(String(protocolVersion));
    if (method === "tools/list" && Array.isArray(tools))
      for (const tool of tools as readonly ToolDefinition[]) this.#tools.set(tool.name, tool);
  }

  #headersOf(asked: JSONRPCRequest): Readonly<Record<string, string>> {
    if (asked.method !== "tools/call" || !isModern(asked)) return {};
    const { name, arguments: args = {} } = (asked.params ?? {}) as Members;
    const tool = this.#tools.get(String(name));
    return tool === undefined ? {} : paramHeaders(tool.inputSchema, args);
  }

  /** Ends it in the orderly way. */
  async close(): Promise<void> {
    await this.#leave?.().catch(() => {});
    await this.#transport.close().catch(() => {});
  }
}

function metaOf(params: unknown): Members {
  return ((params as Members | undefined)?.["_meta"] ?? {}) as Members;
}

/** The newer era says its version in every request. */
export function isModern({ params }: JSONRPCRequest): boolean {
  return metaOf(params)[PROTOCOL_VERSION_META_KEY] !== undefined;
}

function withOurIds(asked: JSONRPCRequest, id: string): JSONRPCRequest {
  const meta = metaOf(asked.params);
  if (meta["progressToken"] === undefined) return { ...asked, id };
  return { ...asked, id, params: { ...asked.params, _meta: { ...meta, progressToken: id } } };
}

/** The requests that a message names: the one whose progress, subscription or end it tells of. */
function idsIn(message: JSONRPCMessage): readonly string[] {
  const params = "method" in message ? ((message.params ?? {}) as Members) : {};
  const named = [
    params["progressToken"],
    params["requestId"],
    metaOf(params)[SUBSCRIPTION_ID_META_KEY],
  ];
  return named.map(String);
}

/** Names the request as its client knows it. */
function withTheirIds<Message extends JSONRPCMessage>(
  message: Message,
  id: string,
  asked: JSONRPCRequest,
): Message {
  const theirs: Members = {
    progressToken: metaOf(asked.params)["progressToken"],
    requestId: asked.id,
    [SUBSCRIPTION_ID_META_KEY]: asked.id,
  };
  const renamed = (members: Members): Members =>
    Object.fromEntries(
      Object.entries(members).map(([name, value]) => [
        name,
        value === id && name in theirs ? theirs[name] : value,
      ]),
    );
  const place = "method" in message ? "params" : "result";
  const members = (message as Members)[place] as Members | undefined;
  if (members === undefined) return message;
  const meta = members["_meta"] === undefined ? {} : { _meta: renamed(metaOf(members)) };
  return { ...message, [place]: { ...renamed(members), ...meta } };
}
