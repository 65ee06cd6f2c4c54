/**
 * What an implementer of the `Store` port hands in.
 *
 * @module
 */
import type { Store } from "../../ledger/store.ts";

/** The database's clock, for tests. It stands still but for `advance`. */
export interface StoreClock {
  /** Moves the clock on by so many milliseconds; a negative span is a clock that steps back. */
  advance(spanMs: number): void | Promise<void>;
}

/** One fresh database, for one case. */
export interface StoreKit {
  /**
   * Opens a store on this kit's database, its schema up to date. A case calls it several times and
   * means several processes: each call is to have a connection of its own.
   */
  open(): Promise<Store>;
  /**
   * The clock that every store of this kit reads in place of the database's own. Absent where none
   * can be set: the cases that need one are then skipped, and the report says so.
   */
  readonly clock?: StoreClock | undefined;
  /** Closes what was opened and throws the database away. Called once, also after a failure. */
  close?(): Promise<void>;
}
