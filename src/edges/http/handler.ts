/**
 * Running a route's handler: once, inside an armed attempt of its operation.
 *
 * A handler that answers is the effect. One that throws, answers with a status that is not stored, or
 * doesn't answer in time leaves the outcome unknown: it may have had its effect before that. Only what
 * the handler itself declares through {@link HandlerCall} proves more.
 *
 * @module
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { canonicalJson } from "../../base/canonical-json.ts";
import { assert } from "../../base/errors.ts";
import { startTimer, systemRuntime } from "../../base/runtime.ts";
import type { TransactCall } from "../../effects/transact.ts";
import type { ErrorClass } from "../../guard/contract.ts";
import type { ExecuteCall } from "../../guard/tool.ts";
import { type CaptureRule, type Captured, captureResponse } from "./capture-response.ts";
import type { HttpArguments } from "./request-body.ts";
import type { StoredResponse } from "./stored-response.ts";

/** Why a handler had no effect. */
export interface Refusal {
  /** 400–499, or 503 for what was not begun. */
  readonly status: number;
  /** One sentence for the caller. */
  readonly reason: string;
  /** The application's own code, for machines. */
  readonly code?: string;
  /** When another try may do better; for what was not begun. */
  readonly retryAfterMs?: number;
}

/** The operation that a handler runs for. */
export interface HandlerOperation {
  /** What the guard tells an attempt. Send `call.wireKey` to a provider, tag with `call.key`. */
  readonly call: ExecuteCall;
  /** Where the effect is written, on a route with `transact`; null on others. */
  readonly transaction: TransactCall<unknown> | null;
  readonly principal: string;
  /** As the client sent it, without quotes. */
  readonly idempotencyKey: string;
  /** What the fingerprint covers, as stored: on a second run exactly that of the first request (R17). */
  readonly arguments: HttpArguments;
}

/** What a handler is told beside the request. */
export interface HandlerCall<Context> {
  /** The framework's own request or context. */
  readonly context: Context;
  /** Null: nothing guards this request (a safe method, or no key where none is required). */
  readonly operation: HandlerOperation | null;
  /**
   * Makes the error to throw when the request is refused for good, and nothing had any effect. The
   * operation is settled as FAILED, and every repetition gets this refusal.
   */
  readonly refused: (refusal: Refusal) => Error;
  /**
   * Makes the error to throw when the request was turned away before it was begun, as by a rate
   * limit. The operation stays open: the same request may run later.
   */
  readonly notBegun: (refusal: Refusal) => Error;
}

/** Answers a request. Its request holds the whole body; its signal aborts at the route's time-out. */
export type Handler<Context> = (
  request: Request,
  call: HandlerCall<Context>,
) => Promise<Response> | Response;

/** A request on its way through the guard. */
export interface Exchange {
  readonly request: Request;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly context: unknown;
  readonly principal: string;
  readonly idempotencyKey: string;
  readonly arguments: HttpArguments;
  /** What became of the handler, for the answer to this very request. */
  readonly seen: {
    ran: boolean;
    open: boolean;
    captured?: Captured;
    turnedAway?: Refusal;
    /** With `transact`: an answer that was rolled back, so that it is no more than an answer. */
    rolledBack?: Response;
    /**
     * What the handler has in hand. Kept, because it may keep no more than the signal: Node ties that to
     * ours by a weak reference through the request, and once that is collected it never aborts.
     */
    request?: Request;
  };
}

/** What a handler declared by throwing; nobody else's error can claim it. */
const declared = new WeakMap<object, { readonly proves: ErrorClass; readonly refusal: Refusal }>();

/** For the contract of a route: only what the handler declared proves anything. */
export function classifyThrown(error: unknown): ErrorClass {
  return refusalOf(error)?.proves ?? "unknown";
}

/** What a thrown error declares, if anything. */
export function refusalOf(
  error: unknown,
): { readonly proves: ErrorClass; readonly refusal: Refusal } | undefined {
  return typeof error === "object" && error !== null ? declared.get(error) : undefined;
}

function declare(proves: ErrorClass, refusal: Refusal): Error {
  const { status, reason, code } = refusal;
  const allowed = Number.isInteger(status) && status >= 400 && status < 500;
  // A refusal that can't be told proves nothing: it is an error like any other.
  if (!allowed && !(proves === "not-executed" && status === 503)) {
    return new TypeError(`a refusal has a status from 400 to 499, not ${String(status)}`);
  }
  const error = Object.assign(new Error(reason), {
    name: "Refusal",
    status,
    ...(code === undefined ? {} : { code }),
  });
  declared.set(error, { proves, refusal });
  return error;
}

/** The part of a {@link HandlerCall} that is the same for each request. */
export const declarations = Object.freeze({
  refused: (refusal: Refusal) => declare("definitive", refusal),
  notBegun: (refusal: Refusal) => declare("not-executed", refusal),
});

/** Which handler runs, and what is kept of its answer. */
export interface HandlerRule {
  readonly handler: Handler<unknown>;
  readonly capture: CaptureRule;
  readonly storeStatus: (status: number) => boolean;
  /** When the handler's signal aborts in a transaction; outside of one the guard sees to that. */
  readonly timeoutMs: number;
}

/** Carries each request from the route to the attempt that its operation is given. */
export interface Exchanges {
  /** Runs the work with the exchange at hand. */
  during<T>(exchange: Exchange, work: () => Promise<T>): Promise<T>;
  /** The `execute` of the route's tool. */
  execute(args: HttpArguments, call: ExecuteCall): Promise<StoredResponse>;
  /** The same inside a transaction. After a deadlock it runs once more for the same request. */
  executeInside(args: HttpArguments, transaction: TransactCall<unknown>): Promise<StoredResponse>;
}

/** One per route, so that a handler that calls another route can't be taken for it. */
export function createExchanges(rule: HandlerRule): Exchanges {
  const storage = new AsyncLocalStorage<Exchange>();
  return {
    during: async (exchange, work) => {
      try {
        return await storage.run(exchange, work);
      } finally {
        exchange.seen.open = false;
      }
    },
    execute: (args, call) => runHandler(rule, storage.getStore(), args, call),
    executeInside: (args, transaction) =>
      withinTime(rule, (signal) => runInside(rule, storage.getStore(), args, transaction, signal)),
  };
}

async function runHandler(
  rule: HandlerRule,
  exchange: Exchange | undefined,
  args: HttpArguments,
  call: ExecuteCall,
): Promise<StoredResponse> {
  if (exchange === undefined || !belongsTo(exchange, args)) {
    // A sweep has no request to run; whoever sends it again brings it along.
    throw call.notSent(new Error("the request is not at hand; it has to be sent again"));
  }
  call.beforeWrite();
  exchange.seen.ran = true;
  const response = await answerOf(rule.handler, exchange, args, { call, transaction: null });
  if (!rule.storeStatus(response.status)) {
    await response.body?.cancel().catch(() => {});
    throw new Error(`the handler answered ${response.status}, which proves nothing`);
  }
  const captured = await captureResponse(response, rule.capture);
  exchange.seen.captured = captured;
  return captured.stored;
}

/**
 * The signal is all that ends a handler in a transaction: rolled back around a handler that goes on, its
 * later writes would commit by themselves.
 */
async function withinTime<T>(
  { timeoutMs }: HandlerRule,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController();
  const timer = startTimer(systemRuntime, timeoutMs);
  void timer.rung.then(() =>
    limit.abort(new Error(`the handler has taken longer than ${timeoutMs} ms`)),
  );
  try {
    return await work(limit.signal);
  } finally {
    timer.stop();
  }
}

async function runInside(
  rule: HandlerRule,
  exchange: Exchange | undefined,
  args: HttpArguments,
  transaction: TransactCall<unknown>,
  signal: AbortSignal,
): Promise<StoredResponse> {
  assert(exchange !== undefined, "a transaction is opened for a request");
  const { tenant, key } = transaction;
  exchange.seen.ran = true;
  const call: ExecuteCall = Object.freeze({
    tenant,
    key,
    wireKey: key,
    signal,
    beforeWrite: () => {},
    sendWithinMs: 0,
    notSent: (cause?: unknown) => new Error("nothing was written to the socket", { cause }),
  });
  const response = await answerOf(rule.handler, exchange, args, { call, transaction });
  if (!rule.storeStatus(response.status)) {
    exchange.seen.rolledBack = response;
    throw new Error(`the handler answered ${response.status}, so its transaction was rolled back`);
  }
  const captured = await captureResponse(response, rule.capture);
  exchange.seen.captured = captured;
  return captured.stored;
}

async function answerOf(
  handler: Handler<unknown>,
  exchange: Exchange,
  args: HttpArguments,
  attempt: Pick<HandlerOperation, "call" | "transaction">,
): Promise<Response> {
  const { context, principal, idempotencyKey } = exchange;
  const request = requestWith(exchange.request, exchange.bytes, attempt.call.signal);
  exchange.seen.request = request;
  const operation = Object.freeze({ ...attempt, principal, idempotencyKey, arguments: args });
  try {
    return await handler(request, Object.freeze({ ...declarations, context, operation }));
  } catch (error) {
    const told = refusalOf(error);
    if (told?.proves === "not-executed") exchange.seen.turnedAway = told.refusal;
    throw error;
  }
}

/** A sweep that was started inside a request must not run that request's handler for another one. */
function belongsTo(exchange: Exchange, args: HttpArguments): boolean {
  const { open, ran } = exchange.seen;
  return open && !ran && canonicalJson(args) === canonicalJson(exchange.arguments);
}

/** The request once more, with its body at hand. */
export function requestWith(
  request: Request,
  bytes: Uint8Array<ArrayBuffer>,
  signal: AbortSignal,
): Request {
  const { url, method, headers } = request;
  return new Request(url, {
    method,
    headers,
    signal,
    ...(bytes.byteLength === 0 ? {} : { body: bytes }),
  });
}
