/**
 * Transactions on the user's own database, and the store that offers them.
 *
 * @module
 */
import type { Inbox, InboxWriter, Outbox, OutboxWriter } from "./events.ts";
import type { RunWriter, Runs } from "./runs.ts";
import type { Store } from "./store.ts";
import type { Targets } from "./targets.ts";

/** What an open transaction can write of ours. All of it commits with it, or none. */
export interface Transaction<Driver = unknown> {
  /**
   * The connection that the transaction is open on: a `pg` client, or the SQLite database. Whatever
   * is to commit with the rest goes through it, and must be awaited before the work ends.
   */
  readonly driver: Driver;
  readonly operations: Pick<Store, "claim" | "complete" | "read" | "recordIntent">;
  readonly inbox: InboxWriter;
  readonly outbox: OutboxWriter;
  readonly runs: RunWriter;
}

/** The store behind effects and flows. Implementations: `nevertwice/sqlite`, `nevertwice/postgres`. */
export interface EffectStore<Driver = unknown> extends Store {
  readonly inbox: Inbox;
  readonly outbox: Outbox;
  readonly runs: Runs;
  readonly targets: Targets;
  /**
   * Runs the work in one transaction and commits it; an error rolls all of it back and is thrown on.
   * The work may run again after a deadlock, so whatever it does must go through the transaction.
   * Calls for an external effect are refused inside (R7).
   *
   * @throws {NeverTwiceError} TRANSACTION_OPEN for a transaction inside a transaction,
   * STORE_UNAVAILABLE, STORE_UNSAFE. After a lost answer to the commit nobody knows whether it holds;
   * the same call finds out.
   */
  transaction<T>(work: (tx: Transaction<Driver>) => Promise<T> | T): Promise<T>;
}
