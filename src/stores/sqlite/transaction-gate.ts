/**
 * One connection has one transaction: while one of several steps is open, every other statement of
 * this process on the same connection waits, or it would become part of it.
 *
 * @module
 */
import type { SqliteDatabase } from "./sqlite-database.ts";

/** Whether a transaction is open on a connection, and when it ends. */
export class TransactionGate {
  #released: Promise<void> | undefined;
  #release = (): void => {};

  /** Resolves when the open transaction ends; undefined when none is open. */
  get released(): Promise<void> | undefined {
    return this.#released;
  }

  hold(): void {
    this.#released = new Promise((resolve) => {
      this.#release = resolve;
    });
  }

  release(): void {
    this.#released = undefined;
    this.#release();
  }
}

const gates = new WeakMap<SqliteDatabase, TransactionGate>();

/** The gate of a connection; stores that share the connection share it. */
export function gateOf(database: SqliteDatabase): TransactionGate {
  const gate = gates.get(database) ?? new TransactionGate();
  gates.set(database, gate);
  return gate;
}
