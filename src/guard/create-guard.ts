/**
 * The guard as users hold it.
 *
 * @module
 */
import { days } from "../base/duration.ts";
import { NeverTwiceError } from "../base/errors.ts";
import { type Runtime, systemRuntime } from "../base/runtime.ts";
import { checkedId } from "../intent/intent.ts";
import type { OperationRecord } from "../ledger/record.ts";
import type { Store } from "../ledger/store.ts";
import { type Outcome, aborted } from "./answers.ts";
import type { GuardEnvironment, Point, Warning } from "./environment.ts";
import { runGuarded } from "./guard.ts";
import { keepSweeping } from "./keep-sweeping.ts";
import { type LateLookOptions, type LookedAgain, lookAgain, planLateLooks } from "./late-looks.ts";
import { type RunContext, prepare, validateArguments } from "./prepare.ts";
import { type Resolution, resolve } from "./review.ts";
import { type Horizon, checkKeySecret, checkRetention, checkStore } from "./start-up.ts";
import { type Swept, sweep } from "./sweep.ts";
import type { Tool } from "./tool.ts";

/** Options of {@link createGuard}. */
export interface GuardOptions {
  readonly store: Store;
  /** What the sweeper may reconcile. Tools that `run` is called with are added. */
  readonly tools?: readonly Tool[];
  /** Keys become HMACs, so that nobody who knows an order's number can compute its key. Never change it. */
  readonly keySecret?: string | Uint8Array;
  /** How long settled operations keep their outcome, in milliseconds. Default 45 d. */
  readonly retentionMs?: number;
  readonly horizon?: Horizon;
  /** When closed operations are looked at again, for effects that came late (R22). */
  readonly lateLooks?: LateLookOptions;
  /** Unsafe settings of the store that are accepted, as `name=value` (R27). */
  readonly accept?: readonly string[];
  /** Told of look-alikes and of what could not be recorded. Default: nothing. */
  onWarning?(warning: Warning): void | Promise<void>;
  /** For tests: awaited at each named point of a call. */
  onPoint?(point: Point): Promise<void> | void;
  readonly runtime?: Runtime;
}

/** What two calls of one operation have in common. */
export interface CallIdentity {
  readonly tenant: string;
  readonly key: string;
  readonly fingerprint: string;
}

/** One business effect per intent, however many times an agent asks. */
export interface Guard {
  /** How long settled operations keep their outcome, in milliseconds. */
  readonly retentionMs: number;
  /**
   * Calls a tool. A non-idempotent tool takes effect once per intent; the others go straight through.
   *
   * @throws {NeverTwiceError} every other answer, by its `code`; see docs/reference/errors.md.
   */
  run<Result>(tool: Tool<Result>, args: unknown, context: RunContext): Promise<Outcome<Result>>;
  /**
   * Which operation a call is, without making it: an approval is bound to that, and a step of a flow
   * remembers it. Null for a tool that goes straight through.
   *
   * @throws {NeverTwiceError} what `run` refuses before the claim.
   */
  identify(tool: Tool, args: unknown, context: RunContext): Promise<CallIdentity | null>;
  /** Records a person's decision. See {@link Resolution}. */
  resolve(resolution: Resolution): Promise<OperationRecord>;
  /** One pass of the sweeper over at most `limit` operations (default 100). */
  sweep(options?: { readonly limit?: number }): Promise<readonly Swept[]>;
  /**
   * One pass of late looks: asks the provider again about operations that closed a while ago, at most
   * `limit` (default 100) of each tool and stage. What contradicts the stored outcome is flagged for a
   * person. Nothing is sent.
   */
  lookAgain(options?: { readonly limit?: number }): Promise<readonly LookedAgain[]>;
  /**
   * Sweeps every `everyMs` (default 10 s) until the signal aborts; then resolves. Each minute it also
   * looks at closed operations.
   */
  keepSweeping(options: { readonly signal: AbortSignal; readonly everyMs?: number }): Promise<void>;
  /** Empties settled operations past their retention; returns how many. */
  purge(options?: { readonly limit?: number }): Promise<number>;
}

/**
 * Checks the store and returns a guard.
 *
 * @throws {NeverTwiceError} SCHEMA_OUTDATED, SCHEMA_TOO_NEW, STORE_UNSAFE, CONFIGURATION_INVALID,
 * STORE_UNAVAILABLE.
 *
 * @example
 * const guard = await createGuard({ store, tools: [refund] });
 * const { value, replayed } = await guard.run(refund, args, { tenant: "acme" });
 */
export async function createGuard(options: GuardOptions): Promise<Guard> {
  const env = environmentOf(options);
  const plan = planLateLooks(options.lateLooks);
  checkRetention(env.retentionMs, options.horizon ?? {});
  const inspection = await env.store.inspect();
  checkStore(inspection, options.accept ?? []);
  for (const message of inspection.warnings) env.warn({ tenant: "", key: "", message });
  const tools = new Map<string, Tool>();
  for (const tool of options.tools ?? []) register(tools, tool);
  return {
    retentionMs: env.retentionMs,
    run: async (tool, args, context) => {
      register(tools, tool);
      return (await run(env, tool, args, context)) as Outcome<never>;
    },
    identify: async (tool, args, context) => {
      register(tools, tool);
      return identify(env, tool, args, context);
    },
    resolve: (resolution) => resolve(env.store, resolution),
    sweep: ({ limit = 100 } = {}) => sweep(env, tools, limit),
    lookAgain: ({ limit = 100 } = {}) => lookAgain(env, tools, plan, limit),
    keepSweeping: ({ signal, everyMs = 10_000 }) =>
      keepSweeping(env, tools, plan, { signal, everyMs }),
    purge: ({ limit = 1000 } = {}) => env.store.purge({ limit }),
  };
}

function environmentOf(options: GuardOptions): GuardEnvironment {
  checkKeySecret(options.keySecret);
  return {
    store: options.store,
    runtime: options.runtime ?? systemRuntime,
    keySecret: options.keySecret,
    retentionMs: options.retentionMs ?? days(45),
    warn: (warning) => warnQuietly(options, warning),
    reach: (point) => options.onPoint?.(point),
  };
}

/** Whoever receives warnings can't take an outcome back. */
function warnQuietly(options: GuardOptions, warning: Warning): void {
  try {
    const told: unknown = options.onWarning?.(warning);
    // An unhandled rejection would end the process, and with it calls that are under way.
    if (told instanceof Promise) told.catch(() => {});
  } catch {
    // The receiver's own trouble: an outcome must reach its caller all the same.
  }
}

function register(tools: Map<string, Tool>, tool: Tool): void {
  const known = tools.get(tool.name);
  if (known === tool) return;
  if (known !== undefined) {
    throw new NeverTwiceError(
      "TOOL_INVALID",
      `Two different tools are called ${tool.name}. Each name must be unique in a guard.`,
      {
        details: { tool: tool.name },
      },
    );
  }
  tools.set(tool.name, tool);
}

async function run(
  env: GuardEnvironment,
  tool: Tool,
  args: unknown,
  context: RunContext,
): Promise<Outcome<unknown>> {
  if (context.signal?.aborted === true) throw aborted(context.signal.reason);
  if (tool.guarded === null) return passThrough(tool, args, context);
  return runGuarded(env, await prepare(env, tool, tool.guarded, args, context));
}

async function identify(
  env: GuardEnvironment,
  tool: Tool,
  args: unknown,
  context: RunContext,
): Promise<CallIdentity | null> {
  if (tool.guarded === null) return null;
  const { tenant, key, fingerprint } = await prepare(env, tool, tool.guarded, args, context);
  return { tenant, key, fingerprint };
}

/** Read-only and convergent tools touch no row: running them twice does no harm. */
async function passThrough(
  tool: Tool,
  args: unknown,
  context: RunContext,
): Promise<Outcome<unknown>> {
  const tenant = checkedId(context.tenant, "tenant");
  const fields = await validateArguments(tool, args);
  const signal = context.signal ?? new AbortController().signal;
  const value = await tool.execute(fields, { tenant, signal } as Parameters<Tool["execute"]>[1]);
  return {
    value,
    status: "DONE",
    replayed: false,
    recorded: false,
    key: null,
    attempts: 1,
    firstExecutedAt: null,
    providerId: null,
    omitted: null,
    supersededBy: null,
    warnings: [],
    text: `Done. ${tool.name} is ${tool.kind}, so calling it again is safe.`,
  };
}
