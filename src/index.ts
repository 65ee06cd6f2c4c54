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
export type {
  Compensation,
  ExecuteCall,
  GuardedTool,
  PassTool,
  ProvedEffect,
  Tool,
  ToolKind,
} from "./guard/tool.ts";
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

export {
  type CallIdentity,
  type Guard,
  type GuardOptions,
  createGuard,
} from "./guard/create-guard.ts";
export type { LateLookOptions, LookedAgain } from "./guard/late-looks.ts";
export type { OmittedResult, Outcome } from "./guard/answers.ts";
export type { RunContext } from "./guard/prepare.ts";
export type { Point, PointName, Warning } from "./guard/environment.ts";

export { type Resolution, type ReviewDecision, resolve } from "./guard/review.ts";
export {
  type Approval,
  type ActOptions,
  type ApproveOptions,
  type EmitOptions,
  type Flow,
  type FlowContext,
  flow,
} from "./flow/flow.ts";
export {
  type Flows,
  type FlowsOptions,
  type RunError,
  type RunState,
  createFlows,
} from "./flow/flows.ts";
export type { OpenEffect } from "./flow/open-effects.ts";
export type { ApprovalDecision } from "./flow/approval.ts";
export type { FlowPoint, FlowPointName } from "./flow/environment.ts";

export { type CompensateOptions, compensate } from "./effects/compensate.ts";
export {
  type RegisteredTransactTool,
  type Transact,
  type TransactCall,
  type TransactEvent,
  type TransactOptions,
  type TransactTool,
  createTransact,
  defineTransactTool,
} from "./effects/transact.ts";
export {
  type EnsureTool,
  type EnsureCall,
  type EnsureContract,
  type RegisteredEnsureTool,
  type Observation,
  defineEnsureTool,
} from "./effects/ensure-tool.ts";
export {
  type Ensure,
  type EnsureContext,
  type EnsureOptions,
  type EnsureOutcome,
  createEnsure,
} from "./effects/ensure.ts";
export { type OutgoingEvent, emit } from "./effects/emit.ts";
export {
  type Delivery,
  type EventHandler,
  type EventInbox,
  type InboxOptions,
  type Received,
  type ReceivedEvent,
  type RetryOptions,
  createInbox,
  runIdOfEvent,
} from "./effects/inbox.ts";
export {
  type Publish,
  type PublishContext,
  type Relay,
  type RelayOptions,
  type RelayPointName,
  type RelayWorkOptions,
  createRelay,
} from "./effects/relay.ts";
export { type KeptMessage, type RejectedMessage, noTenant } from "./effects/rejected-message.ts";
export type { CloudEventJson } from "./effects/cloud-event.ts";

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
export type * from "./ledger/events.ts";
export type {
  ClaimLooksParams,
  FindClosedParams,
  LateLooks,
  LookMark,
  LookPosition,
  LookStage,
} from "./ledger/late-looks.ts";
export type * from "./ledger/runs.ts";
export type * from "./ledger/targets.ts";
export type * from "./ledger/transaction.ts";

export { type ErrorCode, type ErrorEntry, errorCodes, errorTable } from "./base/error-table.ts";
export { NeverTwiceError, isNeverTwiceError } from "./base/errors.ts";
export { days, hours, minutes, seconds } from "./base/duration.ts";
export type { Json, JsonObject } from "./base/plain-json.ts";
