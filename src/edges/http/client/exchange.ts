/**
 * One request on the wire, through undici's dispatcher: below `fetch`, where it can be seen whether
 * anything was written.
 *
 * @module
 */

/** What is needed of undici 7's dispatcher. */
export interface DispatcherLike {
  dispatch(
    options: {
      readonly origin: string;
      readonly path: string;
      readonly method: string;
      readonly headers: Record<string, string>;
      readonly body: Uint8Array | null;
      readonly headersTimeout: number;
      readonly bodyTimeout: number;
    },
    handler: DispatchHandlerLike,
  ): boolean;
  close(): Promise<void>;
}

/** What is needed of a dispatcher's controller. */
export interface ControllerLike {
  abort(reason: Error): void;
}

/** The calls that undici makes of a handler. */
export interface DispatchHandlerLike {
  onRequestStart(controller: ControllerLike): void;
  onResponseStart(
    controller: ControllerLike,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void;
  onResponseData(controller: ControllerLike, chunk: Uint8Array): void;
  onResponseEnd(): void;
  onResponseError(controller: ControllerLike, error: Error): void;
}

/** A request with its body at hand. */
export interface WireRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body: Uint8Array | null;
  readonly signal: AbortSignal;
  readonly maxReplyBytes: number;
  /** Called in the turn of the socket write; when it throws, nothing is written. */
  readonly beforeWrite: () => void;
}

/** What came back. */
export interface WireReply {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The body went on beyond `maxReplyBytes`, and was not read further. */
  readonly cut: boolean;
}

/**
 * How a send ended. `unwritten` is a fact of ours: the turn of the socket write never came, or was
 * refused in it. Whatever went wrong later is `lost`.
 */
export type Sent =
  | { readonly kind: "replied"; readonly reply: WireReply }
  | { readonly kind: "unwritten"; readonly error: unknown }
  | { readonly kind: "lost"; readonly error: unknown };

/** Sends once. Follows no redirect, decodes no body, sends nothing again. Never rejects. */
export function exchange(dispatcher: DispatcherLike, request: WireRequest): Promise<Sent> {
  return new Promise((resolve) => {
    const { signal, url, method, headers, body } = request;
    const receiver = createReceiver(request, (sent) => {
      signal.removeEventListener("abort", receiver.withdraw);
      resolve(sent);
    });
    if (signal.aborted) return receiver.withdraw();
    signal.addEventListener("abort", receiver.withdraw);
    const path = `${url.pathname}${url.search}`;
    // The signal is the limit of the whole call; undici's own would only add other words for it.
    const options = { headersTimeout: 0, bodyTimeout: 0 };
    try {
      dispatcher.dispatch(
        { origin: url.origin, path, method, headers, body, ...options },
        receiver,
      );
    } catch (error) {
      receiver.fail(error);
    }
  });
}

interface Receiver extends DispatchHandlerLike {
  readonly withdraw: () => void;
  readonly fail: (error: unknown) => void;
}

function createReceiver(request: WireRequest, settle: (sent: Sent) => void): Receiver {
  const { signal, maxReplyBytes } = request;
  const chunks: Uint8Array[] = [];
  const seen = { written: false, settled: false, status: 0, headers: new Headers(), bytes: 0 };
  const wire: { controller?: ControllerLike } = {};
  const end = (sent: Sent): void => {
    if (seen.settled) return;
    seen.settled = true;
    settle(sent);
  };
  const fail = (error: unknown): void => end({ kind: seen.written ? "lost" : "unwritten", error });
  const reply = (cut: boolean): void => {
    const bytes = new Uint8Array(Buffer.concat(chunks));
    end({ kind: "replied", reply: { status: seen.status, headers: seen.headers, bytes, cut } });
  };
  return {
    onRequestStart: (controller) => {
      // A withdrawn request may still have been waiting for its connection.
      if (seen.settled) throw new Error("the call was withdrawn before the write");
      // An agent that retries or follows redirects by itself asks again for the same request.
      if (seen.written) throw new Error("the request was written before, and goes out once");
      request.beforeWrite();
      // From here on undici writes in this very turn.
      seen.written = true;
      wire.controller = controller;
    },
    onResponseStart: (_controller, status, headers) => {
      if (status < 200) return;
      seen.status = status;
      seen.headers = headersOf(headers);
    },
    onResponseData: (controller, chunk) => {
      chunks.push(chunk);
      seen.bytes += chunk.byteLength;
      if (seen.bytes <= maxReplyBytes) return;
      reply(true);
      controller.abort(new Error("the reply is larger than is read"));
    },
    onResponseEnd: () => reply(false),
    onResponseError: (_controller, error) => fail(error),
    fail,
    withdraw: () => {
      const reason: unknown = signal.reason;
      const error = reason instanceof Error ? reason : new Error("the call was withdrawn");
      fail(error);
      wire.controller?.abort(error);
    },
  };
}

function headersOf(raw: Record<string, string | string[] | undefined>): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(raw)) {
    for (const one of Array.isArray(value) ? value : [value ?? ""]) headers.append(name, one);
  }
  return headers;
}
