/**
 * Events that go out: takes them from the outbox and publishes each at least once, under its own id
 * and in the order of its subject.
 *
 * @module
 */
import { backOffMs, spread } from "../base/back-off.ts";
import { NeverTwiceError, errorText } from "../base/errors.ts";
import { type Runtime, pause, startTimer, systemRuntime } from "../base/runtime.ts";
import type { Discard, OutboxId, OutboxRecord } from "../ledger/events.ts";
import type { EffectStore } from "../ledger/transaction.ts";
import type { CloudEventJson } from "./cloud-event.ts";
import { checkedDiscard } from "./discard.ts";

/** What a target needs to know beside the event. */
export interface PublishContext {
  readonly tenant: string;
  /** The event as it was written, in CloudEvents' JSON format: the same bytes at every attempt. */
  readonly text: string;
  /** 1 for the first. */
  readonly attempt: number;
  /** Aborts when the lease ends: by then another relay may publish the event. */
  readonly signal: AbortSignal;
}

/** Resolves when the broker has confirmed the event, and rejects in every other case. */
export type Publish = (event: CloudEventJson, context: PublishContext) => Promise<void>;

/** The named points of a relay. A test may crash, stop or wait at each of them. */
export type RelayPointName = "event-claimed" | "event-published" | "event-marked";

/** Options of {@link createRelay}. */
export interface RelayOptions {
  readonly store: EffectStore;
  readonly publish: Publish;
  /** How long publishing one event may take, in milliseconds. Default 30 s. */
  readonly leaseMs?: number;
  /** An event is dead when publishing it went wrong that often. Default 10. */
  readonly poisonAfter?: number;
  /** The pause after the first failure, in milliseconds; it doubles. Default 1 s. */
  readonly retryAfterMs?: number;
  /** The longest pause, in milliseconds. Default 5 min. */
  readonly maxRetryAfterMs?: number;
  onWarning?(message: string): void;
  /** For tests: awaited at each named point. */
  onPoint?(name: RelayPointName, event: OutboxRecord): Promise<void> | void;
  readonly runtime?: Runtime;
}

/** Options of `work`. */
export interface RelayWorkOptions {
  readonly signal: AbortSignal;
  /** The longest rest between two looks, in milliseconds; events of other processes wait that long. Default 1 s. */
  readonly everyMs?: number;
  /** How many events at once. Default 20. */
  readonly concurrency?: number;
}

/** Publishes events. Any number of relays may work on one store. */
export interface Relay {
  /** Publishes what is due, at most `limit` (default 100) events at once; returns how many it took. */
  publishOnce(options?: { readonly limit?: number }): Promise<number>;
  /** Publishes until the signal aborts; then resolves when what is under way has ended. */
  work(options: RelayWorkOptions): Promise<void>;
  /** Lets `work` look at once: call it after a transaction that emitted has committed. */
  wake(): void;
  /** Lets a dead letter be published again. Undefined: it is not dead, or was given up. */
  redrive(id: OutboxId): Promise<OutboxRecord | undefined>;
  /**
   * Gives a dead letter up for good; it is kept until it is purged. Undefined: it is not dead.
   *
   * @throws {NeverTwiceError} CONFIGURATION_INVALID for a blank name or reason.
   */
  discard(id: OutboxId, discard: Discard): Promise<OutboxRecord | undefined>;
  /** Forgets events past their retention that were published or given up; returns how many. */
  purge(options?: { readonly limit?: number }): Promise<number>;
}

type RelayEnvironment = Required<Omit<RelayOptions, "onWarning" | "onPoint">> & {
  warn(message: string): void;
  reach(name: RelayPointName, event: OutboxRecord): Promise<void> | void;
};

/**
 * Creates a relay.
 *
 * @throws {NeverTwiceError} CONFIGURATION_INVALID.
 *
 * @example
 * const relay = createRelay({ store, publish: rabbitMqTarget({ connect, exchange: "orders" }) });
 * await relay.work({ signal });
 */
export function createRelay(options: RelayOptions): Relay {
  const env = environmentOf(options);
  const { outbox } = env.store;
  const sleepers = new Set<AbortController>();
  return {
    publishOnce: async ({ limit = 100 } = {}) => {
      const events = await outbox.claim({ leaseMs: env.leaseMs, limit });
      await Promise.all(events.map((event) => relayEvent(env, event)));
      return events.length;
    },
    work: (work) => keepRelaying(env, sleepers, work),
    wake: () => sleepers.forEach((sleeper) => sleeper.abort()),
    redrive: async (id) => {
      const record = await outbox.redrive(id);
      sleepers.forEach((sleeper) => sleeper.abort());
      return record;
    },
    discard: async ({ tenant, id }, discard) =>
      outbox.discard({ tenant, id, ...checkedDiscard(discard) }),
    purge: ({ limit = 1000 } = {}) => outbox.purge({ limit }),
  };
}

function environmentOf(options: RelayOptions): RelayEnvironment {
  const numbers = {
    leaseMs: options.leaseMs ?? 30_000,
    poisonAfter: options.poisonAfter ?? 10,
    retryAfterMs: options.retryAfterMs ?? 1000,
    maxRetryAfterMs: options.maxRetryAfterMs ?? 300_000,
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
    publish: options.publish,
    runtime: options.runtime ?? systemRuntime,
    warn: (message) => options.onWarning?.(message),
    reach: (name, event) => options.onPoint?.(name, event),
  };
}

/** Publishes one leased event, and records what came of it. */
async function relayEvent(env: RelayEnvironment, event: OutboxRecord): Promise<void> {
  const { outbox } = env.store;
  const { position, token, id } = event;
  try {
    await env.reach("event-claimed", event);
    if (event.attempts > env.poisonAfter) throw new Error("earlier attempts ended without a word");
    await publishWithinLease(env, event);
  } catch (error) {
    const failed = await outbox.fail({
      position,
      token,
      error: errorText(error),
      poisonAfter: env.poisonAfter,
      retryAfterMs: pauseAfter(env, event.attempts),
    });
    const dead = failed?.status === "DEAD" ? " It is a dead letter now." : "";
    env.warn(`event ${id} was not confirmed as published: ${errorText(error)}.${dead}`);
    return;
  }
  await env.reach("event-published", event);
  // No row: the lease ended, another relay publishes it too, and consumers know it by its id.
  await outbox.publish({ position, token });
  await env.reach("event-marked", event);
}

async function publishWithinLease(env: RelayEnvironment, event: OutboxRecord): Promise<void> {
  const lease = new AbortController();
  // A little earlier than the database's, whose row was read before this began.
  const timer = startTimer(env.runtime, env.leaseMs * 0.9);
  const over = timer.rung.then(() => {
    lease.abort();
    throw new Error("no confirmation came in time");
  });
  const { tenant, event: text, attempts: attempt } = event;
  const context: PublishContext = { tenant, text, attempt, signal: lease.signal };
  try {
    await Promise.race([env.publish(JSON.parse(text) as CloudEventJson, context), over]);
  } finally {
    timer.stop();
  }
}

function pauseAfter(env: RelayEnvironment, attempts: number): number {
  const bounds = { firstMs: env.retryAfterMs, lastMs: env.maxRetryAfterMs };
  return spread(env.runtime, backOffMs(bounds, attempts));
}

async function keepRelaying(
  env: RelayEnvironment,
  sleepers: Set<AbortController>,
  { signal, everyMs = 1000, concurrency = 20 }: RelayWorkOptions,
): Promise<void> {
  const underWay = new Set<Promise<void>>();
  const begin = (event: OutboxRecord): void => {
    const relaying = relayEvent(env, event)
      .catch((error: unknown) =>
        env.warn(`what became of event ${event.id} is not recorded: ${errorText(error)}`),
      )
      .finally(() => underWay.delete(relaying));
    underWay.add(relaying);
  };
  while (!signal.aborted) {
    // Before the look, so that a wake-up during it is not lost.
    const sleeper = new AbortController();
    sleepers.add(sleeper);
    const restMs = await takeDue(env, concurrency - underWay.size, begin, everyMs);
    await Promise.race([
      pause(env.runtime, restMs, AbortSignal.any([signal, sleeper.signal])),
      // What ends makes room, and may be followed by the next of its subject.
      ...underWay,
    ]);
    sleepers.delete(sleeper);
    sleeper.abort();
  }
  await Promise.all(underWay);
}

/** Begins what is due; returns how long to rest. */
async function takeDue(
  env: RelayEnvironment,
  limit: number,
  begin: (event: OutboxRecord) => void,
  everyMs: number,
): Promise<number> {
  const { outbox } = env.store;
  try {
    if (limit <= 0) return everyMs;
    const events = await outbox.claim({ leaseMs: env.leaseMs, limit });
    events.forEach(begin);
    if (events.length === limit) return 10;
    const nextMs = (await outbox.nextDueInMs()) ?? everyMs;
    const restMs = Math.min(everyMs, Math.max(nextMs, 10));
    return spread(env.runtime, restMs);
  } catch (error) {
    // The store is away; the next round may find it back.
    env.warn(`events could not be taken from the outbox: ${errorText(error)}`);
    return spread(env.runtime, everyMs);
  }
}
