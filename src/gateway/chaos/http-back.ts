/**
 * What is behind the proxy by HTTP, and a server at a URL as the plain case of it.
 *
 * @module
 */
import type { UpstreamSpec } from "../config/gateway-config.ts";

/** A request, read. */
export interface BackRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The body's JSON. */
  readonly message: unknown;
  /** Aborts when the client is gone. */
  readonly signal?: AbortSignal;
}

/** See the module. */
export interface HttpBack {
  /** Rejects when the server gives no answer. */
  forward(request: BackRequest): Promise<Response>;
  /** Ends the processes at once. Absent for a URL. */
  readonly kill?: () => void;
  close(): Promise<void>;
}

/**
 * They belong to one connection (https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1), or to the
 * coding of a body, which is undone here.
 */
const ofOneConnection = new Set([
  "accept-encoding",
  "connection",
  "content-encoding",
  "content-length",
  "host",
  "keep-alive",
  "transfer-encoding",
]);

/** The headers that pass a proxy. */
export function endToEnd(
  headers: Headers | NodeJS.Dict<string | string[]>,
): Readonly<Record<string, string>> {
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers);
  return Object.fromEntries(
    entries
      .filter(([name, value]) => value !== undefined && !ofOneConnection.has(name))
      .map(([name, value]) => [name, String(value)]),
  );
}

/** A server at a URL. What is still open when it closes is broken off. */
export function urlBack({ url, headers }: Extract<UpstreamSpec, { kind: "url" }>): HttpBack {
  const over = new AbortController();
  return {
    forward: ({ method, headers: given, body, signal }) =>
      fetch(url, {
        method,
        headers: { ...given, ...headers },
        signal: signal === undefined ? over.signal : AbortSignal.any([signal, over.signal]),
        ...(body === "" ? {} : { body }),
      }),
    close: async () => over.abort(),
  };
}
