/**
 * A fetch for the `execute` of a tool: it carries the operation's wire key, and knows what it has
 * written. It mints no key of its own.
 *
 * @module
 */
import { NeverTwiceError } from "../../../base/errors.ts";
import { toPlainJson } from "../../../base/plain-json.ts";
import { pause, systemRuntime } from "../../../base/runtime.ts";
import type { ExecuteCall } from "../../../guard/tool.ts";
import { type KeyForm, keyHeader, writeKey } from "../key-header.ts";
import {
  type StoredBody,
  type StoredResponse,
  defaultReplayHeaders,
  pickHeaders,
  storeBytes,
} from "../stored-response.ts";
import { type DispatcherLike, type Sent, type WireReply, exchange } from "./exchange.ts";
import { ReplyError } from "./reply-error.ts";

/** Options of {@link createIdempotentFetch}. */
export interface IdempotentFetchOptions {
  /** The `Agent` class of undici 7. An agent of our own is made of it: no redirect, no retry, no HTTP/2. */
  readonly Agent: new (options: {
    readonly pipelining: number;
    readonly allowH2: boolean;
    readonly connect: { readonly timeout: number };
  }) => DispatcherLike;
  /** The field that carries the key. Default `Idempotency-Key`. */
  readonly header?: string;
  /** Default `bare`: what most providers read. */
  readonly keyForm?: KeyForm;
  /**
   * True: the server takes the key atomically, so that the same request may be sent again under it.
   * Then 409, 425, 429 and 503 with a `Retry-After` in seconds are waited for and asked again, inside
   * the operation's send deadline; a longer wait is not begun. Default false: one armed attempt sends once.
   */
  readonly resends?: boolean;
  /** More of a reply is not read. Default 256 KiB. */
  readonly maxReplyBytes?: number;
  /** For connecting alone, in milliseconds. Default 10 s. */
  readonly connectTimeoutMs?: number;
  /** Header fields of replies that are kept, beside the default ones. */
  readonly replyHeaders?: readonly string[];
}

/** What is sent. Every attempt of one operation must send the same bytes: build it of the arguments alone. */
export interface IdempotentRequest {
  /** Default POST. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as it stands. Streams can't be sent: they can't be sent again. */
  readonly body?: string | Uint8Array;
  /** Sent as JSON, in place of `body`. What JSON can't carry is refused, as for arguments (R4). */
  readonly json?: unknown;
}

/** The part of an {@link ExecuteCall} that a send needs. */
export type SendCall = Pick<
  ExecuteCall,
  "wireKey" | "signal" | "beforeWrite" | "sendWithinMs" | "notSent"
>;

/** Sends for one armed attempt. */
export interface IdempotentFetch {
  /**
   * Resolves with a 2xx reply. Rejects with `call.notSent` when nothing was written, with
   * {@link ReplyError} for any other reply, and with what happened for everything else: then nobody
   * knows, and nothing but the guard may send again.
   */
  (url: string | URL, request: IdempotentRequest, call: SendCall): Promise<StoredResponse>;
  /** Closes the connections once what is under way has ended. */
  close(): Promise<void>;
}

/**
 * Makes a fetch with connections of its own.
 *
 * @throws {NeverTwiceError} CONFIGURATION_INVALID without undici's Agent.
 *
 * @example
 * import { Agent } from "undici";
 * const send = createIdempotentFetch({ Agent });
 * const refund = defineTool({
 *   …, contract: { …, classify: classifyReplies({ definitive: [402] }) },
 *   execute: (args, call) => send("https://api.example.com/refunds", { json: args }, call),
 * });
 */
export function createIdempotentFetch(options: IdempotentFetchOptions): IdempotentFetch {
  if (typeof options.Agent !== "function") {
    throw new NeverTwiceError(
      "CONFIGURATION_INVALID",
      '`Agent` is missing: hand in the class of undici 7 (`import { Agent } from "undici"`). Nothing was sent.',
    );
  }
  const { connectTimeoutMs = 10_000 } = options;
  // One request at a time on a connection: a pipelined one would be written in another turn.
  const dispatcher = new options.Agent({
    pipelining: 1,
    allowH2: false,
    connect: { timeout: connectTimeoutMs },
  });
  const send = (
    url: string | URL,
    request: IdempotentRequest,
    call: SendCall,
  ): Promise<StoredResponse> => sendAttempt(dispatcher, options, { url, request, call });
  return Object.assign(send, { close: () => dispatcher.close() });
}

interface Attempt {
  readonly url: string | URL;
  readonly request: IdempotentRequest;
  readonly call: SendCall;
}

async function sendAttempt(
  dispatcher: DispatcherLike,
  options: IdempotentFetchOptions,
  attempt: Attempt,
): Promise<StoredResponse> {
  const { call } = attempt;
  const wire = wireRequest(options, attempt);
  let sent = await exchange(dispatcher, wire);
  if (sent.kind === "unwritten") throw unsent(call, sent.error);
  // From here on something was written: what comes to nothing now leaves the first answer standing.
  let sends = 1;
  while (options.resends === true && (await waitToResend(sent, call))) {
    const next: Sent = await exchange(dispatcher, wire);
    if (next.kind === "unwritten") break;
    sent = next;
    sends += 1;
  }
  if (sent.kind !== "replied") throw asError(sent.error);
  const stored = storeReply(options, sent.reply);
  if (stored.status < 200 || stored.status > 299) throw new ReplyError(stored, sends);
  return stored;
}

/** What `beforeWrite` threw carries the guard's own mark already; `notSent` marks the rest. */
function unsent(call: SendCall, error: unknown): Error {
  return lateErrors.has(error as object) ? asError(error) : call.notSent(error);
}

/** What a `beforeWrite` threw. */
const lateErrors = new WeakSet<object>();

function wireRequest(
  options: IdempotentFetchOptions,
  { url, request, call }: Attempt,
): Parameters<typeof exchange>[1] {
  const { header = keyHeader, keyForm = "bare", maxReplyBytes = 256 * 1024 } = options;
  try {
    const headers = wireHeaders(request, header);
    headers[header.toLowerCase()] = writeKey(call.wireKey, keyForm);
    return {
      url: httpUrl(url),
      method: request.method ?? "POST",
      headers,
      body: bodyOf(request),
      signal: call.signal,
      maxReplyBytes,
      beforeWrite: () => {
        try {
          call.beforeWrite();
        } catch (error) {
          lateErrors.add(error as object);
          throw error;
        }
      },
    };
  } catch (error) {
    throw call.notSent(error);
  }
}

function httpUrl(url: string | URL): URL {
  const parsed = new URL(url);
  const { protocol, username, password } = parsed;
  if (protocol !== "https:" && protocol !== "http:") throw unfit(`${protocol} is not HTTP`);
  // They would be left out without a word, and the request would be somebody else's.
  if (username !== "" || password !== "")
    throw unfit("Credentials belong into the `authorization` header, not into the URL");
  return parsed;
}

function unfit(reason: string): NeverTwiceError {
  return new NeverTwiceError("CONFIGURATION_INVALID", `${reason}. Nothing was sent.`);
}

function bodyOf(request: IdempotentRequest): Uint8Array | null {
  const { body, json } = request;
  if (json !== undefined && body !== undefined)
    throw unfit("A request has either `json` or `body`");
  // Else a NaN would arrive as null, and a function as no body at all.
  const text = json === undefined ? body : JSON.stringify(toPlainJson(json));
  if (text === undefined) return null;
  if (typeof text === "string" || text instanceof Uint8Array) return Buffer.from(text);
  throw unfit("A body must be text or bytes, so that it can be sent again as it was");
}

function wireHeaders(request: IdempotentRequest, keyField: string): Record<string, string> {
  const headers: Record<string, string> = {
    // What comes back is kept as it comes, so it must not depend on who decodes it.
    "accept-encoding": "identity",
    ...(request.json === undefined ? {} : { "content-type": "application/json" }),
  };
  for (const [name, value] of Object.entries(request.headers ?? {})) {
    if (name.toLowerCase() === keyField.toLowerCase()) {
      throw unfit(
        `The request sets ${name} itself, but the key is the operation's. Leave the field out`,
      );
    }
    headers[name.toLowerCase()] = value;
  }
  return headers;
}

/** Replies that ask to be asked again under the same key. */
const askAgain = new Set([409, 425, 429, 503]);

async function waitToResend(sent: Sent, call: SendCall): Promise<boolean> {
  if (sent.kind !== "replied" || !askAgain.has(sent.reply.status)) return false;
  const after = sent.reply.headers.get("retry-after");
  if (after === null || !/^\d{1,6}$/.test(after)) return false;
  const waitMs = Number(after) * 1000;
  // It would end in a refusal, and till then the caller could not be told what this reply proves.
  if (waitMs > call.sendWithinMs) return false;
  await pause(systemRuntime, waitMs, call.signal);
  return !call.signal.aborted;
}

function storeReply(options: IdempotentFetchOptions, reply: WireReply): StoredResponse {
  const { replyHeaders = [] } = options;
  const names = new Set([
    ...defaultReplayHeaders,
    ...replyHeaders.map((name) => name.toLowerCase()),
  ]);
  const body: StoredBody | null = reply.cut
    ? { omitted: { reason: "it is larger than is read" } }
    : storeBytes(reply.bytes);
  return { v: 1, status: reply.status, headers: pickHeaders(reply.headers, [...names]), body };
}

function asError(error: unknown): Error {
  return error instanceof Error
    ? error
    : new Error("the send ended without a reply", { cause: error });
}
