/**
 * A server's process behind the proxy: requests by message, and an end like a crash.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import type { JSONRPCMessage, JSONRPCRequest } from "@modelcontextprotocol/client";
import type { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { UpstreamLost } from "../../edges/mcp/upstream-errors.ts";
import type { UpstreamSpec } from "../config/gateway-config.ts";
import { openProcess } from "../open-transport.ts";

interface Pending {
  readonly id: JSONRPCRequest["id"];
  readonly resolve: (reply: JSONRPCMessage) => void;
  readonly reject: (error: Error) => void;
}

/** Options of {@link ChildServer.start}. */
export interface ChildServerOptions {
  readonly spec: Extract<UpstreamSpec, { kind: "command" }>;
  /** What the server says by itself: notifications, and requests to the client. */
  readonly onMessage: (message: JSONRPCMessage) => void;
  readonly onDiagnostic: (text: string) => void;
}

/** See the module. */
export class ChildServer {
  readonly ended: Promise<void>;
  readonly #transport: StdioClientTransport;
  readonly #onMessage: (message: JSONRPCMessage) => void;
  readonly #pending = new Map<string, Pending>();
  #lastId = 0;

  private constructor(transport: StdioClientTransport, options: ChildServerOptions) {
    this.#transport = transport;
    this.#onMessage = options.onMessage;
    const onmessage = (message: JSONRPCMessage): void => this.#take(message);
    this.ended = new Promise((resolve) => {
      const onclose = (): void => {
        for (const { reject } of this.#pending.values())
          reject(new UpstreamLost("the process ended"));
        this.#pending.clear();
        resolve();
      };
      // Transports have one callback each, and no listeners to add.
      Object.assign(transport, { onmessage, onclose });
    });
  }

  /** Starts the process; rejects when there is no such command. */
  static async start(options: ChildServerOptions): Promise<ChildServer> {
    const transport = openProcess(options.spec, options.onDiagnostic);
    const server = new ChildServer(transport, options);
    await transport.start();
    return server;
  }

  /** Sends a request under an id of its own; the reply has the given one. */
  async request(request: JSONRPCRequest): Promise<JSONRPCMessage> {
    const id = `chaos-${(this.#lastId += 1)}`;
    const replied = new Promise<JSONRPCMessage>((resolve, reject) => {
      this.#pending.set(id, { id: request.id, resolve, reject });
    });
    replied.catch(() => {});
    await this.#write({ ...request, id });
    return replied;
  }

  /** Passes on a notification, or the client's reply to the server. */
  async pass(message: JSONRPCMessage): Promise<void> {
    await this.#write(this.#withOurId(message));
  }

  /** A withdrawal names the request by the id that the client gave it. */
  #withOurId(message: JSONRPCMessage): JSONRPCMessage {
    if (!("method" in message) || message.method !== "notifications/cancelled") return message;
    const params = (message.params ?? {}) as Readonly<Record<string, unknown>>;
    const [requestId] =
      [...this.#pending].findLast(([, { id }]) => id === params["requestId"]) ?? [];
    return requestId === undefined ? message : { ...message, params: { ...params, requestId } };
  }

  async #write(message: JSONRPCMessage): Promise<void> {
    try {
      await this.#transport.send(message);
    } catch (error) {
      throw new UpstreamLost("the process has ended", { cause: error });
    }
  }

  #take(message: JSONRPCMessage): void {
    if ("method" in message) return this.#onMessage(message);
    const pending = this.#pending.get(String(message.id));
    this.#pending.delete(String(message.id));
    pending?.resolve({ ...message, id: pending.id });
  }

  /** Ends the process, and those that it started, at once. */
  kill(): void {
    const { pid } = this.#transport;
    if (pid !== null) for (const each of familyOf(pid)) killNow(each);
    void this.close();
  }

  /** Ends it in the orderly way. */
  async close(): Promise<void> {
    await this.#transport.close().catch(() => {});
  }
}

/** A launcher, such as npx, is not the server: its children die with it. Linux tells who they are. */
function familyOf(pid: number): readonly number[] {
  let children: readonly number[] = [];
  try {
    const listed = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
    children = listed.split(" ").filter(Boolean).map(Number);
  } catch {
    // Elsewhere the process itself has to do.
  }
  return [pid, ...children.flatMap(familyOf)];
}

function killNow(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}
