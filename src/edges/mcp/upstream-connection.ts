/**
 * A connection to one upstream server that comes back by itself. The official client opens it and
 * keeps it; requests go past its schemas, so that vendor fields survive and a result is in our hands
 * as it was sent before anything checks it. Nothing is ever sent a second time here.
 *
 * @module
 */
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  Client,
  type JSONRPCMessage,
  type JSONRPCRequest,
  PROTOCOL_VERSION_META_KEY,
  type Transport,
  type VersionNegotiationMode,
} from "@modelcontextprotocol/client";
import { type BackOff, backOffMs, spread } from "../../base/back-off.ts";
import { errorText } from "../../base/errors.ts";
import { type Runtime, pause, systemRuntime } from "../../base/runtime.ts";
import { keepListening, withoutSubscription } from "./upstream-changes.ts";
import {
  UpstreamLost,
  UpstreamNotConnected,
  UpstreamRefusal,
  isSessionGone,
} from "./upstream-errors.ts";

type Members = Readonly<Record<string, unknown>>;

/** Options of an {@link UpstreamConnection}. */
export interface UpstreamConnectionOptions {
  readonly name: string;
  /** Opens a new transport; called once for each connection. */
  readonly openTransport: () => Transport;
  /** Which protocol era to speak. `auto` asks first. */
  readonly protocol: VersionNegotiationMode;
  readonly clientInfo: { readonly name: string; readonly version: string };
  /** What a server of the older era is told once, when the connection opens. */
  readonly clientCapabilities: Members;
  /** The server asks the client something, in the older era. Absent: every question is refused. */
  readonly onServerRequest?: (method: string, params: Members) => Promise<Members>;
  readonly onNotification?: (method: string, params: Members) => void;
  readonly onState?: (state: UpstreamState, reason: string) => void;
  readonly connectTimeoutMs?: number;
  /** Pauses before each new try: doubled from the first to the last. */
  readonly backOffMs?: { readonly first: number; readonly last: number };
  readonly runtime?: Runtime;
}

export type UpstreamState = "connecting" | "up" | "down" | "closed";

/** How one request is sent. */
export interface UpstreamRequestOptions {
  /** Called in the very turn of the write; what it throws keeps the request from being written. */
  readonly beforeWrite?: (() => void) | undefined;
  readonly onProgress?: ((progress: Members) => void) | undefined;
  /** Cancels the request at the server. Only for what has no effect. */
  readonly cancel?: AbortSignal | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Told to a server of the newer era. */
  readonly clientCapabilities?: Members | undefined;
}

interface Pending {
  readonly resolve: (result: Members) => void;
  readonly reject: (error: Error) => void;
  readonly onProgress: ((progress: Members) => void) | undefined;
}

interface Live {
  readonly client: Client;
  readonly transport: Transport;
  readonly pending: Map<number, Pending>;
  readonly ended: AbortController;
}

/** Far from the numbers that the official client counts up from zero. */
const firstRequestId = 1_000_000_000;

/** See the module. */
export class UpstreamConnection {
  readonly name: string;
  readonly #options: UpstreamConnectionOptions;
  readonly #runtime: Runtime;
  #state: UpstreamState = "connecting";
  #live: Live | undefined;
  #lastId = firstRequestId;
  #tries = 0;
  #upSinceMs: number | undefined;
  #cancelRetry: (() => void) | undefined;
  #opening: Promise<void> = Promise.resolve();

  constructor(options: UpstreamConnectionOptions) {
    this.name = options.name;
    this.#options = options;
    this.#runtime = options.runtime ?? systemRuntime;
  }

  get state(): UpstreamState {
    return this.#state;
  }

  /** What the server said it can do; empty while there is no connection. */
  get capabilities(): Members {
    return this.#live?.client.getServerCapabilities() ?? {};
  }

  get instructions(): string | undefined {
    return this.#live?.client.getInstructions();
  }

  get era(): "legacy" | "modern" | undefined {
    return this.#live?.client.getProtocolEra();
  }

  /** Requests without an answer yet. */
  get pendingCount(): number {
    return this.#live?.pending.size ?? 0;
  }

  /** Tries once to connect; if that doesn't work out, it goes on trying by itself. Never rejects. */
  start(): Promise<void> {
    this.#opening = this.#open();
    return this.#opening;
  }

  async #open(): Promise<void> {
    this.#become("connecting", "opening");
    const { clientInfo, clientCapabilities, protocol, connectTimeoutMs = 30_000 } = this.#options;
    const client = new Client(clientInfo, {
      capabilities: clientCapabilities,
      versionNegotiation: { mode: protocol },
      inputRequired: { autoFulfill: false },
    });
    try {
      const transport = this.#options.openTransport();
      await client.connect(transport, { timeout: connectTimeoutMs });
      if (this.#state === "closed") return await client.close();
      this.#adopt(client, transport);
    } catch (error) {
      await client.close().catch(() => {});
      this.#down(errorText(error));
    }
  }

  #adopt(client: Client, transport: Transport): void {
    const live: Live = {
      client,
      transport,
      pending: new Map(),
      ended: new AbortController(),
    };
    const toClient = transport.onmessage;
    const onmessage: Transport["onmessage"] = (message, extra) => {
      if (!this.#take(live, message)) toClient?.(message, extra);
    };
    const onclose = (): void => {
      if (this.#live === live) this.#lose("the connection ended");
    };
    // Transports and clients have one callback each, and no listeners to add.
    Object.assign(transport, { onmessage });
    Object.assign(client, { onclose });
    client.fallbackRequestHandler = async (request) => {
      const { onServerRequest } = this.#options;
      if (onServerRequest === undefined) throw new Error("no client can answer this here");
      return await onServerRequest(request.method, request.params ?? {});
    };
    this.#live = live;
    this.#upSinceMs = this.#runtime.monotonicMs();
    this.#become("up", "connected");
    void keepListening(client, {
      isWanted: () => this.#live === live,
      wait: (tries) => pause(this.#runtime, this.#restMs(tries + 1), live.ended.signal),
      // What changed before anyone listened was told to nobody.
      onListening: (methods) => {
        for (const method of methods) this.#options.onNotification?.(method, {});
      },
    });
  }

  /** True: the message was ours, and the official client must not see it. */
  #take(live: Live, message: JSONRPCMessage): boolean {
    if ("method" in message) {
      if ("id" in message) return false;
      const params = (message.params ?? {}) as Members;
      if (message.method === "notifications/progress") return takeProgress(live, params);
      this.#options.onNotification?.(message.method, withoutSubscription(params));
      return false;
    }
    const id = Number(message.id);
    const pending = live.pending.get(id);
    if (pending === undefined) return id >= firstRequestId;
    live.pending.delete(id);
    if ("error" in message) {
      const { code, message: text, data } = message.error;
      pending.reject(new UpstreamRefusal(code, text, data));
    } else {
      pending.resolve(message.result);
    }
    return true;
  }

  /**
   * Sends one request and gives the result as the server sent it.
   *
   * @throws UpstreamNotConnected, UpstreamLost, UpstreamRefusal, or what `beforeWrite` throws.
   */
  async request(
    method: string,
    params: Members,
    options: UpstreamRequestOptions = {},
  ): Promise<Members> {
    const live = this.#live;
    if (live === undefined || this.#state !== "up") {
      throw new UpstreamNotConnected(`the server ${this.name} is not connected`);
    }
    const id = (this.#lastId += 1);
    const answered = new Promise<Members>((resolve, reject) => {
      live.pending.set(id, { resolve, reject, onProgress: options.onProgress });
    });
    // Awaited below, or never: a rejection that nobody waits for must not end the process.
    answered.catch(() => {});
    const request = this.#requestOf(live, id, method, params, options);
    const stopCancelling = this.#cancelWith(live, id, options.cancel);
    try {
      options.beforeWrite?.();
      await this.#write(live, request, options);
      return await answered;
    } finally {
      live.pending.delete(id);
      stopCancelling();
    }
  }

  async #write(
    live: Live,
    request: JSONRPCRequest,
    options: UpstreamRequestOptions,
  ): Promise<void> {
    const id = Number(request.id);
    const lost = (reason: string): void => {
      live.pending.get(id)?.reject(new UpstreamLost(reason));
    };
    try {
      await live.transport.send(request, {
        ...(options.headers === undefined ? {} : { headers: options.headers }),
        ...(options.cancel === undefined ? {} : { requestSignal: options.cancel }),
        onRequestStreamEnd: () => lost("the server's answer broke off"),
      });
    } catch (error) {
      lost(errorText(error));
      // A server that forgot our session is greeted anew; what it did with this request is unknown.
      if (isSessionGone(error, live.transport)) void this.#drop("the server forgot the session");
    }
  }

  #requestOf(
    live: Live,
    id: number,
    method: string,
    params: Members,
    options: UpstreamRequestOptions,
  ): JSONRPCRequest {
    const meta = {
      ...(params["_meta"] as Members | undefined),
      ...(options.onProgress === undefined ? {} : { progressToken: id }),
      ...this.#envelope(live, options),
    };
    const withMeta = Object.keys(meta).length === 0 ? params : { ...params, _meta: meta };
    return { jsonrpc: "2.0", id, method, params: withMeta };
  }

  /** The newer era says in every request who asks and what the client can do. */
  #envelope({ client }: Live, options: UpstreamRequestOptions): Members {
    if (client.getProtocolEra() !== "modern") return {};
    return {
      [PROTOCOL_VERSION_META_KEY]: client.getNegotiatedProtocolVersion(),
      [CLIENT_INFO_META_KEY]: this.#options.clientInfo,
      [CLIENT_CAPABILITIES_META_KEY]: options.clientCapabilities ?? {},
    };
  }

  #cancelWith(live: Live, id: number, signal: AbortSignal | undefined): () => void {
    if (signal === undefined) return () => {};
    const cancel = (): void => {
      live.pending.get(id)?.reject(new UpstreamLost("the caller withdrew"));
      if (live.transport.hasPerRequestStream === true) return;
      const params = { requestId: id, reason: "the caller withdrew" };
      live.transport
        .send({ jsonrpc: "2.0", method: "notifications/cancelled", params })
        .catch(() => {});
    };
    signal.addEventListener("abort", cancel);
    return () => signal.removeEventListener("abort", cancel);
  }

  #lose(reason: string): void {
    const live = this.#live;
    this.#live = undefined;
    live?.ended.abort();
    for (const { reject } of live?.pending.values() ?? []) reject(new UpstreamLost(reason));
    if (this.#state !== "closed") this.#down(reason);
  }

  async #drop(reason: string): Promise<void> {
    const live = this.#live;
    this.#lose(reason);
    await live?.client.close().catch(() => {});
  }

  #down(reason: string): void {
    if (this.#state === "closed") return;
    this.#become("down", reason);
    // One that connects and ends at once, over and over, is left alone for longer each time as well.
    const upForMs = this.#runtime.monotonicMs() - (this.#upSinceMs ?? Infinity);
    if (upForMs >= this.#bounds.lastMs) this.#tries = 0;
    this.#upSinceMs = undefined;
    this.#tries += 1;
    this.#cancelRetry = this.#runtime.after(this.#restMs(this.#tries), () => void this.start());
  }

  get #bounds(): BackOff {
    const { first, last } = this.#options.backOffMs ?? { first: 250, last: 30_000 };
    return { firstMs: first, lastMs: last };
  }

  #restMs(tries: number): number {
    return spread(this.#runtime, backOffMs(this.#bounds, tries));
  }

  #become(state: UpstreamState, reason: string): void {
    this.#state = state;
    this.#options.onState?.(state, reason);
  }

  /** Ends the connection. What is still without an answer ends as lost. */
  async close(): Promise<void> {
    const live = this.#live;
    this.#become("closed", "closed");
    this.#cancelRetry?.();
    this.#lose("the gateway closes");
    await live?.client.close().catch(() => {});
    await this.#opening;
  }
}

function takeProgress(live: Live, params: Members): boolean {
  const { progressToken, ...progress } = params;
  const pending = live.pending.get(Number(progressToken));
  pending?.onProgress?.(progress);
  return pending !== undefined || Number(progressToken) >= firstRequestId;
}
