/**
 * The one error class. It carries a code from {@link errorTable}; what the code implies is looked
 * up there, never repeated.
 *
 * @module
 */
import { type ErrorCode, type ErrorEntry, errorTable } from "./error-table.ts";

export type { ErrorCode, ErrorEntry } from "./error-table.ts";

const marker: unique symbol = Symbol.for("nevertwice.error");

/** What an error can say beside its code and message. */
export interface ErrorDetails {
  /** The operation's key, where one was derived. */
  readonly key?: string | undefined;
  /** Facts for machines; plain JSON. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
  readonly cause?: unknown;
}

/**
 * Raised by everything in this package. `message` says what is known, what is not, and whether the
 * same call is safe, so that it may be shown to a model as it is (R29).
 */
export class NeverTwiceError extends Error {
  override readonly name = "NeverTwiceError";
  readonly [marker] = true;
  readonly code: ErrorCode;
  readonly key: string | undefined;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, more: ErrorDetails = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.code = code;
    this.key = more.key;
    this.details = Object.freeze({ ...more.details });
  }

  /** HTTP status, who must act, and whether the same call is safe. */
  get entry(): ErrorEntry {
    return errorTable[this.code];
  }

  toJSON(): Record<string, unknown> {
    const { httpStatus, actor, sameCall } = this.entry;
    return {
      code: this.code,
      message: this.message,
      httpStatus,
      actor,
      sameCall,
      ...(this.key === undefined ? {} : { key: this.key }),
      ...(Object.keys(this.details).length === 0 ? {} : { details: this.details }),
    };
  }
}

/**
 * True for an error of this package, also when it was raised by another installed copy.
 *
 * @example
 * try { await guard.run(refund, args, context) } catch (error) {
 *   if (isNeverTwiceError(error, "OUTCOME_UNKNOWN")) await tellTheOrchestratorToCallAgain();
 * }
 */
export function isNeverTwiceError(error: unknown, code?: ErrorCode): error is NeverTwiceError {
  if (typeof error !== "object" || error === null || !(marker in error)) return false;
  return code === undefined || (error as { code?: unknown }).code === code;
}

/** What was thrown, in words; works for whatever can be thrown, and gives text that can be stored. */
export function errorText(error: unknown): string {
  return storableText(readText(error).slice(0, 2000));
}

function readText(error: unknown): string {
  try {
    if (!(error instanceof Error)) return `thrown: ${String(error)}`;
    return typeof error.message === "string" && error.message !== ""
      ? error.message
      : String(error.name);
  } catch {
    return "thrown: something that can't be read";
  }
}

/** Without what databases refuse in text: NUL and lone surrogates. */
export function storableText(text: string): string {
  return text.replaceAll("\0", "").toWellFormed();
}

/** A broken invariant of ours: a defect, never caught by the guard. */
export class InvariantError extends Error {
  override readonly name = "InvariantError";
}

/** Throws {@link InvariantError} unless the condition holds. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new InvariantError(message);
}

/** Makes a forgotten case of a union a compile-time error. */
export function unreachable(value: never): never {
  throw new InvariantError(`Unreachable case: ${JSON.stringify(value)}`);
}
