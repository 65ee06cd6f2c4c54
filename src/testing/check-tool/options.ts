/**
 * What an engineer tells the tool check about their tool, their store and their provider.
 *
 * @module
 */
import { NeverTwiceError } from "../../base/errors.ts";
import { isSpan } from "../../base/duration.ts";
import type { RunContext } from "../../guard/prepare.ts";
import type { Tool } from "../../guard/tool.ts";
import type { Store } from "../../ledger/store.ts";
import { type CheckName, checkNames } from "./catalogue.ts";

/** A valid call of the tool: what `guard.run(tool, args, context)` takes. */
export interface Example {
  readonly args: Readonly<Record<string, unknown>>;
  readonly context: RunContext;
}

/** Done at once, or later. */
export type Awaitable<T> = T | Promise<T>;

/**
 * Ways to make the provider's sandbox misbehave. Each may be left out: then the fault is played on
 * our side of `execute` where that is possible, and reported as not checkable where it isn't. Each
 * is called right before the request that it is meant for.
 */
export interface ProviderFaults {
  /** The next request is answered with this status; with `effect` it takes effect all the same. */
  readonly answer?: (status: number, options: { readonly effect: boolean }) => Awaitable<unknown>;
  /** The next request takes effect, and its reply is lost. */
  readonly dropReply?: () => Awaitable<unknown>;
  /** The next request is refused for good, such as a declined card, without an effect. */
  readonly refuse?: () => Awaitable<unknown>;
  /** The provider forgets every idempotency key, as if its retention had passed. */
  readonly expireKeys?: () => Awaitable<unknown>;
  /** Moves the provider's clock on. With it, nothing has to be waited for. */
  readonly advance?: (spanMs: number) => Awaitable<unknown>;
  /** Takes back whatever was arranged and not used; called after each check. */
  readonly clear?: () => Awaitable<unknown>;
  /**
   * The error that the provider's SDK throws for this status, for faults that are played on our side;
   * `"timeout"` when no answer came. Default: an `Error` with `status`, `statusCode` and `code`.
   */
  readonly errorFor?: (status: number | "timeout") => unknown;
}

/** Where a check of a long list is. */
export interface CheckProgress {
  readonly name: CheckName;
  /** From 1. */
  readonly position: number;
  readonly total: number;
}

/** A worker in a process of its own, for the check `worker-killed`. */
export interface WorkerToKill {
  /** Arguments of {@link CheckOptions.example}. */
  readonly n: number;
  readonly id: string;
  /** How far the check's clock is ahead of the machine's. */
  readonly clockAheadMs: number;
}

/** Options of {@link checkTool}. Spans in milliseconds. */
export interface CheckOptions {
  /**
   * A valid call, another intent for each `n` (from 1). `id` is a short text that is unique in the
   * world: build it into ids, so that the next run of the check meets no effects of this one.
   */
  readonly example: (n: number, id: string) => Awaitable<Example>;
  /**
   * How many effects of this example the provider's own books hold. It judges every check, so it must
   * not ask through the tool. May poll until the books are up to date.
   */
  readonly countEffects: (example: Example) => Awaitable<number>;
  /**
   * Opens the store to check with, once per worker, migrated; give it the `clock`, so that leases and
   * retention needn't be waited for. Default: a temporary SQLite file (needs better-sqlite3).
   */
  readonly store?: (clock: () => number) => Awaitable<Store>;
  /** The same business arguments, with the free text in other words. */
  readonly reword?: (args: Example["args"]) => Example["args"];
  /** One business argument changed, such as the amount, and still valid. */
  readonly modify?: (args: Example["args"]) => Example["args"];
  /**
   * The same business operation as another run or agent would call it. Default: another workflow and
   * step, and other values for ids in `trusted` whose names say that they belong to a run.
   */
  readonly rerun?: (example: Example) => Example;
  readonly faults?: ProviderFaults;
  /** These checks alone (and always `baseline`). */
  readonly only?: readonly CheckName[];
  readonly skip?: readonly CheckName[];
  /** How long one check may take. Default 60 s. */
  readonly timeoutMs?: number;
  /** How long to wait before effects are counted, for books that are slow. Default 0. */
  readonly settleMs?: number;
  readonly onProgress?: (progress: CheckProgress) => void;
  /**
   * Runs the example in a process of its own on the same store, and kills it after its effect. Resolves
   * with the effects that the worker itself saw before it died. `nevertwice verify` brings one.
   */
  readonly killWorker?: (worker: WorkerToKill) => Promise<number>;
}

/** A tool with all that is needed to check it, as `nevertwice verify` reads it from a file. */
export interface ToolCheck extends CheckOptions {
  readonly tool: Tool;
  /** Called when all checks are through: close pools and servers here. */
  readonly close?: () => Awaitable<unknown>;
}

/**
 * Gives a check in a file its types.
 *
 * @example
 * export const checks = [defineCheck({ tool: issueRefund, example: (n, id) => …, countEffects: … })];
 */
export function defineCheck(check: ToolCheck): ToolCheck {
  return check;
}

/** Default of `timeoutMs`. */
const defaultTimeoutMs = 60_000;

/** Options with their defaults. */
export interface CheckedOptions extends CheckOptions {
  readonly timeoutMs: number;
  readonly settleMs: number;
  readonly faults: ProviderFaults;
  readonly rerun: (example: Example) => Example;
}

/**
 * Refuses what would make a check lie or break off later.
 *
 * @throws {NeverTwiceError} CONFIGURATION_INVALID naming the option.
 */
export function checkOptions(tool: unknown, options: CheckOptions): CheckedOptions {
  if (!isTool(tool))
    throw invalid("`tool` is not a tool: give what `defineTool` returned", { part: "tool" });
  const given: unknown = options;
  if (typeof given !== "object" || given === null) throw invalid("the options are missing");
  for (const name of ["example", "countEffects"] as const) {
    if (typeof options[name] !== "function") throw invalid(`\`${name}\` must be a function`);
  }
  for (const name of ["store", "reword", "modify", "rerun", "killWorker"] as const) {
    if (!isFunctionOrAbsent(options[name])) throw invalid(`\`${name}\` must be a function`);
  }
  const { timeoutMs = defaultTimeoutMs, settleMs = 0 } = options;
  if (!isSpan(timeoutMs) || timeoutMs === 0) throw invalid("`timeoutMs` must be above zero");
  if (!isSpan(settleMs)) throw invalid("`settleMs` must be at least zero");
  for (const name of [...(options.only ?? []), ...(options.skip ?? [])]) {
    if (!checkNames.includes(name))
      throw invalid(`there is no check ${String(name)}; there are ${checkNames.join(", ")}`);
  }
  return {
    ...options,
    timeoutMs,
    settleMs,
    faults: checkFaults(options.faults ?? {}),
    rerun: options.rerun ?? rerunExample,
  };
}

/** Hooks may be methods of a sandbox; what is no hook is a slip of the pen. */
function checkFaults(faults: ProviderFaults): ProviderFaults {
  const { answer, dropReply, refuse, expireKeys, advance, clear, errorFor } = faults;
  const hooks = { answer, dropReply, refuse, expireKeys, advance, clear, errorFor };
  const isPlain = Object.getPrototypeOf(faults) === Object.prototype;
  for (const name of isPlain ? Object.keys(faults) : []) {
    if (!Object.hasOwn(hooks, name))
      throw invalid(`there is no fault ${name}; there are ${Object.keys(hooks).join(", ")}`);
  }
  const bound = Object.entries(hooks).map(([name, hook]: [string, unknown]) => {
    if (!isFunctionOrAbsent(hook)) throw invalid(`\`faults.${name}\` must be a function`);
    return [name, hook?.bind(faults)] as const;
  });
  return Object.fromEntries(bound.filter(([, hook]) => hook !== undefined));
}

function isFunctionOrAbsent(
  value: unknown,
): value is ((...args: unknown[]) => unknown) | undefined {
  return value === undefined || typeof value === "function";
}

/** True for what `defineTool` returns, also of another installed copy of this package. */
export function isTool(value: unknown): value is Tool {
  if (typeof value !== "object" || value === null) return false;
  const { name, execute, guarded, schema } = value as Record<string, unknown>;
  return (
    typeof name === "string" &&
    typeof execute === "function" &&
    typeof schema === "object" &&
    typeof guarded === "object"
  );
}

/** A mistake in how the check was set up; nothing is known of the tool. */
export function invalid(
  reason: string,
  details: Record<string, unknown> = {},
  cause?: unknown,
): NeverTwiceError {
  return new NeverTwiceError("CONFIGURATION_INVALID", `The tool can't be checked: ${reason}.`, {
    details,
    cause,
  });
}

/** Names of ids that a new run brings anew. */
const runIds = /^(run|attempt|tool_?call|call|execution|trace|span)_?(id|no|number|count)?$/i;
let reruns = 0;

function rerunExample({ args, context }: Example): Example {
  reruns += 1;
  const mark = `rerun-${reruns}`;
  const trusted = Object.fromEntries(
    Object.entries(context.trusted ?? {}).map(([name, value]) => [
      name,
      runIds.test(name) ? otherValue(value, mark) : value,
    ]),
  );
  return {
    args,
    context: {
      ...context,
      workflowId: `${context.workflowId ?? "workflow"}-${mark}`,
      stepId: `${context.stepId ?? "step"}-${mark}`,
      ...(context.trusted === undefined ? {} : { trusted }),
    },
  };
}

function otherValue<T>(value: T, mark: string): T | string | number {
  return typeof value === "number" ? value + 1 : `${String(value)}-${mark}`;
}
