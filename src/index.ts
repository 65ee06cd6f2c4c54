/**
 * NeverTwice: one business effect per intent, however many times an agent asks.
 * Exports in the order of the flow: intent, tool, guard, review, errors.
 *
 * @module
 */
export type { Caller, Identity, Intent, Scope } from "./intent/intent.ts";
export { type Key, type KeyAlgorithm, deriveKey } from "./intent/key.ts";
export {
  type WireKeyOptions,
  type WireKeyShape,
  wireKeyLengths,
  wireKeyOf,
} from "./intent/wire-key.ts";
export { fingerprintOf } from "./intent/fingerprint.ts";

export { defineTool } from "./guard/define-tool.ts";
export type { ExecuteCall, GuardedTool, PassTool, Tool, ToolKind } from "./guard/tool.ts";
export type {
  AfterError,
  Contract,
  ErrorClass,
  FoundEffect,
  KeyContract,
  LookUpAnswer,
  LookUpContract,
  LookUpQuestion,
} from "./guard/contract.ts";

export { type Guard, type GuardOptions, createGuard } from "./guard/create-guard.ts";
export type { OmittedResult, Outcome } from "./guard/answers.ts";
export type { RunContext } from "./guard/prepare.ts";
export type { Point, PointName, Warning } from "./guard/environment.ts";

export { type Resolution, type ReviewDecision, resolve } from "./guard/review.ts";
export type { OperationRecord } from "./ledger/record.ts";
export type { Mode } from "./ledger/decide.ts";
export type { Status } from "./ledger/status.ts";
export {
  type JournalEvent,
  type JournalLine,
  chainStart,
  findChainFault,
  lineHash,
} from "./ledger/journal.ts";
export type * from "./ledger/store.ts";

export { type ErrorCode, type ErrorEntry, errorCodes, errorTable } from "./base/error-table.ts";
export { NeverTwiceError, isNeverTwiceError } from "./base/errors.ts";
export { days, hours, minutes, seconds } from "./base/duration.ts";
export type { Json, JsonObject } from "./base/plain-json.ts";
