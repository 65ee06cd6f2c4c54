/**
 * Errors of drivers, told in our words. Whatever the driver says, nothing is sent before a claim is
 * confirmed (R28), so every one of them is safe for the caller.
 *
 * @module
 */
import { type ErrorCode, NeverTwiceError, isNeverTwiceError } from "../../base/errors.ts";

/** What kind of trouble a driver's error is. */
export type StoreTrouble = "unavailable" | "rejected" | "no-schema";

/** Wraps a driver's error. `rejected` is a statement that the database refuses because of its data. */
export function storeError(trouble: StoreTrouble, cause: unknown): NeverTwiceError {
  const said = cause instanceof Error ? cause.message : String(cause);
  const code: ErrorCode = trouble === "no-schema" ? "SCHEMA_OUTDATED" : "STORE_UNAVAILABLE";
  const advice =
    trouble === "no-schema"
      ? "Run `nevertwice migrate` (or `await store.migrate()`) once."
      : "It confirmed no write, so nothing was sent on its strength. The same call is safe: it finds out what was written.";
  return new NeverTwiceError(code, `The store answers: ${said || "no reason given"}. ${advice}`, {
    cause,
    details: { trouble },
  });
}

/** True for a statement refused because of its data. */
export function isRejectedStatement(error: unknown): boolean {
  return isNeverTwiceError(error) && error.details["trouble"] === "rejected";
}
