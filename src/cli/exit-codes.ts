/**
 * What the process's exit code says. Documented in docs/reference/cli.md and in `--help`.
 *
 * @module
 */
import { type ErrorCode, isNeverTwiceError } from "../base/errors.ts";

/** Exit codes by name. */
export const exitCodes = {
  ok: 0,
  found: 1,
  usage: 2,
  store: 3,
  schema: 4,
  refused: 5,
  /** A defect of ours: anything that no other code explains. */
  defect: 70,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** One sentence for each, as `--help` prints it. */
export const exitCodeMeanings: readonly (readonly [ExitCode, string])[] = [
  [exitCodes.ok, "done, and nothing was found"],
  [exitCodes.found, "a check found something, or a promise was broken"],
  [exitCodes.usage, "the command line is wrong; nothing was done"],
  [exitCodes.store, "the store can't be reached, or its driver is missing"],
  [exitCodes.schema, "the database needs a migration, or is newer than this program"],
  [exitCodes.refused, "refused: the operation is not found, changed, or it is too early"],
  [exitCodes.defect, "a defect of this program"],
];

/** An error that only the command line knows. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly code: string;
  readonly exitCode: ExitCode;

  constructor(code: string, message: string, exitCode: ExitCode = exitCodes.usage) {
    super(message);
    this.code = code;
    this.exitCode = exitCode;
  }
}

const byErrorCode: Partial<Record<ErrorCode, ExitCode>> = {
  STORE_UNSAFE: exitCodes.found,
  STORE_UNAVAILABLE: exitCodes.store,
  DRIVER_MISSING: exitCodes.store,
  SCHEMA_OUTDATED: exitCodes.schema,
  SCHEMA_TOO_NEW: exitCodes.schema,
  OPERATION_NOT_FOUND: exitCodes.refused,
  REVIEW_CONFLICT: exitCodes.refused,
  REVIEW_TOO_EARLY: exitCodes.refused,
  CONFIGURATION_INVALID: exitCodes.usage,
  INTENT_INVALID: exitCodes.usage,
  UNSUPPORTED_ARGUMENT: exitCodes.usage,
};

/** The exit code of a command that ended with this error. */
export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CliError) return error.exitCode;
  if (isNeverTwiceError(error)) return byErrorCode[error.code] ?? exitCodes.defect;
  return exitCodes.defect;
}
