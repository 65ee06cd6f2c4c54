/**
 * A command behind the proxy by HTTP: a process for each session, and one for everyone without. What
 * a server says before its reply, of progress or to ask something, makes the answer a stream.
 *
 * @module
 */
import { randomUUID } from "node:crypto";
import type { JSONRPCMessage, JSONRPCRequest } from "@modelcontextprotocol/client";
import type { UpstreamSpec } from "../config/gateway-config.ts";
import { StreamedAnswer } from "./event-streams.ts";
import type { BackRequest, HttpBack } from "./http-back.ts";
import { openLink } from "./open-link.ts";
import { type ServerLink, isModern } from "./server-link.ts";

type CommandSpec = Extract<UpstreamSpec, { kind: "command" }>;

const sessionHeader = "mcp-session-id";

/** The process of clients that open no session: the newer era has none. */
const sessionless = "";

/** See the module. `onDiagnostic` gets what the processes write to their standard error. */
export function commandBack(spec: CommandSpec, onDiagnostic: (text: string) => void): HttpBack {
  const sessions = new Map<string, Promise<Session>>();
  const started = (id: string): Promise<Session> => {
    const session = Session.start(spec, onDiagnostic);
    sessions.set(id, session);
    const forget = (): void => {
      if (sessions.get(id) === session) sessions.delete(id);
    };
    session.then(({ ended }) => ended).then(forget, forget);
    return session;
  };
  const all = async (end: (session: Session) => void | Promise<void>): Promise<void> => {
    await Promise.allSettled([...sessions.values()].map((session) => session.then(end)));
  };
  return {
    forward: async (request) => {
      const { method, headers, message } = request;
      const known = headers[sessionHeader];
      const opens = (message as { method?: unknown } | undefined)?.method === "initialize";
      // https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
      if (known !== undefined && !opens && !sessions.has(known))
        return new Response("There is no such session.\n", { status: 404 });
      const id = opens ? randomUUID() : (known ?? sessionless);
      const isCall = method === "POST" && message !== undefined;
      if (!isCall && (known === undefined || !["GET", "DELETE"].includes(method)))
        return new Response(null, { status: 405 });
      const session = await (sessions.get(id) ?? started(id));
      const answer = await session.serve(request);
      if (opens) answer.headers.set(sessionHeader, id);
      return answer;
    },
    kill: () => {
      void all((session) => session.kill());
      // Whoever comes now must not meet one that is dying.
      sessions.clear();
    },
    close: () => all((session) => session.close()),
  };
}

/** The most that is kept for a client that reads no stream yet. */
const mostKept = 100;

class Session {
  readonly ended: Promise<void>;
  readonly #link: ServerLink;
  /** Answers under way, the newest last. */
  readonly #answers = new Set<StreamedAnswer>();
  /** The stream that belongs to no request. */
  #standing: StreamedAnswer | undefined;
  #kept: JSONRPCMessage[] = [];

  private constructor(link: ServerLink) {
    this.#link = link;
    this.ended = link.ended.then(() => this.#standing?.end());
  }

  static async start(spec: CommandSpec, onDiagnostic: (text: string) => void): Promise<Session> {
    let hear = (_message: JSONRPCMessage): void => {};
    const link = await openLink({ spec, onDiagnostic, onMessage: (message) => hear(message) });
    const session = new Session(link);
    hear = (message) => session.#hear(message);
    return session;
  }

  async serve({ method, message, signal }: BackRequest): Promise<Response> {
    if (method === "GET") return this.#stand();
    if (method === "DELETE") {
      await this.close();
      return new Response(null, { status: 200 });
    }
    const said = message as JSONRPCMessage;
    if ("method" in said && "id" in said) return this.#exchange(said, signal);
    await this.#link.pass(said);
    return new Response(null, { status: 202 });
  }

  async #exchange(asked: JSONRPCRequest, signal: AbortSignal | undefined): Promise<Response> {
    const answer = new StreamedAnswer(() => void this.#answers.delete(answer));
    this.#answers.add(answer);
    // In the older era a client that is gone has withdrawn nothing.
    const options = { signal: isModern(asked) ? signal : undefined };
    const hear = (message: JSONRPCMessage): void => {
      if (this.#answers.has(answer)) answer.push(message);
    };
    this.#link.request(asked, { hear, ...options }).then(
      (reply) => this.#answers.delete(answer) && answer.reply(reply),
      (error: unknown) => this.#answers.delete(answer) && answer.break(error),
    );
    this.#tellKept();
    return answer.response;
  }

  async #stand(): Promise<Response> {
    // https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#multiple-connections
    this.#standing?.end();
    const standing = new StreamedAnswer(() => {
      if (this.#standing === standing) this.#standing = undefined;
    });
    standing.open();
    this.#standing = standing;
    this.#tellKept();
    return standing.response;
  }

  /**
   * What a server says by itself has no request to belong to. A question goes where the client surely
   * listens, and everything else to the stream that is meant for it.
   */
  #hear(message: JSONRPCMessage): void {
    const newest = [...this.#answers].at(-1);
    const place = "id" in message ? (newest ?? this.#standing) : (this.#standing ?? newest);
    if (place === undefined) this.#kept = [...this.#kept, message].slice(-mostKept);
    else place.push(message);
  }

  #tellKept(): void {
    const kept = this.#kept;
    this.#kept = [];
    for (const message of kept) this.#hear(message);
  }

  kill(): void {
    this.#link.kill();
  }

  close(): Promise<void> {
    return this.#link.close();
  }
}
