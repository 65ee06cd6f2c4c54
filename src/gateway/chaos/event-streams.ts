/**
 * Messages as server-sent events, written and read.
 * https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server
 *
 * @module
 */
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { EventSourceParserStream } from "eventsource-parser/stream";

/** One message as an event. Without an id: nobody can ask for it again. */
export function eventOf(message: JSONRPCMessage): string {
  return `event: message\ndata: ${JSON.stringify(message)}\n\n`;
}

/** True for an answer that is a stream of events. */
export function isEventStream({ headers }: Response): boolean {
  return headers.get("content-type")?.startsWith("text/event-stream") === true;
}

/** The messages of a stream, in order. */
export async function* messagesOf({ body }: Response): AsyncGenerator<JSONRPCMessage> {
  if (body === null) return;
  const events = body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream());
  for await (const { data } of events) if (data !== "") yield JSON.parse(data) as JSONRPCMessage;
}

/**
 * An answer that is written as it comes: plain JSON when the reply is all there is, and a stream of
 * events from the first message before it.
 */
export class StreamedAnswer {
  readonly response: Promise<Response>;
  readonly #onGone: () => void;
  #answer: (response: Response) => void = () => {};
  #refuse: (error: unknown) => void = () => {};
  #events: ReadableStreamDefaultController<Uint8Array> | undefined;

  /** `onGone`: the client has stopped reading the stream. */
  constructor(onGone: () => void) {
    this.#onGone = onGone;
    this.response = new Promise((resolve, reject) => {
      this.#answer = resolve;
      this.#refuse = reject;
    });
  }

  /** Starts the stream, if it hasn't. */
  open(): ReadableStreamDefaultController<Uint8Array> {
    if (this.#events !== undefined) return this.#events;
    const body = new ReadableStream<Uint8Array>({
      start: (events) => {
        this.#events = events;
      },
      cancel: this.#onGone,
    });
    const headers = { "content-type": "text/event-stream", "cache-control": "no-cache" };
    this.#answer(new Response(body, { headers }));
    return this.open();
  }

  push(message: JSONRPCMessage): void {
    this.open().enqueue(encoder.encode(eventOf(message)));
  }

  /** Gives the reply, and ends. */
  reply(message: JSONRPCMessage): void {
    if (this.#events === undefined) return this.#answer(Response.json(message));
    this.push(message);
    this.end();
  }

  end(): void {
    this.#events?.close();
  }

  /** No reply will come. */
  break(error: unknown): void {
    if (this.#events === undefined) this.#refuse(error);
    else this.#events.error(error);
  }
}

const encoder = new TextEncoder();
