/**
 * The answer by HTTP to a call that a fault strikes: the reply is kept back, and all that the server
 * says before it passes, for a server that asks something goes on only when it is answered.
 *
 * @module
 */
import type { ServerResponse } from "node:http";
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { UpstreamLost } from "../../edges/mcp/upstream-errors.ts";
import { eventOf, isEventStream, messagesOf } from "./event-streams.ts";
import { endToEnd } from "./http-back.ts";

/** A reply that the client hasn't got yet. */
export interface HeldReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** See the module. */
export class StruckAnswer {
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  /** Reads an answer up to its reply; what comes before passes where `passes` says so. */
  async hold(
    answer: Promise<Response>,
    passes: (message: JSONRPCMessage) => boolean,
  ): Promise<HeldReply> {
    const got = await answer;
    const { status } = got;
    const headers = endToEnd(got.headers);
    if (!isEventStream(got)) return { status, headers, body: await got.text() };
    for await (const message of messagesOf(got)) {
      if (!("method" in message)) return { status, headers, body: eventOf(message) };
      if (passes(message)) this.#pass(message, headers);
    }
    throw new UpstreamLost("the server's answer ended without a reply");
  }

  #pass(message: JSONRPCMessage, headers: HeldReply["headers"]): void {
    if (this.#response.writableEnded || this.#response.destroyed) return;
    if (!this.#response.headersSent) this.#response.writeHead(200, headers);
    this.#response.write(eventOf(message));
  }

  give({ status, headers, body }: HeldReply): void {
    if (!this.#response.headersSent) this.#response.writeHead(status, headers).end(body);
    // A question of the twin may have made a stream of an answer that was none.
    else this.#response.end(body.startsWith("event:") ? body : eventOf(JSON.parse(body) as never));
  }

  /** HTTP 503; where something has passed, and with it the status, the connection breaks instead. */
  refuse(): void {
    if (this.#response.headersSent) return this.lose();
    this.#response.writeHead(503, { "retry-after": "1" }).end("Service Unavailable\n");
  }

  /** The connection breaks. */
  lose(): void {
    this.#response.destroy();
  }
}

/** The server waits for the client's answer. */
export function isQuestion(message: JSONRPCMessage): boolean {
  return "method" in message && "id" in message;
}
