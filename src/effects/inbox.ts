/**
 * Events that come in: each is handled once per consumer, and its dedupe row commits with the state
 * change. A handler that throws leaves a row behind, so that an event may be handled again, and
 * becomes a dead letter when it fails too often.
 *
 * @module
 */
import { backOffMs, spread } from "../base/back-off.ts";
import { canonicalJson, sha256Hex } from "../base/canonical-json.ts";
import { days } from "../base/duration.ts";
import { NeverTwiceError, errorText, isNeverTwiceError } from "../base/errors.ts";
import { type Runtime, pause, systemRuntime } from "../base/runtime.ts";
import { checkedId, maxIdBytes } from "../intent/intent.ts";
import type { Discard, InboxId, InboxRecord } from "../ledger/events.ts";
import type { EffectStore, Transaction } from "../ledger/transaction.ts";
import { type CloudEventJson, cloudEventText, invalidEvent } from "./cloud-event.ts";
import { checkedDiscard } from "./discard.ts";
import { type RejectedMessage, idOfMessage, keptMessage, noTenant } from "./rejected-message.ts";

/** A delivery of an event to one consumer. */
export interface Delivery extends InboxId {
  readonly type: string;
  readonly subject?: string | undefined;
  /** Plain JSON. */
  readonly data?: unknown;
  /**
   * `subject+type`: the producer may tell one fact under two ids, and an event of this type happens
   * once to its subject, e.g. `order.paid`. A second one is a duplicate, whatever its id and source.
   */
  readonly fact?: "subject+type" | undefined;
}

/** What a handler is given. */
export interface ReceivedEvent extends InboxId {
  readonly type: string;
  readonly subject: string | undefined;
  readonly data: unknown;
}

/**
 * Changes the state through `tx`, and has no effect outside it: the work may run again after a
 * deadlock. Effects outside are a run that it starts, or an event that it emits.
 */
export type EventHandler<Driver, T = unknown> = (
  tx: Transaction<Driver>,
  event: ReceivedEvent,
) => Promise<T> | T;

/** What became of a delivery. All but `will-retry` may be acknowledged for good. */
export type Received<T> =
  | { readonly status: "handled"; readonly value: T }
  /** It was handled before, or another id told the same fact. */
  | { readonly status: "duplicate" }
  /** It failed too often and waits for a person. */
  | { readonly status: "dead"; readonly error: string | null }
  /** The handler threw and nothing of it holds; the event is kept. */
  | {
      readonly status: "will-retry";
      readonly error: string | null;
      readonly attempts: number;
      readonly retryAfterMs: number;
    };

/** Options of {@link createInbox}. */
export interface InboxOptions<Driver> {
  readonly store: EffectStore<Driver>;
  /** An event is dead when its handler threw that often. Default 10. */
  readonly poisonAfter?: number;
  /** The pause after the first failure, in milliseconds; it doubles. Default 1 s. */
  readonly retryAfterMs?: number;
  /** The longest pause, in milliseconds. Default 5 min. */
  readonly maxRetryAfterMs?: number;
  /**
   * How long a handled event stays known, in milliseconds; longer than any producer delivers again
   * (https://docs.stripe.com/webhooks: 30 days by hand). Default 45 d.
   */
  readonly retentionMs?: number;
  /** The largest event as JSON, in bytes. Default 1 MiB. */
  readonly maxEventBytes?: number;
  /** How much is kept of a message that is no event, in bytes. Default 64 KiB. */
  readonly maxRejectedBytes?: number;
  onWarning?(message: string): void;
  readonly runtime?: Runtime;
}

/** Which kept events are to be handled again. */
export interface RetryOptions<Driver> {
  readonly consumer: string;
  readonly handler: EventHandler<Driver>;
  /** At most that many at a time. Default 100. */
  readonly limit?: number;
}

/** Receives events. */
export interface EventInbox<Driver = unknown> {
  /**
   * Handles the event unless it was handled before; the dedupe row and whatever the handler writes
   * commit together. After `handled`, `duplicate` and `dead` the delivery may be acknowledged. An
   * error means that nothing is known to be stored: don't acknowledge.
   *
   * @throws {NeverTwiceError} EVENT_INVALID, EVENT_TOO_LARGE, INTENT_INVALID for a blank tenant or
   * consumer, before anything is recorded; STORE_UNAVAILABLE.
   */
  receive<T>(delivery: Delivery, handler: EventHandler<Driver, T>): Promise<Received<T>>;
  /**
   * Keeps a message that is no event as a dead letter, to be looked at and given up: it is never
   * handled. The same bytes again are the same dead letter. Afterwards it may be acknowledged; an
   * error means that nothing is known to be stored.
   *
   * @throws {NeverTwiceError} STORE_UNAVAILABLE; INTENT_INVALID for a blank consumer.
   */
  reject(message: RejectedMessage): Promise<InboxRecord>;
  /** Handles kept events of the consumer whose time has come; returns how many it took up. */
  retryDue(options: RetryOptions<Driver>): Promise<number>;
  /** Calls `retryDue` every `everyMs` (default 1 s) until the signal aborts. */
  keepRetrying(
    options: RetryOptions<Driver> & { readonly signal: AbortSignal; readonly everyMs?: number },
  ): Promise<void>;
  /** Lets a dead letter be handled again, by `retryDue`. Undefined: it is not dead, or is no event. */
  redrive(id: InboxId): Promise<InboxRecord | undefined>;
  /**
   * Gives a kept event up: it stays known and is never handled. Undefined: it is handled.
   *
   * @throws {NeverTwiceError} CONFIGURATION_INVALID for a blank name or reason.
   */
  discard(id: InboxId, discard: Discard): Promise<InboxRecord | undefined>;
  /** Forgets handled events past their retention; returns how many. */
  purge(options?: { readonly limit?: number }): Promise<number>;
}

/** How the fact travels with a kept event. */
const factAttribute = "nevertwicefact";

interface InboxEnvironment<Driver> extends Required<
  Omit<InboxOptions<Driver>, "store" | "onWarning">
> {
  readonly store: EffectStore<Driver>;
  warn(message: string): void;
}

/** A delivery that was checked, and its text. */
interface CheckedDelivery {
  readonly id: InboxId;
  readonly event: ReceivedEvent;
  readonly fact: string | null;
  readonly text: string;
}

/**
 * Creates an inbox.
 *
 * @throws {NeverTwiceError} CONFIGURATION_INVALID.
 *
 * @example
 * const inbox = createInbox({ store });
 * await inbox.receive(
 *   { tenant: "acme", consumer: "bookkeeping", source: "stripe", id: event.id, type: event.type },
 *   async (tx) => tx.driver.query("insert into bookings …"),
 * );
 */
export function createInbox<Driver>(options: InboxOptions<Driver>): EventInbox<Driver> {
  const env = environmentOf(options);
  const { inbox } = env.store;
  const retryDue: EventInbox<Driver>["retryDue"] = (retry) => retryKept(env, retry);
  return {
    receive: async (delivery, handler) => receive(env, checkedDelivery(env, delivery), handler),
    reject: (message) => reject(env, message),
    retryDue,
    keepRetrying: async ({ signal, everyMs = 1000, ...retry }) => {
      while (!signal.aborted) {
        try {
          if ((await retryDue(retry)) > 0) continue;
        } catch (error) {
          // The store is away; the next round may find it back.
          env.warn(`kept events could not be taken up: ${errorText(error)}`);
        }
        await pause(env.runtime, spread(env.runtime, everyMs), signal);
      }
    },
    redrive: (id) => inbox.redrive(idOf(id)),
    discard: async (id, discard) => inbox.discard({ ...idOf(id), ...checkedDiscard(discard) }),
    purge: ({ limit = 1000 } = {}) => inbox.purge({ limit }),
  };
}

/**
 * The id of the run that answers the event: the same for every delivery of it, also when it comes
 * under another execution. One event that starts several flows gives each a `name`.
 *
 * @example
 * await flows.start(ship, { tenant, runId: runIdOfEvent(event) }, event.data, tx);
 */
export function runIdOfEvent(
  { source, id }: { readonly source: string; readonly id: string },
  name?: string,
): string {
  const parts = name === undefined ? [source, id] : [source, id, name];
  return `event-${sha256Hex(canonicalJson(parts)).slice(0, 40)}`;
}

function environmentOf<Driver>(options: InboxOptions<Driver>): InboxEnvironment<Driver> {
  const numbers = {
    poisonAfter: options.poisonAfter ?? 10,
    retryAfterMs: options.retryAfterMs ?? 1000,
    maxRetryAfterMs: options.maxRetryAfterMs ?? 300_000,
    retentionMs: options.retentionMs ?? days(45),
    maxEventBytes: options.maxEventBytes ?? 1024 * 1024,
    maxRejectedBytes: options.maxRejectedBytes ?? 64 * 1024,
  };
  for (const [name, value] of Object.entries(numbers)) {
    if (Number.isSafeInteger(value) && value > 0) continue;
    throw new NeverTwiceError(
      "CONFIGURATION_INVALID",
      `\`${name}\` must be a whole number above zero, not ${String(value)}.`,
    );
  }
  return {
    ...numbers,
    store: options.store,
    runtime: options.runtime ?? systemRuntime,
    warn: (message) => options.onWarning?.(message),
  };
}

function idOf({ tenant, consumer, source, id }: InboxId): InboxId {
  return { tenant, consumer, source, id };
}

function checkedDelivery<Driver>(
  { maxEventBytes }: InboxEnvironment<Driver>,
  delivery: Delivery,
): CheckedDelivery {
  const { source, id, type, subject } = delivery;
  const tenant = checkedId(delivery.tenant, "tenant");
  const consumer = checkedId(delivery.consumer, "consumer");
  const fact = factOf(delivery);
  const extensions = fact === null ? {} : { [factAttribute]: fact };
  const text = cloudEventText({ ...delivery, extensions }, maxEventBytes);
  // A copy, so that what the handler does to the data can't change what is kept.
  const { data } = JSON.parse(text) as CloudEventJson;
  const inboxId = { tenant, consumer, source, id };
  return { id: inboxId, event: { ...inboxId, type, subject, data }, fact, text };
}

function factOf({ fact, subject, type }: Delivery): string | null {
  if (fact === undefined) return null;
  if (fact !== "subject+type") throw invalidEvent("`fact`", "unknown: use subject+type");
  if (subject === undefined) throw invalidEvent("`subject`", "missing, and the fact needs it");
  const text = canonicalJson([subject, type]);
  // It stands in one index entry with tenant and consumer, and what JSON escapes gets longer.
  return Buffer.byteLength(text) <= 2 * maxIdBytes ? text : sha256Hex(text);
}

async function reject<Driver>(
  { store, retentionMs, maxRejectedBytes }: InboxEnvironment<Driver>,
  message: RejectedMessage,
): Promise<InboxRecord> {
  return store.inbox.reject({
    tenant: tenantOf(message),
    consumer: checkedId(message.consumer, "consumer"),
    source: message.source,
    id: idOfMessage(message.body),
    raw: JSON.stringify(keptMessage(message, maxRejectedBytes)),
    error: errorText(message.error),
    retentionMs,
  });
}

/** What names a tenant badly names none. */
function tenantOf({ tenant }: RejectedMessage): string {
  try {
    return checkedId(tenant ?? noTenant, "tenant");
  } catch {
    return noTenant;
  }
}

async function receive<Driver, T>(
  env: InboxEnvironment<Driver>,
  delivery: CheckedDelivery,
  handler: EventHandler<Driver, T>,
): Promise<Received<T>> {
  const receipt = env.runtime.randomId();
  const pass: Pass<T> = { attempts: 1, handled: undefined };
  try {
    return await handle(env, delivery, handler, receipt, pass);
  } catch (error) {
    if (isRejected(error)) {
      // Another id told the same fact at the same moment, and the index raised: now it is there.
      return handle(env, delivery, handler, receipt, pass).catch((again: unknown) =>
        keep(env, delivery, { error: again, receipt, pass }),
      );
    }
    return keep(env, delivery, { error, receipt, pass });
  }
}

/** What is known of a delivery's transaction if its end is not. */
interface Pass<T> {
  attempts: number;
  handled: { readonly value: T } | undefined;
}

function handle<Driver, T>(
  env: InboxEnvironment<Driver>,
  delivery: CheckedDelivery,
  handler: EventHandler<Driver, T>,
  receipt: string,
  pass: Pass<T>,
): Promise<Received<T>> {
  const { id, event, fact } = delivery;
  const { type, subject = null } = event;
  const { retentionMs } = env;
  return env.store.transaction(async (tx): Promise<Received<T>> => {
    pass.handled = undefined;
    const row = await tx.inbox.receive({ ...id, type, subject, fact, receipt, retentionMs });
    if (row === undefined) return { status: "duplicate" };
    if (row.receipt !== receipt) return settled(row);
    pass.attempts = row.attempts;
    const value = await handler(tx, event);
    pass.handled = { value };
    return { status: "handled", value };
  });
}

function settled({ status, error }: InboxRecord): Received<never> {
  return status === "DEAD" ? { status: "dead", error } : { status: "duplicate" };
}

/** After an error: the event is kept, unless its row says that it is settled. */
async function keep<Driver, T>(
  env: InboxEnvironment<Driver>,
  delivery: CheckedDelivery,
  broken: { readonly error: unknown; readonly receipt: string; readonly pass: Pass<T> },
): Promise<Received<T>> {
  const { id, event, fact, text } = delivery;
  const { type, subject = null } = event;
  const { poisonAfter, retentionMs } = env;
  const { receipt, pass } = broken;
  const bounds = { firstMs: env.retryAfterMs, lastMs: env.maxRetryAfterMs };
  const retryAfterMs = spread(env.runtime, backOffMs(bounds, pass.attempts));
  const error = errorText(broken.error);
  const failure = { error, poisonAfter, retryAfterMs, retentionMs };
  const kept = await env.store.inbox.fail({ ...id, type, subject, event: text, ...failure });
  if (kept?.status === "DEAD") return settled(kept);
  if (kept !== undefined) {
    return { status: "will-retry", error, attempts: kept.attempts, retryAfterMs };
  }
  const row = await env.store.inbox.read({ ...id, fact });
  if (row === undefined) throw broken.error;
  // The answer to the commit was lost, and the row says that it holds.
  if (row.receipt === receipt && pass.handled !== undefined) {
    return { status: "handled", value: pass.handled.value };
  }
  return settled(row);
}

/** A statement that the database refused because of its data. */
function isRejected(error: unknown): boolean {
  return isNeverTwiceError(error) && error.details["trouble"] === "rejected";
}

const sameFact: Discard = { by: "nevertwice", reason: "another id told the same fact" };

async function retryKept<Driver>(
  env: InboxEnvironment<Driver>,
  { consumer, handler, limit = 100 }: RetryOptions<Driver>,
): Promise<number> {
  const due = await env.store.inbox.due({ consumer, limit });
  for (const row of due) {
    const delivery = keptDelivery(row);
    const { status } = await receive(env, delivery, handler);
    // Another id told the same fact meanwhile: nothing is left to do about this one.
    if (status === "duplicate") await env.store.inbox.discard({ ...delivery.id, ...sameFact });
  }
  return due.length;
}

function keptDelivery(row: InboxRecord): CheckedDelivery {
  const id = idOf(row);
  const text = row.event ?? "{}";
  const { data, [factAttribute]: fact } = JSON.parse(text) as CloudEventJson;
  const event = { ...id, type: row.type, subject: row.subject ?? undefined, data };
  return { id, event, fact: typeof fact === "string" ? fact : null, text };
}
