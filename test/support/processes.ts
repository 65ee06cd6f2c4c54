/** Workers that are operating-system processes: started, told what to do, and killed by a test. */
import childProcess, { type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, onTestFinished } from "vitest";
import { bundleWorker } from "./bundle.ts";
import type { Commands, Report } from "./worker-commands.ts";

type Handler = (params: never) => unknown;
type Params<Run extends Handler> = Parameters<Run> extends [] ? [] : [Parameters<Run>[0]];

/** A process that obeys the commands of its script. */
export interface Worker<Known extends Commands> {
  readonly processId: number;
  /** Has it do something; rejects with a {@link WorkerError} when that fails or the process dies. */
  call<Name extends keyof Known & string>(
    command: Name,
    ...params: Params<Known[Name]>
  ): Promise<Awaited<ReturnType<Known[Name]>>>;
  /** Resolves when the worker has reported the event, for the `count`-th time in this test. */
  reported(event: string, count?: number): Promise<void>;
  /** SIGKILL: no `finally` runs. Resolves when it is gone. */
  kill(): Promise<void>;
}

/** An error in a worker; `code` is that of the error over there. */
export class WorkerError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** Workers that have nothing to do: starting a process costs more than most tests. */
const idle = new Map<string, ForkedWorker<Commands>[]>();

/**
 * A worker with a script of this folder, for the rest of the test. Its first command must set up all
 * that it needs, for it may have served another test of the file before.
 */
export async function startWorker<Known extends Commands>(script: string): Promise<Worker<Known>> {
  const worker = idle.get(script)?.pop() ?? (await fork(script));
  worker.forgetReports();
  let isOver = false;
  onTestFinished(async () => {
    isOver = true;
    if (!worker.isIdle) return worker.kill();
    idle.set(script, [...(idle.get(script) ?? []), worker]);
  });
  await worker.ready;
  return lend(worker as unknown as Worker<Known>, () => isOver);
}

/** A play that goes on after its test must not meddle with the next one, which has the worker by now. */
function lend<Known extends Commands>(worker: Worker<Known>, isOver: () => boolean): Worker<Known> {
  const whileOn = <T>(use: () => Promise<T>): Promise<T> => {
    if (!isOver()) return use();
    const refused = Promise.reject<T>(new WorkerError("GONE", "the worker's test is over"));
    // Nobody may be left to hear it.
    refused.catch(() => {});
    return refused;
  };
  return {
    processId: worker.processId,
    call: (command, ...params) => whileOn(() => worker.call(command, ...params)),
    reported: (event, count) => whileOn(() => worker.reported(event, count)),
    kill: () => whileOn(() => worker.kill()),
  };
}

afterAll(async () => {
  await Promise.all([...idle.values()].flat().map((worker) => worker.kill()));
  idle.clear();
});

/** Several at once: they start side by side. */
export function startWorkers<Known extends Commands>(
  script: string,
  count: number,
): Promise<Worker<Known>[]> {
  return Promise.all(Array.from({ length: count }, () => startWorker<Known>(script)));
}

/** Resolves when so many of them have ended, well or badly. */
export function whenSettled(running: readonly Promise<unknown>[], count: number): Promise<void> {
  let ended = 0;
  return new Promise((resolve) => {
    const note = (): void => {
      ended += 1;
      if (ended === count) resolve();
    };
    for (const one of running) one.then(note, note);
  });
}

async function fork(script: string): Promise<ForkedWorker<Commands>> {
  const file = await bundleWorker(join("support", script));
  return new ForkedWorker(childProcess.fork(file, [], { execArgv: [], serialization: "advanced" }));
}

interface Waiting {
  readonly resolve: (result: never) => void;
  readonly reject: (error: Error) => void;
}

class ForkedWorker<Known extends Commands> implements Worker<Known> {
  readonly ready: Promise<void>;
  readonly #child: ChildProcess;
  readonly #gone: Promise<unknown>;
  readonly #calls = new Map<number, Waiting>();
  readonly #events = new Map<string, number>();
  #watchers: { event: string; count: number; resolve: () => void }[] = [];
  #lastId = 0;

  constructor(child: ChildProcess) {
    this.#child = child;
    this.#gone = once(child, "exit");
    this.ready = new Promise((resolve, reject) => {
      child.on("message", (message: Report) => {
        if (message.type === "ready") resolve();
        else this.#take(message);
      });
      child.once("exit", (code, signal) => {
        const error = new WorkerError("GONE", `the worker ended (${signal ?? code})`);
        reject(error);
        this.ready.catch(() => {});
        for (const { reject: refuse } of this.#calls.values()) refuse(error);
        this.#calls.clear();
      });
    });
  }

  get processId(): number {
    return this.#child.pid ?? 0;
  }

  /** It lives, and owes no answer. */
  get isIdle(): boolean {
    return this.#isAlive && this.#calls.size === 0;
  }

  /** What it reported in an earlier test would let this one go on too soon. */
  forgetReports(): void {
    this.#events.clear();
    this.#watchers = [];
  }

  get #isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  call<Name extends keyof Known & string>(
    command: Name,
    ...params: Params<Known[Name]>
  ): Promise<Awaited<ReturnType<Known[Name]>>> {
    const id = (this.#lastId += 1);
    const answer = new Promise<Awaited<ReturnType<Known[Name]>>>((resolve, reject) => {
      this.#calls.set(id, { resolve, reject });
      // A worker that is dying reads nothing any more; unheard, that would be an uncaught error.
      this.#child.send({ id, command, params: params[0] }, (error) => {
        if (error === null || !this.#calls.delete(id)) return;
        reject(new WorkerError("GONE", `the worker was not reached: ${error.message}`));
      });
    });
    // A worker that is killed in mid-call is often meant to be; whoever awaits the call still hears.
    answer.catch(() => {});
    return answer;
  }

  reported(event: string, count = 1): Promise<void> {
    return new Promise((resolve) => {
      if ((this.#events.get(event) ?? 0) >= count) resolve();
      else this.#watchers.push({ event, count, resolve });
    });
  }

  async kill(): Promise<void> {
    if (this.#isAlive) this.#child.kill("SIGKILL");
    await this.#gone;
  }

  #take(message: Exclude<Report, { type: "ready" }>): void {
    if (message.type === "event") return this.#note(message.event);
    const waiting = this.#calls.get(message.id);
    this.#calls.delete(message.id);
    if (message.type === "result") waiting?.resolve(message.result as never);
    else waiting?.reject(new WorkerError(message.code, message.message));
  }

  #note(event: string): void {
    const count = (this.#events.get(event) ?? 0) + 1;
    this.#events.set(event, count);
    this.#watchers = this.#watchers.filter((watcher) => {
      const due = watcher.event === event && count >= watcher.count;
      if (due) watcher.resolve();
      return !due;
    });
  }
}
