/**
 * What the runner of flows works with.
 *
 * @module
 */
import type { Runtime } from "../base/runtime.ts";
import type { Guard } from "../guard/create-guard.ts";
import type { Tool } from "../guard/tool.ts";
import type { RunRecord } from "../ledger/runs.ts";
import type { EffectStore } from "../ledger/transaction.ts";

/** The named points of a run. A test may crash, stop or wait at each of them. */
export const flowPointNames = [
  "run-claimed",
  "before-step",
  "step-started",
  "step-asked",
  "step-acted",
  "step-recorded",
  "before-suspend",
  "before-run-settle",
  "run-settled",
] as const;

export type FlowPointName = (typeof flowPointNames)[number];

/** Where a run is. */
export interface FlowPoint {
  readonly name: FlowPointName;
  readonly tenant: string;
  readonly runId: string;
  /** The step's name, at the points of a step. */
  readonly step: string | undefined;
}

/** The runner's surroundings, the same for every run. */
export interface FlowEnvironment {
  readonly store: EffectStore;
  readonly guard: Guard;
  readonly runtime: Runtime;
  readonly leaseMs: number;
  readonly maxAttempts: number;
  /** Where outgoing events say they come from. */
  readonly source: string;
  /** Tools that runs have called in this process: how to undo their effects. */
  readonly tools: Map<string, Tool>;
  warn(message: string): void;
  reach(point: FlowPoint): Promise<void> | void;
}

/** One pass over a claimed run. */
export interface Pass {
  readonly run: RunRecord;
  /** Aborts when the lease can't be renewed. */
  readonly signal: AbortSignal;
}
