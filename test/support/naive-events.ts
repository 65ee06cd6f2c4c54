/**
 * What people have without an inbox and an outbox: a consumer that keeps no dedupe row, and a relay
 * that marks an event as published before it publishes it. Every test of events must fail with them.
 */
import type {
  Delivery,
  EffectStore,
  EventHandler,
  EventInbox,
  Received,
  Relay,
  RelayOptions,
} from "../../src/index.ts";

/** Handles every delivery, each in a transaction of its own. */
export function naiveInbox(store: EffectStore, real: EventInbox): EventInbox {
  return {
    ...real,
    receive: <T>(delivery: Delivery, handler: EventHandler<unknown, T>): Promise<Received<T>> =>
      store.transaction(async (tx) => {
        const { tenant, consumer, source, id, type, subject, data } = delivery;
        const event = { tenant, consumer, source, id, type, subject, data };
        return { status: "handled", value: await handler(tx, event) };
      }),
  };
}

/** Marks first, so that nothing is published twice. */
export function naiveRelay(options: RelayOptions): Pick<Relay, "publishOnce"> {
  const { store, publish } = options;
  return {
    publishOnce: async ({ limit = 100 } = {}) => {
      const events = await store.outbox.claim({ leaseMs: 30_000, limit });
      for (const event of events) {
        await store.outbox.publish(event);
        await options.onPoint?.("event-claimed", event);
        const { tenant, event: text, attempts: attempt } = event;
        const context = { tenant, text, attempt, signal: new AbortController().signal };
        // What goes wrong here is forgotten.
        await publish(JSON.parse(text) as never, context).catch(() => {});
        await options.onPoint?.("event-published", event);
      }
      return events.length;
    },
  };
}
