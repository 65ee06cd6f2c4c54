/**
 * The steps of a flow on an engine's journal. The engine decides when the body runs again; a step
 * that it has an answer of is not done again. Deterministic, and without anything of Node, so that it
 * may run where a workflow's code has to.
 *
 * @module
 */
import { days, isSpan } from "../../../base/duration.ts";
import { NeverTwiceError, isNeverTwiceError } from "../../../base/errors.ts";
import { toPlainJson } from "../../../base/plain-json.ts";
import type {
  ActOptions,
  Approval,
  ApproveOptions,
  EmitOptions,
  Flow,
  FlowContext,
} from "../../../flow/flow.ts";
import { checkNoneLeft } from "../../../flow/step-log.ts";
import { hasValue, readValue, storeFailure, storeValue } from "../../../flow/step-value.ts";
import type { Tool } from "../../../guard/tool.ts";
import { checkedId } from "../../../intent/intent.ts";
import type { StepKind } from "../../../ledger/runs.ts";
import type { ActCall, EngineRun, StepAnswer, StepRequest } from "./requests.ts";

/** What an engine offers: a journal, a clock, and news of a decision. */
export interface EngineJournal {
  /** False: a step begun while another one is under way is refused. */
  readonly sideBySide: boolean;
  /** Asks once, and records the text before it returns. */
  decide(step: string, ask: () => Promise<string>): Promise<string>;
  /** Has it done by a process with store, guard and tools, and records the answer. */
  perform(step: string, request: StepRequest): Promise<StepAnswer>;
  /** Waits by the engine's timer, across restarts. */
  sleep(step: string, spanMs: number): Promise<void>;
  /** Waits for news of the approval, at most so long. True: there was news. */
  awaitNews(step: string, spanMs: number): Promise<boolean>;
}

/** News can get lost between the row and the engine, so a wait looks at the row again. */
const lookAgainMs = 15 * 60_000;

/** Runs the flow's body on the journal. What it throws stands, and is the run's end. */
export async function runOnEngine<Input, Output>(
  flow: Flow<Input, Output>,
  run: EngineRun,
  input: Input,
  journal: EngineJournal,
): Promise<Output> {
  const steps = new EngineSteps(run, journal);
  try {
    const output = await steps.through(flow.body(steps.context(), toPlainJson(input) as Input));
    await steps.end(null);
    return output;
  } catch (error) {
    if (isNeverTwiceError(error)) await steps.end(error);
    throw error;
  }
}

class EngineSteps {
  readonly #run: EngineRun;
  readonly #journal: EngineJournal;
  readonly #names = new Set<string>();
  /** In the order in which the body came to them, which every replay keeps. */
  readonly #acts: Act[] = [];
  readonly #approved: Approval[] = [];
  #hasApprovals = false;
  readonly #underWay = new Map<string, StepKind>();
  readonly #begun: Promise<unknown>[] = [];

  constructor(run: EngineRun, journal: EngineJournal) {
    this.#run = run;
    this.#journal = journal;
  }

  context(): FlowContext {
    const { tenant, runId } = this.#run;
    return Object.freeze({
      tenant,
      runId,
      decide: <T>(step: string, ask: () => Promise<T> | T) =>
        this.#take(step, "decide", () => this.#decide(step, ask)),
      act: <Result>(step: string, tool: Tool<Result>, args: unknown, options?: ActOptions) =>
        this.#take(step, "act", () => this.#act(step, tool, args, options) as Promise<Result>),
      approve: (step: string, payload: unknown, options?: ApproveOptions) =>
        this.#take(step, "approve", () => this.#approve(step, payload, options)),
      sleep: (step: string, spanMs: number) =>
        this.#take(step, "sleep", async () => this.#journal.sleep(step, checkedSpan(step, spanMs))),
      emit: (type: string, data: unknown, options: EmitOptions = {}) => {
        const { step = type, subject = null } = options;
        return this.#take(step, "emit", () => this.#emit(step, type, data, subject));
      },
      compensate: (step: string) => this.#take(step, "compensate", () => this.#compensate(step)),
      fail: (reason: string): never => {
        throw new NeverTwiceError("RUN_FAILED", reason, { details: { runId } });
      },
    });
  }

  /**
   * Waits for the flow's code to end.
   *
   * @throws {NeverTwiceError} STEP_INVALID when it ended while a step is under way.
   */
  async through<Output>(body: Promise<Output>): Promise<Output> {
    try {
      const output = await body;
      checkNoneLeft(this.#run.runId, this.#underWay);
      return output;
    } finally {
      // What is left under way and fails from now on has nobody who could hear of it.
      for (const step of this.#begun) step.catch(() => {});
    }
  }

  /** Settles the row that approvals hang on, where there is one. */
  async end(error: NeverTwiceError | null): Promise<void> {
    if (!this.#hasApprovals) return;
    const { code, message } = error ?? {};
    const text = error === null ? null : JSON.stringify({ code, message });
    await this.#settled("nevertwice: end", { kind: "end", step: "end", error: text });
  }

  async #decide<T>(step: string, ask: () => Promise<T> | T): Promise<T> {
    const text = await this.#journal.decide(step, async () => {
      try {
        return storeValue(step, await ask());
      } catch (error) {
        // The same code would meet it again; anything else is the engine's to retry.
        if (isNeverTwiceError(error)) return storeFailure(error);
        throw error;
      }
    });
    return readValue(text) as T;
  }

  async #act(
    step: string,
    { name: tool }: Tool,
    args: unknown,
    options: ActOptions = {},
  ): Promise<unknown> {
    const approved = [...this.#approved];
    const call = { step, tool, args: toPlainJson(args), options: plainOptions(options) };
    const settling = this.#settled(step, { kind: "act", ...call, approved });
    this.#acts.push({ call, settling });
    return readValue((await settling).value);
  }

  async #approve(
    step: string,
    payload: unknown,
    { tool, forStep, waitMs = days(7), ...options }: ApproveOptions = {},
  ): Promise<Approval> {
    this.#hasApprovals = true;
    const { value } = await this.#settled(step, {
      kind: "approve",
      step,
      tool: tool?.name ?? null,
      ...(forStep === undefined ? {} : { forStep }),
      payload: toPlainJson(payload),
      options: plainOptions(options),
      waitMs: checkedSpan(step, waitMs),
    });
    const approval = readValue(value) as Approval;
    this.#approved.push(approval);
    return approval;
  }

  async #emit(step: string, type: string, data: unknown, subject: string | null): Promise<string> {
    const event = { type, data: data === undefined ? undefined : toPlainJson(data), subject };
    const { value } = await this.#settled(step, { kind: "emit", step, ...event });
    return readValue(value) as string;
  }

  /** In reverse order, each undo a step of its own, once no act is under way or in doubt. */
  async #compensate(step: string): Promise<readonly string[]> {
    const acts = [...this.#acts];
    const answers = await Promise.all(acts.map(({ settling }) => settling.catch(() => null)));
    const undone: string[] = [];
    for (const [index, { call }] of [...acts.entries()].toReversed()) {
      const answer = answers[index] ?? null;
      if (answer !== null && (answer.key === null || !hasValue(answer.value))) continue;
      const each = `${step}: ${call.step}`;
      const request = { step: each, key: answer?.key ?? null, act: call };
      const { value } = await this.#settled(each, { kind: "compensate", ...request });
      if (readUndone(value, call.step, undone) === true) undone.push(call.step);
    }
    return undone;
  }

  /**
   * Has it done until there is an answer that stands. A doubt is waited out by the engine's timer
   * and asked about again: the same request, so the same intent.
   */
  async #settled(
    step: string,
    request: StepRequest,
  ): Promise<Extract<StepAnswer, { kind: "ended" }>> {
    let hadNews = false;
    for (let look = 1; ; look += 1) {
      const name = look === 1 ? step : `${step} (look ${look})`;
      const answer = await this.#journal.perform(name, request);
      if (answer.kind === "ended") return answer;
      if (answer.kind === "open" && !hadNews) {
        // One millisecond more, so that the time is over when it is looked at again.
        hadNews = await this.#journal.awaitNews(step, Math.min(answer.leftMs + 1, lookAgainMs));
      } else {
        const retryAfterMs = answer.kind === "doubt" ? answer.retryAfterMs : 0;
        await this.#journal.sleep(`${name}: wait`, Math.max(retryAfterMs, backOffMs(look)));
      }
    }
  }

  #take<T>(step: string, kind: StepKind, work: () => Promise<T>): Promise<T> {
    const taken = this.#taken(step, kind, work);
    this.#begun.push(taken);
    return taken;
  }

  async #taken<T>(step: string, kind: StepKind, work: () => Promise<T>): Promise<T> {
    checkedId(step, "the step's name");
    const { runId } = this.#run;
    if (this.#names.has(step)) {
      throw invalid(
        step,
        `The run ${runId} comes to a second step called "${step}". A step is recorded under its name: give each its own, e.g. with what it is about.`,
      );
    }
    if (!this.#journal.sideBySide && this.#underWay.size > 0) {
      throw invalid(
        step,
        `The run ${runId} comes to the step "${step}" while another one is under way, which this engine can't replay. Await each step before the next. Nothing was recorded of this one.`,
      );
    }
    this.#names.add(step);
    this.#underWay.set(step, kind);
    try {
      return await work();
    } finally {
      this.#underWay.delete(step);
    }
  }
}

/** An act that the body has come to. */
interface Act {
  readonly call: ActCall;
  /** Rejects when the engine gave it up. */
  readonly settling: Promise<Extract<StepAnswer, { kind: "ended" }>>;
}

/** A refused undo says how far the undoing has come. */
function readUndone(value: string, step: string, undone: readonly string[]): unknown {
  try {
    return readValue(value);
  } catch (cause) {
    if (!isNeverTwiceError(cause)) throw cause;
    const { code, message, key, details } = cause;
    const had = undone.length === 0 ? "nothing" : undone.join(", ");
    const more = { key, cause, details: { ...details, step, undone: [...undone] } };
    throw new NeverTwiceError(
      code,
      `Undoing "${step}": ${message} Undone before it: ${had}.`,
      more,
    );
  }
}

/** 1 s, 2 s … up to ten minutes: each look costs the provider a question, and the engine a step. */
function backOffMs(look: number): number {
  return Math.min(1000 * 2 ** (look - 1), 600_000);
}

function plainOptions(options: ActOptions): ActOptions {
  return toPlainJson(options) as ActOptions;
}

function checkedSpan(step: string, spanMs: number): number {
  if (isSpan(spanMs)) return spanMs;
  throw invalid(
    step,
    `The step "${step}" has a span of ${String(spanMs)}: it must be a number of milliseconds. Nothing was recorded.`,
  );
}

function invalid(step: string, message: string): NeverTwiceError {
  return new NeverTwiceError("STEP_INVALID", message, { details: { step } });
}
