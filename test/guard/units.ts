/**
 * A guard's surroundings in which nothing is real: time stands still until it is moved, and each
 * call of the store is answered by the test.
 */
import { z } from "zod";
import { type Contract, type Store, type Tool, defineTool } from "../../src/index.ts";
import type { Runtime } from "../../src/base/runtime.ts";
import type { Armed } from "../../src/guard/arm.ts";
import type { GuardEnvironment, Warning } from "../../src/guard/environment.ts";
import type { Turn } from "../../src/guard/turn.ts";
import { restoreArguments } from "../../src/intent/business-arguments.ts";
import type { OperationRecord } from "../../src/ledger/record.ts";
import { recordWith } from "../ledger/records.ts";

/** Time moves when it is told to; what falls due on the way is called. */
interface StoppedRuntime extends Runtime {
  advance(spanMs: number): void;
  /** Spans of the timers that run. */
  waiting(): readonly number[];
}

function stoppedRuntime(): StoppedRuntime {
  let nowMs = 0;
  let ids = 0;
  const timers = new Map<number, { dueMs: number; spanMs: number; callback: () => void }>();
  return {
    monotonicMs: () => nowMs,
    randomId: () => `id-${(ids += 1)}`,
    after: (spanMs, callback) => {
      const id = (ids += 1);
      timers.set(id, { dueMs: nowMs + spanMs, spanMs, callback });
      return () => void timers.delete(id);
    },
    advance: (spanMs) => {
      nowMs += spanMs;
      for (const [id, timer] of timers) {
        if (timer.dueMs > nowMs) continue;
        timers.delete(id);
        timer.callback();
      }
    },
    waiting: () => [...timers.values()].map((timer) => timer.spanMs),
  };
}

export interface UnitEnvironment extends GuardEnvironment {
  readonly runtime: StoppedRuntime;
  readonly warnings: Warning[];
}

export function environmentWith(store: Partial<Store>): UnitEnvironment {
  const warnings: Warning[] = [];
  return {
    store: store as Store,
    runtime: stoppedRuntime(),
    keySecret: undefined,
    retentionMs: 1_000_000,
    warnings,
    warn: (warning) => void warnings.push(warning),
    reach: () => {},
  };
}

export interface ToolChange {
  readonly contract?: Partial<Contract<unknown, unknown>>;
  readonly execute?: Tool["execute"];
}

export function toolWith({ contract = {}, execute = () => "done" }: ToolChange = {}): Tool {
  const declaration = {
    name: "issue_refund",
    kind: "non-idempotent",
    arguments: z.object({ orderId: z.string() }),
    intent: () => "refund:order-8812",
    businessArguments: ["orderId"],
    contract: { timeoutMs: 1000, flightMs: 1000, ...contract },
    execute,
  };
  return defineTool(declaration as never);
}

export function turnWith(record: Partial<OperationRecord> = {}, change: ToolChange = {}): Turn {
  const tool = toolWith(change);
  if (tool.guarded === null) throw new Error("the tool is guarded");
  return {
    tool,
    parts: tool.guarded,
    record: recordWith(record),
    leaseEndsAtMonotonicMs: 6000,
    arguments: restoreArguments('{"orderId":"8812"}'),
    signal: undefined,
    warnings: [],
  };
}

export function armedWith(turn: Turn): Armed {
  return { turn, askedAtMonotonicMs: 0 };
}
