/**
 * A stand-in for Temporal's server, which can't be had here: keeps a workflow's history, replays it,
 * and runs activities in Temporal's own `MockActivityEnvironment`, again when they throw. What it
 * can't show is Temporal's sandbox; for that the workflow code is bundled by Temporal's own bundler.
 */
import { ApplicationFailure } from "@temporalio/common";
import { MockActivityEnvironment } from "@temporalio/testing";
import type { TemporalWorkflowSdk } from "../../../src/edges/engines/temporal-workflow.ts";

type Activity = (...args: never[]) => Promise<unknown>;

const silent = (): void => {};
export const silentLogger = {
  log: silent,
  trace: silent,
  debug: silent,
  info: silent,
  warn: silent,
  error: silent,
};

export interface History {
  /** The module, as one attempt at the workflow sees it: what is in the history is not done again. */
  attempt(): TemporalWorkflowSdk;
  signal(step: string): void;
  readonly events: readonly { readonly name: string }[];
}

export function openHistory(
  workflowId: string,
  activities: Readonly<Record<string, unknown>>,
): History {
  const environment = new MockActivityEnvironment({}, { logger: silentLogger });
  const events: { name: string; result: string | undefined }[] = [];
  const signalled = new Set<string>();
  let notify: (step: string) => void = () => {};
  const recorded = async (at: number, name: string, work: () => Promise<unknown>) => {
    const event = events[at];
    if (event !== undefined && event.name !== name) {
      throw new Error(`history has ${event.name}, the workflow comes to ${name}`);
    }
    // As over the wire: JSON there and back.
    const result = event === undefined ? JSON.stringify(await work()) : event.result;
    if (event === undefined) events[at] = { name, result };
    return result === undefined ? undefined : (JSON.parse(result) as unknown);
  };
  const retried = async (activity: Activity, args: unknown[]): Promise<unknown> => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await environment.run(activity as never, ...(args as never[]));
      } catch (error) {
        if (attempt === 10) throw error;
      }
    }
  };
  const attempt = (): TemporalWorkflowSdk => {
    let next = 0;
    const sdk = {
      ApplicationFailure,
      workflowInfo: () => ({ workflowId }),
      proxyActivities: () =>
        Object.fromEntries(
          Object.entries(activities).map(([name, activity]) => [
            name,
            (...args: unknown[]) => {
              const sent = JSON.parse(JSON.stringify(args)) as unknown[];
              return recorded(next++, name, () => retried(activity as Activity, sent));
            },
          ]),
        ),
      sleep: (spanMs: number) =>
        recorded(next++, "sleep", () => new Promise((resolve) => setTimeout(resolve, spanMs))),
      defineSignal: (name: string) => ({ name }),
      setHandler: (_: unknown, handler: (step: string) => void) => {
        notify = handler;
        for (const step of signalled) handler(step);
      },
      condition: (holds: () => boolean, limitMs: number) =>
        recorded(next++, "condition", async () => {
          for (const until = Date.now() + limitMs; !holds();) {
            if (Date.now() > until) return false;
            await new Promise((resolve) => setTimeout(resolve, 5));
          }
          return true;
        }),
    };
    return sdk as unknown as TemporalWorkflowSdk;
  };
  return {
    attempt,
    events,
    signal: (step) => {
      signalled.add(step);
      notify(step);
    },
  };
}
