import { Agent, type IncomingMessage } from "node:http";

import { exchange, ProviderError, type ExchangeOptions } from "./exchange.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "./json.ts";

/** An effect as the provider shows it: its own members, and whatever the request's body held. */
export interface ProviderEffect extends JsonObject {
  readonly id: string;
  readonly operation: string;
  readonly status: string;
}

/** Limits and hooks of one call. */
export interface CallOptions {
  readonly signal?: AbortSignal;
  /** For the whole call, connecting included. Default: the client's. */
  readonly timeoutMs?: number;
}

/** An effect to create. */
export interface CreateEffect extends CallOptions {
  readonly operation: string;
  readonly body: JsonObject;
  /** Sent as `Idempotency-Key`. */
  readonly key?: string;
  /** Sent as `X-Tag`; `findEffects` looks for it. */
  readonly tag?: string;
  /** Sent as `X-Account`. */
  readonly account?: string;
  /**
   * Called in the very turn of the socket write, once the connection stands. If it throws, nothing
   * is written and the call rejects with what was thrown.
   */
  readonly beforeWrite?: () => void;
}

/** Effects to look for; every part given must match. */
export interface FindEffects extends CallOptions {
  readonly tag?: string;
  readonly key?: string;
  readonly account?: string;
}

/** The provider's "official SDK": one request per call, never a retry. */
export interface ProviderClient {
  /** Creates an effect. Rejects with `ProviderError`, or with what `beforeWrite` threw. */
  createEffect(request: CreateEffect): Promise<ProviderEffect>;
  /** Lists the visible effects that match, oldest first. */
  findEffects(query: FindEffects): Promise<readonly ProviderEffect[]>;
  /** Gets one effect; rejects with a `ProviderError` of status 404 if there is none. */
  getEffect(id: string, options?: CallOptions): Promise<ProviderEffect>;
  /** Closes idle connections. */
  close(): void;
}

/** Where the provider is and how long a call may take (default 30 s, connecting included). */
export interface ProviderClientOptions {
  readonly url: string;
  readonly timeoutMs?: number;
}

/** Makes a client; its connections are kept alive between calls. */
export function createProviderClient(options: ProviderClientOptions): ProviderClient {
  const agent = new Agent({ keepAlive: true });
  const call = async (
    request: Pick<ExchangeOptions, "method" | "headers" | "body" | "beforeWrite">,
    path: string,
    limits: CallOptions,
  ): Promise<JsonValue> => {
    const reply = await exchange({
      ...request,
      url: options.url + path,
      agent,
      timeoutMs: limits.timeoutMs ?? options.timeoutMs ?? 30_000,
      signal: limits.signal,
    });
    return readReply(reply.response, reply.text);
  };

  return {
    createEffect: async (request) => {
      const { operation, body, key, tag, account, beforeWrite } = request;
      const headers = headersOf({ "idempotency-key": key, "x-tag": tag, "x-account": account });
      const text = JSON.stringify(body);
      const path = `/effects/${encodeURIComponent(operation)}`;
      const create = { method: "POST", headers, body: text, beforeWrite };
      return (await call(create, path, request)) as ProviderEffect;
    },
    findEffects: async (query) => {
      const { tag, key, account } = query;
      const headers = headersOf({ "x-account": account });
      const search = new URLSearchParams(headersOf({ tag, key }));
      const found = await call({ method: "GET", headers }, `/effects?${search}`, query);
      return found as unknown as readonly ProviderEffect[];
    },
    getEffect: async (id, limits = {}) => {
      const path = `/effects/${encodeURIComponent(id)}`;
      return (await call({ method: "GET", headers: {} }, path, limits)) as ProviderEffect;
    },
    close: () => agent.destroy(),
  };
}

/** Reads a whole reply; throws a `ProviderError` for anything but 2xx with a JSON body. */
function readReply(response: IncomingMessage, text: string): JsonValue {
  const status = response.statusCode ?? 0;
  let body: JsonValue;
  try {
    body = JSON.parse(text) as JsonValue;
  } catch {
    throw new ProviderError(`answered ${status} with a body that is not JSON`, {
      status,
      code: "INVALID_BODY",
      wroteBytes: true,
    });
  }
  if (status >= 200 && status < 300) return body;
  const error = isJsonObject(body) ? body["error"] : undefined;
  const code = isJsonObject(error) && typeof error["code"] === "string" ? error["code"] : undefined;
  throw new ProviderError(`answered ${status}${code === undefined ? "" : ` ${code}`}`, {
    status,
    code,
    body,
    wroteBytes: true,
  });
}

/** Drops what is undefined. */
function headersOf(values: Record<string, string | undefined>): Record<string, string> {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as Record<string, string>;
}
