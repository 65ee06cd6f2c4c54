/**
 * The one table of error codes: what each means, which HTTP status carries it, who must act, and
 * whether the *same* call may be made again. `docs/reference/errors.md` is held equal to it by a
 * test. The order is the order of precedence: the guard reports the first that applies.
 *
 * @module
 */

/** Who has to do something before the business effect can be had. */
export type Actor = "caller" | "nobody, later" | "person" | "operator" | "developer";

/**
 * What happens when exactly the same call (same intent, same business arguments) is made again.
 *
 * - `safe`: it can't double the effect, and it may bring the answer.
 * - `useless`: it can't double the effect, and it will give this same answer.
 * - `after-fix`: it can't double the effect, but the cause must be mended first.
 */
export type SameCall = "safe" | "useless" | "after-fix";

/** One row of the error table. */
export interface ErrorEntry {
  /** The HTTP status an edge answers with. */
  readonly httpStatus: number;
  readonly actor: Actor;
  readonly sameCall: SameCall;
  /** One sentence: what is known when this error is raised. */
  readonly meaning: string;
}

const table = {
  TOOL_INVALID: entry(
    500,
    "developer",
    "after-fix",
    "The tool's declaration lacks a part or contradicts itself; nothing was sent.",
  ),
  CONFIGURATION_INVALID: entry(
    500,
    "developer",
    "after-fix",
    "The guard's or a store's options contradict themselves; nothing was sent.",
  ),
  DRIVER_MISSING: entry(
    500,
    "operator",
    "after-fix",
    "A database driver is not installed; nothing was sent.",
  ),
  STORE_UNSAFE: entry(
    500,
    "operator",
    "after-fix",
    "The database is set up so that an acknowledged write can be lost; nothing was sent.",
  ),
  SCHEMA_OUTDATED: entry(
    500,
    "operator",
    "after-fix",
    "The database's schema is older than this program, or missing; nothing was sent.",
  ),
  SCHEMA_TOO_NEW: entry(
    500,
    "operator",
    "after-fix",
    "The database's schema holds a breaking change that this program doesn't know; nothing was sent.",
  ),
  TOOL_UNLISTED: entry(
    403,
    "operator",
    "after-fix",
    "The gateway has no policy for this tool; nothing was recorded and nothing was sent.",
  ),
  TOOL_HELD: entry(
    403,
    "operator",
    "after-fix",
    "The tool's definition is not the one that was pinned, or contradicts its policy; nothing was recorded and nothing was sent.",
  ),
  UNSUPPORTED_ARGUMENT: entry(
    400,
    "caller",
    "useless",
    "An argument is not plain JSON; nothing was recorded and nothing was sent.",
  ),
  ARGUMENTS_INVALID: entry(
    400,
    "caller",
    "useless",
    "The arguments don't fit the tool's schema; nothing was recorded and nothing was sent.",
  ),
  INTENT_INVALID: entry(
    400,
    "caller",
    "useless",
    "The intent, tenant or another part of the identity is missing or malformed; nothing was recorded and nothing was sent.",
  ),
  INTENT_UNSETTLED: entry(
    409,
    "nobody, later",
    "safe",
    "The intent to be replaced is not settled yet, so it can't be replaced; nothing was sent.",
  ),
  TRANSACTION_OPEN: entry(
    500,
    "developer",
    "after-fix",
    "It was called inside an open database transaction; nothing was recorded and nothing was sent.",
  ),
  TRANSACTION_ABORTED: entry(
    500,
    "developer",
    "after-fix",
    "The database rolled the transaction back; nothing of it is recorded.",
  ),
  EVENT_INVALID: entry(
    400,
    "caller",
    "useless",
    "The event lacks a part or is malformed; it was not received, and nothing was changed.",
  ),
  EVENT_UNVERIFIED: entry(
    401,
    "caller",
    "useless",
    "The event's signature doesn't hold or is too old; it was not received, and nothing was changed.",
  ),
  EVENT_TOO_LARGE: entry(
    413,
    "caller",
    "useless",
    "The event is larger than allowed; it was not received, and nothing was changed.",
  ),
  STEP_INVALID: entry(
    500,
    "developer",
    "after-fix",
    "A step of a flow can't be recorded: its name is taken, or its value is not plain JSON.",
  ),
  FLOW_CHANGED: entry(
    500,
    "developer",
    "after-fix",
    "The flow's code takes other steps than the recorded run; the run did not go on.",
  ),
  FLOW_UNKNOWN: entry(
    500,
    "developer",
    "after-fix",
    "No flow of this name and version is registered in this process; the run was left alone.",
  ),
  RUN_NOT_FOUND: entry(404, "caller", "useless", "No run with this tenant and id is recorded."),
  RUN_FAILED: entry(
    424,
    "person",
    "useless",
    "The run ended with an error; what its steps did is recorded.",
  ),
  APPROVAL_MISMATCH: entry(
    422,
    "caller",
    "useless",
    "What was approved is not what would run; nothing was sent.",
  ),
  APPROVAL_DECLINED: entry(403, "person", "useless", "A person declined; nothing was sent."),
  APPROVAL_EXPIRED: entry(410, "person", "useless", "Nobody decided in time; nothing was sent."),
  APPROVAL_CONFLICT: entry(
    409,
    "person",
    "useless",
    "The approval was decided, has expired or changed; this decision was not recorded.",
  ),
  STORE_UNAVAILABLE: entry(
    503,
    "nobody, later",
    "safe",
    "The store did not confirm the claim; nothing was sent.",
  ),
  ABORTED: entry(
    499,
    "caller",
    "safe",
    "The caller withdrew before the claim; nothing was recorded and nothing was sent.",
  ),
  PAYLOAD_MISMATCH: entry(
    422,
    "caller",
    "useless",
    "This intent is already recorded with other business arguments; this call changed nothing.",
  ),
  STALE_VERSION: entry(
    409,
    "caller",
    "useless",
    "A newer version of the desired state is recorded; this older one was not applied by this call.",
  ),
  KEY_EXPIRED: entry(
    410,
    "person",
    "useless",
    "This intent was settled so long ago that its outcome has been purged; it was not run again.",
  ),
  RECORD_CORRUPT: entry(
    500,
    "person",
    "useless",
    "The stored operation can't be read; it was not run again and is open for review.",
  ),
  IN_PROGRESS: entry(
    409,
    "nobody, later",
    "safe",
    "This intent is being executed right now by another call.",
  ),
  NEEDS_REVIEW: entry(
    409,
    "person",
    "safe",
    "The outcome is not known and no rule can settle it; a person has to decide.",
  ),
  OPERATION_FAILED: entry(
    424,
    "caller",
    "useless",
    "The downstream refused this intent for good; no effect exists.",
  ),
  OUTCOME_UNKNOWN: entry(
    504,
    "nobody, later",
    "safe",
    "A request was sent or may have been; whether the effect exists is not known yet.",
  ),
  NOT_SENT: entry(
    503,
    "nobody, later",
    "safe",
    "This call's request did not leave: nothing of it was written to the socket.",
  ),
  WINDOW_CLOSED: entry(
    409,
    "nobody, later",
    "safe",
    "The time in which a resend was safe has passed, so nothing was sent again.",
  ),
  LEASE_LOST: entry(
    409,
    "nobody, later",
    "safe",
    "Another worker took this operation over; this one wrote nothing more.",
  ),
  OPERATION_NOT_FOUND: entry(
    404,
    "caller",
    "useless",
    "No operation with this tenant and key is recorded.",
  ),
  REVIEW_CONFLICT: entry(
    409,
    "person",
    "useless",
    "The operation changed since the reviewer looked at it; the decision was not recorded.",
  ),
  REVIEW_TOO_EARLY: entry(
    425,
    "nobody, later",
    "safe",
    'An earlier request may still take effect, so "it did not happen" can\'t be decided yet.',
  ),
} as const satisfies Record<string, ErrorEntry>;

/** Every code that {@link isNeverTwiceError} errors carry. Match on it, never on the message. */
export type ErrorCode = keyof typeof table;

/** The error table by code, in order of precedence. */
export const errorTable: Readonly<Record<ErrorCode, ErrorEntry>> = Object.freeze(table);

/** All codes in order of precedence. */
export const errorCodes = Object.freeze(Object.keys(table)) as readonly ErrorCode[];

function entry(httpStatus: number, actor: Actor, sameCall: SameCall, meaning: string): ErrorEntry {
  return Object.freeze({ httpStatus, actor, sameCall, meaning });
}
