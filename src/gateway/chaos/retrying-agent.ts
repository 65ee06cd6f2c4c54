/**
 * An agent with the official client, which repeats a call that it got no answer to, each time with a
 * new id, and a call whose answer says that the same call is safe.
 *
 * @module
 */
import { setTimeout as pause } from "node:timers/promises";
import {
  Client,
  ProtocolError,
  SdkHttpError,
  type Transport,
  type VersionNegotiationMode,
} from "@modelcontextprotocol/client";
import { errorText } from "../../base/errors.ts";
import type { JsonObject } from "../../base/plain-json.ts";
import { metaNames } from "../../edges/mcp/names.ts";

type Members = Readonly<Record<string, unknown>>;

/** Options of {@link RetryingAgent.connect}. */
export interface RetryingAgentOptions {
  /** Opens a connection; rejects when the server can't be reached. */
  readonly open: () => Promise<Transport>;
  readonly protocol: VersionNegotiationMode;
  readonly version: string;
  /** How long the first sending of a call waits for its reply. */
  readonly timeoutMs: number;
  /** The same of each repetition: no fault strikes it, and a busy server may take its time. */
  readonly repeatTimeoutMs: number;
  /** How long a call is repeated altogether. */
  readonly patienceMs: number;
}

/** A call, to its end. */
export interface AgentAnswer {
  /** The last answer; undefined when there was none. */
  readonly answer: Members | undefined;
  /** How often it was sent. */
  readonly sent: number;
}

/** A client gives up after as many calls without an answer. */
const mostLost = 5;
const pauseMs = 250;

/** See the module. */
export class RetryingAgent {
  readonly #options: RetryingAgentOptions;
  #client: Promise<Client> | undefined;

  private constructor(options: RetryingAgentOptions) {
    this.#options = options;
  }

  /** Connects; rejects when that can't be done. */
  static async connect(options: RetryingAgentOptions): Promise<RetryingAgent> {
    const agent = new RetryingAgent(options);
    await agent.#connected();
    return agent;
  }

  #connected(): Promise<Client> {
    return (this.#client ??= this.#connect());
  }

  async #connect(): Promise<Client> {
    const { open, protocol, version } = this.#options;
    const client = new Client(
      { name: "nevertwice-chaos", version },
      { versionNegotiation: { mode: protocol } },
    );
    const forget = (): void => {
      this.#client = undefined;
    };
    // Clients have one callback, and no listeners to add.
    Object.assign(client, { onclose: forget });
    try {
      await client.connect(await open());
      return client;
    } catch (error) {
      forget();
      throw error;
    }
  }

  /** Calls a tool once, without any patience: for looking. */
  async look(tool: string, args: JsonObject): Promise<Members> {
    const client = await this.#connected();
    return client.callTool({ name: tool, arguments: args });
  }

  /** Calls a tool until there is an answer that is the last word, or the patience is over. */
  async call(tool: string, args: JsonObject, meta: JsonObject): Promise<AgentAnswer> {
    const endsAt = performance.now() + this.#options.patienceMs;
    let answer: Members | undefined;
    let lost = 0;
    for (let sent = 1; ; sent += 1) {
      const { timeoutMs, repeatTimeoutMs } = this.#options;
      const timeout = sent === 1 ? timeoutMs : repeatTimeoutMs;
      const got = await this.#callOnce(tool, args, meta, timeout);
      if (got === undefined) lost += 1;
      answer = got ?? answer;
      const isOver = lost >= mostLost || performance.now() > endsAt;
      if (isOver || (got !== undefined && !mayRepeat(got))) return { answer, sent };
      await pause(pauseMs);
    }
  }

  /** Undefined: no answer came. */
  async #callOnce(
    tool: string,
    args: JsonObject,
    meta: JsonObject,
    timeout: number,
  ): Promise<Members | undefined> {
    const params = {
      name: tool,
      arguments: args,
      ...(Object.keys(meta).length === 0 ? {} : { _meta: meta }),
    };
    try {
      const client = await this.#connected();
      return await client.callTool(params, { timeout });
    } catch (error) {
      // The server's own error is an answer, too.
      if (error instanceof ProtocolError)
        return { isError: true, content: [{ type: "text", text: errorText(error) }] };
      if (error instanceof SdkHttpError && error.status === 404) await this.close();
      return undefined;
    }
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    await client?.then((each) => each.close()).catch(() => {});
  }
}

/** What of an answer is ours. */
export function operationIn(answer: Members): Members | undefined {
  const meta = answer["_meta"] as Members | undefined;
  return meta?.[metaNames.operation] as Members | undefined;
}

/** A person's decision may take days; nobody waits for it here. */
function mayRepeat(answer: Members): boolean {
  const { sameCall, code } = operationIn(answer) ?? {};
  return answer["isError"] === true && sameCall === "safe" && code !== "NEEDS_REVIEW";
}
