/**
 * What tests of brokers share: a producer with its outbox and a consumer with its inbox, on one
 * store, and a table of bookings that tells how often an event had its effect.
 */
import { onTestFinished } from "vitest";
import {
  type EventHandler,
  type EventInbox,
  type InboxRecord,
  createInbox,
  emit,
} from "../../src/index.ts";
import { book, createBookings } from "./bookings.ts";
import type { OpenStore, StoreSuite } from "./stores.ts";

export interface EventWorld {
  readonly opened: OpenStore;
  readonly inbox: EventInbox;
  /** Books the event's id, after as many failures as are asked for. */
  readonly handler: EventHandler<unknown>;
  /** How often the handler ran. */
  readonly runs: () => number;
  readonly warnings: string[];
  readonly onWarning: (message: string) => void;
  readonly signal: AbortSignal;
  /** Writes an event to the outbox. */
  write(id: string, subject?: string): Promise<void>;
  /** Starts something that ends when the signal aborts, and waits for its end after the test. */
  start(work: Promise<void>): void;
}

export async function createEventWorld(
  suite: StoreSuite,
  { failures = 0, type = "order.paid" }: { failures?: number; type?: string } = {},
): Promise<EventWorld> {
  const opened = await suite.open();
  await createBookings(opened);
  const stop = new AbortController();
  const warnings: string[] = [];
  const works: Promise<void>[] = [];
  let runs = 0;
  onTestFinished(async () => {
    stop.abort();
    await Promise.all(works);
  });
  return {
    opened,
    inbox: createInbox({ store: opened.store, poisonAfter: 3, retryAfterMs: 20 }),
    handler: async (tx, event) => {
      runs += 1;
      await book(opened, tx, event.id);
      if (runs <= failures) throw new Error("the ledger is closed");
    },
    runs: () => runs,
    warnings,
    onWarning: (message) => void warnings.push(message),
    signal: stop.signal,
    write: async (id, subject) => {
      await opened.store.transaction((tx) =>
        emit(tx.outbox, { tenant: "acme", id, source: "shop", type, subject, data: { n: 1 } }),
      );
    },
    start: (work) => void works.push(work),
  };
}

/** A name that no other test uses. */
export function uniqueName(prefix: string): string {
  return `${prefix}-${Math.random().toString(36).slice(2, 12)}`;
}

/** The dead letters of the inbox. */
export function deadLetters({ opened }: EventWorld): Promise<readonly InboxRecord[]> {
  const any = { tenant: null, consumer: null, after: null };
  return opened.store.inbox.list({ ...any, status: "DEAD", limit: 100 });
}

/** A CloudEvent as a producer that isn't ours writes it. */
export function eventOf(id: string, data: string): string {
  return JSON.stringify({ specversion: "1.0", id, source: "shop", type: "order.paid", data });
}
