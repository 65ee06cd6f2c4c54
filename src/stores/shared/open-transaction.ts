/**
 * Knows, for every piece of running code, whether it is inside a transaction of a database. A
 * statement of its own that is begun in there would wait for the transaction that waits for it, or
 * would commit what the transaction takes back (R7).
 *
 * @module
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { NeverTwiceError } from "../../base/errors.ts";

interface OpenTransaction {
  /** The pool or database. */
  readonly on: object;
  open: boolean;
}

const inside = new AsyncLocalStorage<OpenTransaction>();

/** @throws {NeverTwiceError} TRANSACTION_OPEN inside a transaction on the same pool or database. */
export function refuseInside(on: object): void {
  const current = inside.getStore();
  if (current?.on !== on || !current.open) return;
  throw new NeverTwiceError(
    "TRANSACTION_OPEN",
    "This was called inside an open transaction, which may still be rolled back: nothing was recorded and nothing was sent. " +
      "Call it before or after the transaction, or use what the transaction offers.",
  );
}

/** Runs the work as the inside of a transaction. */
export async function runInside<T>(on: object, work: () => Promise<T> | T): Promise<T> {
  const current: OpenTransaction = { on, open: true };
  try {
    return await inside.run(current, async () => work());
  } finally {
    current.open = false;
  }
}
