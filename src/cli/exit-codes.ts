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
  [
    exitCodes.refused,
    "refused: not found, changed, too early, or its outcome is no success; the error says which",
  ],
  [exitCodes.defect, "a defect of this program"],
];

/** The command line's own error codes, and what a process that ends with one exits with. */
export const ownExitCodes = {
  USAGE: exitCodes.usage,
  EXISTS: exitCodes.usage,
  FILE: exitCodes.usage,
  SERVER_UNREACHABLE: exitCodes.found,
  DEMO_FAILED: exitCodes.found,
  AMBIGUOUS_KEY: exitCodes.refused,
  NOT_CONFIRMED: exitCodes.refused,
  RUN_NOT_FAILED: exitCodes.refused,
  EVENT_NOT_FOUND: exitCodes.refused,
  EVENT_AMBIGUOUS: exitCodes.refused,
  EVENT_NOT_DEAD: exitCodes.refused,
  EVENT_UNREADABLE: exitCodes.refused,
  DEFECT: exitCodes.defect,
} as const satisfies Readonly<Record<string, ExitCode>>;

type OwnCode = keyof typeof ownExitCodes;

/** An error that only the command line knows. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly code: OwnCode;

  constructor(code: OwnCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** What a process that ends with an error of the error table exits with: every code has its line. */
export const exitCodesOfErrors: Readonly<Record<ErrorCode, ExitCode>> = {
  TOOL_INVALID: exitCodes.usage,
  CONFIGURATION_INVALID: exitCodes.usage,
  UNSUPPORTED_ARGUMENT: exitCodes.usage,
  ARGUMENTS_INVALID: exitCodes.usage,
  INTENT_INVALID: exitCodes.usage,
  STORE_UNSAFE: exitCodes.found,
  STORE_UNAVAILABLE: exitCodes.store,
  DRIVER_MISSING: exitCodes.store,
  SCHEMA_OUTDATED: exitCodes.schema,
  SCHEMA_TOO_NEW: exitCodes.schema,
  TOOL_UNLISTED: exitCodes.refused,
  TOOL_HELD: exitCodes.refused,
  INTENT_UNSETTLED: exitCodes.refused,
  EVENT_INVALID: exitCodes.refused,
  EVENT_UNVERIFIED: exitCodes.refused,
  EVENT_TOO_LARGE: exitCodes.refused,
  STEP_INVALID: exitCodes.refused,
  FLOW_CHANGED: exitCodes.refused,
  FLOW_UNKNOWN: exitCodes.refused,
  RUN_NOT_FOUND: exitCodes.refused,
  RUN_FAILED: exitCodes.refused,
  APPROVAL_MISMATCH: exitCodes.refused,
  APPROVAL_DECLINED: exitCodes.refused,
  APPROVAL_EXPIRED: exitCodes.refused,
  APPROVAL_CONFLICT: exitCodes.refused,
  PAYLOAD_MISMATCH: exitCodes.refused,
  STALE_VERSION: exitCodes.refused,
  KEY_EXPIRED: exitCodes.refused,
  RECORD_CORRUPT: exitCodes.refused,
  IN_PROGRESS: exitCodes.refused,
  NEEDS_REVIEW: exitCodes.refused,
  OPERATION_FAILED: exitCodes.refused,
  OUTCOME_UNKNOWN: exitCodes.refused,
  NOT_SENT: exitCodes.refused,
  WINDOW_CLOSED: exitCodes.refused,
  LEASE_LOST: exitCodes.refused,
  ABORTED: exitCodes.refused,
  OPERATION_NOT_FOUND: exitCodes.refused,
  REVIEW_CONFLICT: exitCodes.refused,
  REVIEW_TOO_EARLY: exitCodes.refused,
  // A command opens no transaction around its calls.
  TRANSACTION_OPEN: exitCodes.defect,
  TRANSACTION_ABORTED: exitCodes.defect,
};

/** The exit code of a command that ended with this error. */
export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CliError) return ownExitCodes[error.code];
  if (isNeverTwiceError(error)) return exitCodesOfErrors[error.code];
  return exitCodes.defect;
}
