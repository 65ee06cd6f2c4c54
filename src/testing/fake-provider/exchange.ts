import {
  request,
  type Agent,
  type ClientRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
} from "node:http";

/** What is known of a call that did not end in a 2xx answer. */
export interface ProviderErrorDetails {
  /** HTTP status, if one was read. */
  readonly status?: number | undefined;
  /** The provider's own code, or one of `CLIENT_CODES`. */
  readonly code?: string | undefined;
  /** The answer's body, read as JSON. */
  readonly body?: unknown;
  /** False only if nothing can have been written to the socket. */
  readonly wroteBytes: boolean;
  readonly cause?: unknown;
}

/** Codes that the client itself gives; any other code is the provider's. */
export const CLIENT_CODES = [
  "REFUSED",
  "ECONNRESET",
  "TIMEOUT",
  "ABORTED",
  "TRUNCATED",
  "INVALID_BODY",
] as const;

/** Why a call gave no effect; whether one landed all the same is another question. */
export class ProviderError extends Error {
  override readonly name = "ProviderError";
  readonly status: number | undefined;
  readonly code: string | undefined;
  readonly body: unknown;
  /** False only if nothing can have been written to the socket: our own fact, not a code's. */
  readonly wroteBytes: boolean;

  constructor(message: string, details: ProviderErrorDetails) {
    super(`fake provider: ${message}`, { cause: details.cause });
    this.status = details.status;
    this.code = details.code;
    this.body = details.body;
    this.wroteBytes = details.wroteBytes;
  }
}

/** One HTTP exchange. */
export interface ExchangeOptions {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly agent: Agent;
  /** For the whole exchange, connecting included. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  readonly beforeWrite?: (() => void) | undefined;
}

/** A reply that was read to its end. */
export interface ExchangeReply {
  readonly response: IncomingMessage;
  readonly text: string;
}

/**
 * Sends one request and reads the whole reply. The request is opened without a byte being written;
 * once the connection stands, `beforeWrite` and the write share one turn of the event loop, so
 * that no pause fits between the last check and the send.
 */
export function exchange(options: ExchangeOptions): Promise<ExchangeReply> {
  const { signal, timeoutMs, body = "" } = options;
  return new Promise((resolve, reject) => {
    let wroteBytes = false;
    let settled = false;
    const settle = (finish: () => void): void => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      finish();
    };
    const fail = (error: unknown): void => {
      settle(() => reject(error));
      // After the settling: destroying makes the request emit an error of its own.
      outgoing.destroy();
    };
    const failWith = (code: string, message: string, cause?: unknown, status?: number): void =>
      fail(new ProviderError(message, { code, status, wroteBytes, cause }));
    const onAbort = (): void => failWith("ABORTED", "aborted by the caller", signal?.reason);

    const outgoing = request(options.url, {
      method: options.method,
      agent: options.agent,
      headers: headersFor(options.headers, body),
    });
    const timer = setTimeout(
      () => failWith("TIMEOUT", `no whole answer within ${timeoutMs} ms`),
      timeoutMs,
    );
    outgoing.on("error", (error) => failWith(codeOf(error), error.message, error));
    outgoing.on("response", (response) => {
      readAll(response).then(
        (text) => settle(() => resolve({ response, text })),
        (error: Error) => failWith("TRUNCATED", "the answer broke off", error, response.statusCode),
      );
    });
    signal?.addEventListener("abort", onAbort);
    if (signal?.aborted === true) onAbort();
    onceConnected(outgoing, () => {
      // Time-out and abort may have come first; then the request is already destroyed.
      if (settled) return;
      try {
        options.beforeWrite?.();
      } catch (error) {
        fail(error);
        return;
      }
      wroteBytes = true;
      outgoing.end(body);
    });
  });
}

/** Calls back in the turn in which the request has a connected socket to write to. */
function onceConnected(outgoing: ClientRequest, write: () => void): void {
  outgoing.on("socket", (socket) => {
    if (socket.connecting) socket.once("connect", write);
    else write();
  });
}

function headersFor(headers: Readonly<Record<string, string>>, body: string): OutgoingHttpHeaders {
  if (body === "") return { ...headers };
  const length = Buffer.byteLength(body);
  return { ...headers, "content-type": "application/json", "content-length": length };
}

/** Rejects if the connection closes before the end of the body. */
async function readAll(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

function codeOf(error: Error & { code?: string }): string {
  return error.code === "ECONNREFUSED" ? "REFUSED" : "ECONNRESET";
}
