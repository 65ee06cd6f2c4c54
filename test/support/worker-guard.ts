/** A worker that runs guarded refunds. Started by `startWorker("worker-guard.ts")`. */
import { existsSync } from "node:fs";
import {
  type Guard,
  type Outcome,
  type PointName,
  type Tool,
  createGuard,
  isNeverTwiceError,
} from "../../src/index.ts";
import { type Runtime, systemRuntime } from "../../src/base/runtime.ts";
import { createProviderClient } from "../../src/testing/fake-provider/index.ts";
import { passThroughGuard } from "./pass-through.ts";
import { obey, report } from "./worker-commands.ts";
import { type Place, openPlace } from "./worker-place.ts";
import { type WorkerContract, workerRefund } from "./worker-tool.ts";

/** Everything a worker needs to begin. */
export interface GuardOrder {
  readonly place: Place;
  readonly providerUrl: string;
  readonly contract: WorkerContract;
  readonly passThrough: boolean;
  readonly poolSize?: number;
  /** Waits at this point until it is told to go on; reports `at <point>`. */
  readonly stopAt?: PointName;
}

/** What a caller was told. */
export interface WorkerTold {
  /** EXECUTED, REPLAYED, or an error's code. */
  readonly told: string;
  readonly value: unknown;
}

let guard: Guard | undefined;
let refund: Tool | undefined;
let abortDueAtMs: number | undefined;
let goOn = (): void => {};
const RealDate = Date;

/** The timer that fires, by the time of day for which it was set: a process that is held up is late. */
const firing = { dueAtMs: 0 };
const punctual: Runtime = {
  ...systemRuntime,
  after: (spanMs, act) => {
    const dueAtMs = performance.timeOrigin + performance.now() + spanMs;
    return systemRuntime.after(spanMs, () => {
      firing.dueAtMs = dueAtMs;
      act();
    });
  },
};

const commands = {
  open: async (order: GuardOrder): Promise<void> => {
    globalThis.Date = RealDate;
    abortDueAtMs = undefined;
    const client = createProviderClient({ url: order.providerUrl });
    refund = workerRefund(client, order.contract, () => {
      abortDueAtMs = firing.dueAtMs;
      report("aborted");
    });
    const create = order.passThrough ? passThroughGuard : createGuard;
    guard = await create({
      store: openPlace(order.place, order.poolSize),
      runtime: punctual,
      onPoint: async ({ name }) => {
        if (name === order.stopAt) await standAt(name);
      },
    });
  },
  run: async ({ orderId, amountMinor = 48_000 }: { orderId: string; amountMinor?: number }) => {
    if (guard === undefined || refund === undefined) throw new Error("no guard is open");
    return toldBy(guard.run(refund, { orderId, amountMinor }, { tenant: "acme" }));
  },
  /** Runs, and ends the process in the turn of the answer. */
  runAndExit: async ({ orderId }: { orderId: string }): Promise<never> => {
    if (guard === undefined || refund === undefined) throw new Error("no guard is open");
    await guard.run(refund, { orderId, amountMinor: 48_000 }, { tenant: "acme" });
    process.exit(0);
  },
  goOn: (): void => goOn(),
  /** For when the timer was set that aborted a call; undefined when none was aborted. */
  abortDueAtMs: (): number | undefined => abortDueAtMs,
  /** Lets the event loop stand still until the file exists. */
  standStill: ({ file }: { file: string }): void => {
    report("standing still");
    while (!existsSync(file)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
  },
  /** Sets this process's wall clock off by so much, for everything written in JavaScript. */
  shiftDate: ({ byMs }: { byMs: number }): string => {
    globalThis.Date = class extends RealDate {
      constructor(...parts: unknown[]) {
        super(...((parts.length === 0 ? [RealDate.now() + byMs] : parts) as [number]));
      }
      static override now(): number {
        return RealDate.now() + byMs;
      }
    } as DateConstructor;
    return new Date().toISOString();
  },
};

/** The commands, for the parent's types. */
export type GuardCommands = typeof commands;

async function standAt(name: PointName): Promise<void> {
  const told = new Promise<void>((resolve) => (goOn = resolve));
  report(`at ${name}`);
  await told;
}

async function toldBy(running: Promise<Outcome<unknown>>): Promise<WorkerTold> {
  try {
    const { replayed, value } = await running;
    return { told: replayed ? "REPLAYED" : "EXECUTED", value };
  } catch (error) {
    return { told: isNeverTwiceError(error) ? error.code : String(error), value: undefined };
  }
}

obey(commands);
