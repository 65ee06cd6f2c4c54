/**
 * The bench that a tool is checked on: workers with guards of their own on one store, a clock that can
 * be moved on, examples that are each used once, and the provider's books.
 *
 * @module
 */
import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { formatSpan } from "../../base/duration.ts";
import { errorText, isNeverTwiceError } from "../../base/errors.ts";
import { systemRuntime } from "../../base/runtime.ts";
import { type Guard, createGuard } from "../../guard/create-guard.ts";
import type { Point } from "../../guard/environment.ts";
import { type PreparedCall, prepare } from "../../guard/prepare.ts";
import type { GuardedParts, Tool } from "../../guard/tool.ts";
import type { Store } from "../../ledger/store.ts";
import { quietSpanMs } from "../../ledger/window.ts";
import { type CheckedOptions, type Example, invalid } from "./options.ts";
import { type Send, faultyTool } from "./sends.ts";

/** What a caller was told. */
export interface Told {
  /** EXECUTED, REPLAYED, an error's code, or `ERROR` for one that is not ours. */
  readonly told: string;
  readonly error: unknown;
}

/** A worker: a guard of its own, with a tool that meets the planned faults. */
export interface Worker {
  run(example: Example): Promise<Told>;
  sends(): number;
}

export interface WorkerOptions {
  readonly plan?: readonly Send[];
  readonly onPoint?: (point: Point) => Promise<void> | void;
  /** Awaited by each request before it goes out. */
  readonly beforeSend?: () => Promise<void>;
}

/** An example with its number, for who has to make the same one again. */
export interface NumberedExample extends Example {
  readonly n: number;
  readonly id: string;
}

/** How often a call is repeated until it is settled. */
const mostCalls = 6;
const settled = new Set([
  "EXECUTED",
  "REPLAYED",
  "OPERATION_FAILED",
  "NEEDS_REVIEW",
  "KEY_EXPIRED",
]);

/** The bench. One per report. */
export class Bench {
  readonly tool: Tool;
  readonly parts: GuardedParts;
  readonly options: CheckedOptions;
  readonly #open: (clock: () => number) => Promise<Store> | Store;
  readonly #prefix = randomBytes(4).toString("hex");
  #examples = 0;
  #clockAheadMs = 0;
  /** True once it is seen that the store keeps time by the check's clock. */
  #movesTime = false;
  #lastSendAtMs = 0;
  #untilMs = Number.POSITIVE_INFINITY;
  #arrangeError: unknown;
  readonly #stores: Store[] = [];

  constructor(
    tool: Tool,
    parts: GuardedParts,
    options: CheckedOptions,
    open: (clock: () => number) => Promise<Store> | Store,
  ) {
    this.tool = tool;
    this.parts = parts;
    this.options = options;
    this.#open = open;
  }

  /** How far the check's clock is ahead of the machine's. */
  get clockAheadMs(): number {
    return this.#clockAheadMs;
  }

  /** A check begins: it may take this long. */
  begin(): void {
    this.#untilMs = performance.now() + this.options.timeoutMs;
  }

  /** The next example, another intent than all before. */
  async nextExample(): Promise<NumberedExample> {
    this.#examples += 1;
    const n = this.#examples;
    const id = `${this.#prefix}-${n}`;
    const example: unknown = await this.ask("example", () => this.options.example(n, id));
    const { args, context } = (example ?? {}) as Partial<Example>;
    if (typeof args !== "object" || typeof context !== "object")
      throw invalid("`example` must return `{ args, context }`, as `guard.run` takes them");
    return { n, id, args, context };
  }

  /** Key, fingerprint and captured arguments of an example. */
  async prepare(example: Example): Promise<PreparedCall> {
    const env = {
      store: await this.store(0),
      runtime: systemRuntime,
      keySecret: undefined,
      retentionMs: 0,
      warn: () => {},
      reach: () => {},
    };
    try {
      return await prepare(env, this.tool, this.parts, example.args, example.context);
    } catch (error) {
      throw invalid(`the example is not a valid call: ${errorText(error)}`, {}, error);
    }
  }

  /** How many effects the provider's books hold. */
  async count(example: Example): Promise<number> {
    if (this.options.settleMs > 0) await delay(this.options.settleMs);
    const count = await this.ask("countEffects", () => this.options.countEffects(example));
    if (Number.isSafeInteger(count) && count >= 0) return count;
    throw invalid(`\`countEffects\` must return a whole number, not ${String(count)}`);
  }

  /** The connection of a worker, by number. */
  async store(worker: number): Promise<Store> {
    const clock = (): number => Date.now() + this.#clockAheadMs;
    const known = this.#stores[worker];
    if (known !== undefined) return known;
    const store: unknown = await this.ask("store", () => this.#open(clock));
    if (typeof (store as Partial<Store> | null)?.claim !== "function")
      throw invalid("`store` must return a store");
    return (this.#stores[worker] = store as Store);
  }

  /** A worker; `number` chooses its connection to the store. */
  async worker(number: 0 | 1, options: WorkerOptions = {}): Promise<Worker> {
    const { plan = [], onPoint, beforeSend } = options;
    const faulty = faultyTool(this.tool, plan, {
      beforeSend,
      afterSend: () => this.noteSend(),
      arrangeFailed: (error) => (this.#arrangeError ??= error),
    });
    const store = await this.store(number);
    const guard = await createGuard({ store, ...(onPoint === undefined ? {} : { onPoint }) });
    return {
      run: ({ args, context }) => toldBy(() => guard.run(faulty.tool, args, context)),
      sends: () => faulty.sends(),
    };
  }

  /** Calls until the intent is settled, and lets the contract's time pass in between. */
  async untilSettled(worker: Worker, example: Example): Promise<Told[]> {
    const told: Told[] = [];
    while (told.length < mostCalls) {
      const one = await worker.run(example);
      told.push(one);
      if (settled.has(one.told)) break;
      const { bounds, leaseMs } = this.parts.terms;
      const waitMs = one.told === "IN_PROGRESS" ? leaseMs : quietSpanMs(bounds);
      if ((await this.pass(waitMs + 1)) !== null) break;
    }
    return told;
  }

  /**
   * Lets time pass for store and provider. The store's is moved on where it keeps the check's clock.
   * Without a hook for the provider's the declared look-up lag is really waited for: no effect may
   * become "absent" because only one of the two clocks was moved. Returns why it is not possible.
   */
  async pass(spanMs: number): Promise<string | null> {
    const { advance } = this.options.faults;
    const lagMs = advance === undefined ? (this.parts.terms.bounds.lookUpLagMs ?? 0) : 0;
    const leftOfLagMs = Math.max(0, this.#lastSendAtMs + lagMs - performance.now());
    const realMs = this.#movesTime ? Math.min(spanMs, Math.ceil(leftOfLagMs)) : spanMs;
    const budgetMs = this.#untilMs - performance.now() - 1000;
    if (realMs > Math.max(0, budgetMs)) {
      const hint = this.#movesTime
        ? "give `faults.advance`, or raise `timeoutMs`"
        : "let `store` use the clock that it is given, or raise `timeoutMs`";
      return `${formatSpan(realMs)} would have to be waited for: ${hint}`;
    }
    if (realMs > 0) await delay(realMs);
    if (!this.#movesTime) return null;
    this.#clockAheadMs += spanMs;
    await this.ask("faults.advance", () => advance?.(spanMs));
    return null;
  }

  /** Finds out whether the store keeps the check's clock, by a row that is in it. */
  async learnClock(call: PreparedCall): Promise<void> {
    const store = await this.store(0);
    const before = await store.read(call);
    this.#clockAheadMs += hourMs;
    const after = await store.read(call);
    const movedMs = (after?.readAtMs ?? 0) - (before?.readAtMs ?? 0);
    this.#movesTime = movedMs > hourMs / 2;
    if (!this.#movesTime) this.#clockAheadMs -= hourMs;
  }

  /** Sends one request past the guard, to measure what the provider does with it. */
  async raw(call: PreparedCall, more: RawOptions = {}): Promise<RawAnswer> {
    const { tool, parts } = this;
    const notSent = new Set<unknown>();
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(new Error("time-out")), parts.terms.timeoutMs);
    try {
      const value = await tool.execute((more.arguments ?? call.arguments).value, {
        tenant: call.tenant,
        key: call.key,
        wireKey: parts.terms.wireKeyOf(call.key, 0),
        signal: more.signal ?? controller.signal,
        beforeWrite: () => {},
        sendWithinMs: parts.terms.bounds.sendWithinMs,
        notSent: (cause) => {
          const error = new Error("nothing was written to the socket", { cause });
          notSent.add(error);
          return error;
        },
      });
      return { ok: true, value };
    } catch (error) {
      return { ok: false, error, notSent: notSent.has(error) };
    } finally {
      clearTimeout(timer);
      this.noteSend();
    }
  }

  /**
   * Takes back what was arranged with the provider.
   *
   * @throws {NeverTwiceError} CONFIGURATION_INVALID when something could not be arranged since the last time.
   */
  async clear(): Promise<void> {
    const failed = this.#arrangeError;
    this.#arrangeError = undefined;
    if (failed !== undefined) throw invalid(`a fault failed: ${errorText(failed)}`, {}, failed);
    await this.ask("faults.clear", () => this.options.faults.clear?.());
  }

  /** A request has left just now. */
  noteSend(): void {
    this.#lastSendAtMs = performance.now();
  }

  /** Runs a function of the user's; its error names it. */
  async ask<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (isNeverTwiceError(error)) throw error;
      throw invalid(`\`${name}\` failed: ${errorText(error)}`, { option: name }, error);
    }
  }
}

const hourMs = 3_600_000;

/** How to send a request past the guard. */
export interface RawOptions {
  /** Other arguments under the same wire key. */
  readonly arguments?: PreparedCall["arguments"];
  readonly signal?: AbortSignal;
}

/** How such a request ended. */
export type RawAnswer =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: unknown; readonly notSent: boolean };

/** What a caller is told, as data. */
export async function toldBy(run: () => ReturnType<Guard["run"]>): Promise<Told> {
  try {
    const outcome = await run();
    return { told: outcome.replayed ? "REPLAYED" : "EXECUTED", error: undefined };
  } catch (error) {
    return { told: isNeverTwiceError(error) ? error.code : "ERROR", error };
  }
}
