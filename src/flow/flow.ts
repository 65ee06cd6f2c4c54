/**
 * What a flow is, and what its body may call. The body is ordinary code that is run again from its
 * beginning after every wait and every crash; whatever it decided or did is taken from its log then.
 *
 * @module
 */
import { isSpan } from "../base/duration.ts";
import { NeverTwiceError } from "../base/errors.ts";
import type { Json } from "../base/plain-json.ts";
import type { RunContext } from "../guard/prepare.ts";
import type { Tool } from "../guard/tool.ts";
import { checkedId } from "../intent/intent.ts";

/** What {@link FlowContext.act} may be told beside tool and arguments. */
export type ActOptions = Pick<RunContext, "trusted" | "supersedes">;

/** What {@link FlowContext.approve} may be told. */
export interface ApproveOptions extends ActOptions {
  /** The tool that is to run with the payload as its arguments: the approval holds for that call alone. */
  readonly tool?: Tool;
  /** The step that is to call the tool. Needed where the tool's scope is `step`: its key is made of that. */
  readonly forStep?: string;
  /** How long to wait for a decision, in milliseconds. Default 7 d. */
  readonly waitMs?: number;
}

/** A person's yes. */
export interface Approval {
  readonly by: string;
  readonly why: string;
  /** Of the call that was approved, or of the step where no tool was named. */
  readonly key: string;
  readonly fingerprint: string;
}

/** What {@link FlowContext.emit} may be told beside type and data. */
export interface EmitOptions {
  /** Events of one subject are published in their order. */
  readonly subject?: string;
  /** The step's name, where one run emits several events of a type. Default: the type. */
  readonly step?: string;
}

/** The steps. Each has a name that is unique in the run, and is recorded under it. */
export interface FlowContext {
  readonly tenant: string;
  readonly runId: string;
  /**
   * Asks once, e.g. a model, and records the answer before anything that depends on it runs. A replay
   * returns what was recorded. Plain JSON; frozen.
   */
  decide<T>(step: string, ask: () => Promise<T> | T): Promise<T>;
  /**
   * Calls a tool through the guard. While the outcome is unknown, in progress or in review the run
   * waits; what the provider refused for good is thrown (OPERATION_FAILED), now and on each replay.
   */
  act<Result>(
    step: string,
    tool: Tool<Result>,
    args: unknown,
    options?: ActOptions,
  ): Promise<Result>;
  /**
   * Waits for a person's yes to exactly this payload.
   *
   * @throws {NeverTwiceError} APPROVAL_DECLINED, APPROVAL_EXPIRED, APPROVAL_MISMATCH for another
   * payload than was shown.
   */
  approve(step: string, payload: unknown, options?: ApproveOptions): Promise<Approval>;
  /** Waits, across restarts. Milliseconds. */
  sleep(step: string, spanMs: number): Promise<void>;
  /** Writes an event to the outbox, in the transaction of the step. Resolves to the event's id. */
  emit(type: string, data: unknown, options?: EmitOptions): Promise<string>;
  /**
   * Undoes the effects of this run's `act` steps in reverse order, each by the compensation that its
   * tool declares; a tool without one is left as it is. Only what is proved is undone: while an act is
   * under way or in doubt, the run waits. Resolves to the steps that were undone.
   *
   * @throws {NeverTwiceError} OPERATION_FAILED, KEY_EXPIRED when an undo is refused for good; the
   * message and `details` tell which steps were undone before, and which are left.
   */
  compensate(step: string): Promise<readonly string[]>;
  /** Ends the run as FAILED, without another try. */
  fail(reason: string): never;
}

/** A registered flow. */
export interface Flow<Input = unknown, Output = unknown> {
  readonly name: string;
  readonly version: number;
  readonly body: (f: FlowContext, input: Input) => Promise<Output>;
}

/**
 * Declares a flow. Raise `version` when the body's steps change: runs go on with the version that
 * they were started with, so keep the old one registered until they have ended.
 *
 * @throws {NeverTwiceError} CONFIGURATION_INVALID.
 *
 * @example
 * const refundTicket = flow("refund-ticket", async (f, ticket: Ticket) => {
 *   const decision = await f.decide("assess", () => model(ticket));
 *   if (decision.amountMinor > 20_000) await f.approve("manager", decision, { tool: issueRefund });
 *   const refund = await f.act("refund", issueRefund, decision);
 *   await f.emit("refund.issued", refund);
 * });
 */
export function flow<Input extends Json, Output>(
  name: string,
  body: (f: FlowContext, input: Input) => Promise<Output>,
  options: { readonly version?: number } = {},
): Flow<Input, Output> {
  const { version = 1 } = options;
  if (!isSpan(version) || !Number.isSafeInteger(version) || version < 1) {
    throw invalid(`The flow ${name} can't have the version ${String(version)}: use 1, 2, 3 …`);
  }
  if (typeof body !== "function") throw invalid(`The flow ${name} has no body.`);
  return Object.freeze({ name: checkedId(name, "the flow's name"), version, body });
}

function invalid(message: string): NeverTwiceError {
  return new NeverTwiceError("CONFIGURATION_INVALID", message);
}
