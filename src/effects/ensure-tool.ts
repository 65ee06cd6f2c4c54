/**
 * Tools that bring a target into a desired state, in place of doing an action: what is there is
 * looked at first, so a doubt is settled by looking again.
 *
 * @module
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { days, isSpan, minutes, seconds } from "../base/duration.ts";
import { NeverTwiceError } from "../base/errors.ts";
import type { JsonObject } from "../base/plain-json.ts";
import type { ErrorClass, LookUpAnswer } from "../guard/contract.ts";
import { defineTool } from "../guard/define-tool.ts";
import type {
  BusinessArguments,
  ExecuteCall,
  FieldName,
  Fields,
  IntentSource,
  Tool,
} from "../guard/tool.ts";

/** What `observe` is told. */
export interface Observation {
  readonly tenant: string;
  readonly target: string;
  readonly version: number;
  readonly signal: AbortSignal;
}

/** What one change is told. */
export interface EnsureCall extends ExecuteCall {
  readonly target: string;
  readonly version: number;
}

/** What the downstream promises. Spans in milliseconds. */
export interface EnsureContract {
  /** The longest that one change may take to answer. */
  readonly timeoutMs: number;
  /** F: the longest that a change can go on to take effect after it was written. */
  readonly flightMs: number;
  /** W: the longest from arm to socket write. Default 2 s. */
  readonly sendWithinMs?: number;
  /** Clock steps and slack. Default 5 s. */
  readonly marginMs?: number;
  /** The longest that one observation may take. Default: `timeoutMs`. */
  readonly observeTimeoutMs?: number;
  /** How long one call goes on observing until the desired state is there. Default 30 s. */
  readonly convergeWithinMs?: number;
  /** The pause between two observations. Default 1 s. */
  readonly observeEveryMs?: number;
  /** Default: every error is `unknown`, and the next observation tells. */
  classify?(error: unknown): ErrorClass;
  readonly account?: string;
  readonly endpoint?: string;
}

/** A tool for {@link createEnsure}. */
export interface EnsureTool<Args extends Fields, Field extends FieldName<Args>, State> {
  readonly name: string;
  /** Tools with one operation share its targets. Default: the tool's name. */
  readonly operation?: string;
  readonly arguments: StandardSchemaV1<unknown, Args>;
  /** What is brought into a state, from trusted ids: `prod`, `order-8812`. */
  readonly target: (source: IntentSource<Args>) => string;
  /** Which desired state is newer: a whole number, never from text that a model wrote. */
  readonly version: (source: IntentSource<Args>) => number;
  /** The arguments that the desired state is made of. */
  readonly businessArguments: BusinessArguments<Args, Field>;
  /** Reads the state that is there. Throwing is a doubt, and it is asked again. */
  readonly observe: (
    desired: Readonly<Pick<Args, NoInfer<Field>>>,
    observation: Observation,
  ) => Promise<State> | State;
  /** `pending`: a change to it is under way, so that none more is made. */
  readonly isConverged: (
    state: NoInfer<State>,
    desired: Readonly<Pick<Args, NoInfer<Field>>>,
  ) => boolean | "pending";
  /** Brings the target into the desired state. Doing it twice must leave what doing it once leaves. */
  readonly apply: (desired: Readonly<Pick<Args, NoInfer<Field>>>, call: EnsureCall) => unknown;
  readonly contract: EnsureContract;
}

/** What one change is recorded as. */
export interface Change {
  readonly target: string;
  readonly version: number;
  readonly round: number;
  readonly desired: JsonObject;
}

/** A registered ensure tool. Only {@link createEnsure} can run it. */
export interface RegisteredEnsureTool<State = unknown> {
  readonly name: string;
  readonly operation: string;
  /** Checks and captures arguments; it is never run. */
  readonly declared: Tool;
  /** One change, as the guard knows it. */
  readonly change: Tool;
  readonly terms: Required<Omit<EnsureContract, "classify" | "account" | "endpoint">>;
  readonly target: (source: IntentSource<Fields>) => string;
  readonly version: (source: IntentSource<Fields>) => number;
  observe(desired: JsonObject, observation: Observation): Promise<State> | State;
  isConverged(state: State, desired: JsonObject): boolean | "pending";
}

/** Says when a change would be sent too late; without one nothing may be sent. */
interface Leave {
  readonly isLate: () => boolean;
}

const leaves = new AsyncLocalStorage<Leave | undefined>();

/** Runs the work with the leave to send, or, with undefined, without it. */
export function withLeave<T>(leave: Leave | undefined, work: () => Promise<T>): Promise<T> {
  return leaves.run(leave, work);
}

/**
 * Declares a tool for {@link createEnsure}.
 *
 * @throws {NeverTwiceError} TOOL_INVALID naming the part.
 */
export function defineEnsureTool<Args extends Fields, Field extends FieldName<Args>, State>(
  parts: EnsureTool<Args, Field, State>,
): RegisteredEnsureTool<State> {
  checkParts(parts);
  const given = parts as unknown as EnsureTool<Fields, string, unknown>;
  const { name, contract, operation = name } = given;
  const terms: RegisteredEnsureTool["terms"] = {
    timeoutMs: contract.timeoutMs,
    flightMs: contract.flightMs,
    sendWithinMs: contract.sendWithinMs ?? seconds(2),
    marginMs: contract.marginMs ?? seconds(5),
    observeTimeoutMs: contract.observeTimeoutMs ?? contract.timeoutMs,
    convergeWithinMs: contract.convergeWithinMs ?? seconds(30),
    observeEveryMs: contract.observeEveryMs ?? seconds(1),
  };
  checkSpans(name, terms);
  const declared = defineTool({
    name,
    operation,
    kind: "non-idempotent",
    arguments: given.arguments,
    intent: given.target,
    businessArguments: given.businessArguments,
    contract: { ...accountOf(contract), timeoutMs: minutes(1), flightMs: 1 },
    execute: () => {
      throw new Error("an ensure tool runs by `ensure` only");
    },
  });
  return Object.freeze({
    name,
    operation,
    declared,
    change: changeTool(given, operation, terms),
    terms,
    target: given.target,
    version: given.version,
    observe: given.observe as RegisteredEnsureTool<State>["observe"],
    isConverged: given.isConverged,
  });
}

function changeTool(
  parts: EnsureTool<Fields, string, unknown>,
  operation: string,
  terms: RegisteredEnsureTool["terms"],
): Tool {
  const { name, contract, apply } = parts;
  const { timeoutMs, flightMs, sendWithinMs, marginMs, observeTimeoutMs } = terms;
  return defineTool<Fields & Change, "target" | "version" | "round" | "desired", null>({
    name,
    operation,
    kind: "non-idempotent",
    arguments: anyArguments,
    intent: ({ args: { target, version, round } }) => ({ target, version, round }),
    businessArguments: ["target", "version", "round", "desired"],
    // One send per round. The look-up is the observation: once nothing can be under way any more, a
    // state that isn't the desired one says that this change has no effect, and never will have one.
    contract: {
      ...accountOf(contract),
      mode: "strict",
      timeoutMs,
      flightMs,
      sendWithinMs,
      marginMs,
      leaseMs: Math.max(timeoutMs, observeTimeoutMs) + seconds(5),
      giveUpAfterMs: days(3650),
      classify: (error) =>
        error instanceof WithoutLeave ? "definitive" : (contract.classify?.(error) ?? "unknown"),
      lookUp: {
        authoritative: true,
        lagMs: 0,
        timeoutMs: observeTimeoutMs,
        find: ({ tenant, arguments: change, signal }) => findChange(parts, tenant, change, signal),
      },
    },
    execute: async ({ target, version, desired }, call) => {
      const leave = leaves.getStore();
      if (leave === undefined) throw new WithoutLeave();
      const checkLeave = (): void => {
        if (leave.isLate()) throw call.notSent(new Error("its time to be sent has passed"));
      };
      checkLeave();
      const beforeWrite = (): void => {
        checkLeave();
        call.beforeWrite();
      };
      await apply(desired, { ...call, beforeWrite, target, version });
      return null;
    },
  });
}

async function findChange(
  parts: EnsureTool<Fields, string, unknown>,
  tenant: string,
  { target, version, desired }: Pick<Change, "target" | "version" | "desired">,
  signal: AbortSignal,
): Promise<LookUpAnswer<null>> {
  const state = await parts.observe(desired, { tenant, target, version, signal });
  switch (parts.isConverged(state, desired)) {
    case true:
      return { answer: "found", effects: [{ status: "succeeded", result: null }] };
    case "pending":
      return { answer: "unsure", reason: "a change is under way" };
    case false:
      return { answer: "absent", final: true };
    default:
      return { answer: "unsure", reason: "`isConverged` gave none of its three answers" };
  }
}

/** A sweeper, or a call of a change by hand: nothing is sent past the target's lease. */
class WithoutLeave extends Error {
  constructor() {
    super("the change was left before it was sent");
  }
}

const anyArguments: StandardSchemaV1<unknown, Fields & Change> = {
  "~standard": {
    version: 1,
    vendor: "nevertwice",
    validate: (value) => ({ value: value as Fields & Change }),
  },
};

function accountOf({ account, endpoint }: EnsureContract): { account?: string; endpoint?: string } {
  return {
    ...(account === undefined ? {} : { account }),
    ...(endpoint === undefined ? {} : { endpoint }),
  };
}

function checkParts(parts: object): void {
  const given = parts as Record<string, unknown>;
  for (const part of ["target", "version", "observe", "isConverged", "apply"]) {
    if (typeof given[part] !== "function") throw invalid(given["name"], `\`${part}\` is missing`);
  }
  if (typeof given["contract"] !== "object" || given["contract"] === null)
    throw invalid(given["name"], "`contract` is missing: what does the downstream promise?");
}

function checkSpans(name: string, terms: Readonly<Record<string, number>>): void {
  for (const [part, value] of Object.entries(terms)) {
    if (isSpan(value) && (value > 0 || part === "marginMs")) continue;
    throw invalid(name, `\`contract.${part}\` must be a number above zero, not ${String(value)}`);
  }
}

function invalid(tool: unknown, reason: string): NeverTwiceError {
  const name = typeof tool === "string" ? tool : "(unnamed)";
  return new NeverTwiceError("TOOL_INVALID", `The tool ${name} can't be registered: ${reason}.`, {
    details: { tool: name },
  });
}
