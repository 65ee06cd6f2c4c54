/**
 * `nevertwice/engines/restate`: flows on Restate, each as a workflow keyed by tenant and run.
 *
 * A step is a `ctx.run`, a sleep its timer, an approval a durable promise beside the approval's row
 * (https://docs.restate.dev/develop/ts/journaling-results, …/external-events).
 *
 * @module
 */
import type * as restate from "@restatedev/restate-sdk";
import { NeverTwiceError, isNeverTwiceError } from "../../base/errors.ts";
import type { Json } from "../../base/plain-json.ts";
import { type ApprovalDecision, decideApproval } from "../../flow/approval.ts";
import type { Flow } from "../../flow/flow.ts";
import type { EngineJournal } from "./shared/engine-context.ts";
import { runOnEngine } from "./shared/engine-context.ts";
import { type EngineOptions, createEngineWorker } from "./shared/engine-worker.ts";
import type { StepAnswer } from "./shared/requests.ts";
import { runIdOf } from "./shared/run-key.ts";

export type { EngineOptions } from "./shared/engine-worker.ts";
export { runKeyOf } from "./shared/run-key.ts";

/** What of `@restatedev/restate-sdk` is used: the module itself fits. */
export type RestateSdk = Pick<typeof restate, "workflow" | "handlers" | "TerminalError">;

/** A decision as the workflow's `decide` handler takes it; tenant and run are the workflow's key. */
export type RestateDecision = Omit<ApprovalDecision, "tenant" | "runId">;

/** Options of {@link restateFlow}. */
export interface RestateOptions extends EngineOptions {
  /** For `ctx.run`. Default: Restate's, which retries until it works. */
  readonly runOptions?: Omit<restate.RunOptions<never>, "serde">;
}

/**
 * Returns a Restate workflow to bind to an endpoint. It has the flow's name; call its `run` with
 * {@link runKeyOf} as key and the flow's input. `decide` takes a person's decision.
 *
 * @example
 * const workflow = restateFlow(restate, refundTicket, { store, guard, tools: [issueRefund] });
 * await restate.serve({ services: [workflow], port: 9080 });
 */
export function restateFlow<Input extends Json, Output>(
  sdk: RestateSdk,
  flow: Flow<Input, Output>,
  options: RestateOptions,
) {
  const worker = createEngineWorker(options);
  const { name, version } = flow;
  return sdk.workflow({
    name,
    handlers: {
      run: async (ctx: restate.WorkflowContext, input: Input): Promise<Output> => {
        const run = { ...runIdOf(ctx.key), flow: name, version };
        const journal = journalOn(ctx, options, (request) => worker.perform(run, request));
        return ending(sdk, () => runOnEngine(flow, run, input, journal));
      },
      decide: sdk.handlers.workflow.shared(
        async (ctx: restate.WorkflowSharedContext, decision: RestateDecision): Promise<void> => {
          const id = runIdOf(ctx.key);
          await ctx.run("decide", () =>
            ending(sdk, async () => {
              await decideApproval(options.store, { ...decision, ...id });
            }),
          );
          await ctx.promise<boolean>(promiseOf(decision.name)).resolve(true);
        },
      ),
    },
  });
}

function journalOn(
  ctx: restate.WorkflowContext,
  { runOptions = {} }: RestateOptions,
  perform: (request: Parameters<EngineJournal["perform"]>[1]) => Promise<StepAnswer>,
): EngineJournal {
  return {
    // Its SDK refuses a second plain `await` of a journal entry while one is pending.
    sideBySide: false,
    decide: (step, ask) => ctx.run(step, ask, { ...runOptions }),
    perform: (step, request) => ctx.run(step, () => perform(request), { ...runOptions }),
    sleep: async (step, spanMs) => {
      await ctx.sleep(spanMs, step);
    },
    awaitNews: async (step, spanMs) => {
      const news = ctx.promise<boolean>(promiseOf(step)).get();
      return news.orTimeout(spanMs).map((_, failure) => failure === undefined);
    },
  };
}

function promiseOf(step: string): string {
  return `approval:${step}`;
}

/** What is ours stands, so the engine must not try it again. */
async function ending<T>(sdk: RestateSdk, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isNeverTwiceError(error)) throw error;
    throw terminal(sdk, error);
  }
}

function terminal(sdk: RestateSdk, { code, message, entry }: NeverTwiceError): Error {
  const metadata = { code };
  return new sdk.TerminalError(message, { errorCode: entry.httpStatus, metadata });
}
