/** Two worker processes under load, and their provider in a third one. */
import { onTestFinished } from "vitest";
import { type RemoteProvider, spawnFakeProvider } from "../../src/testing/fake-provider/index.ts";
import { type Worker, startWorkers } from "../support/processes.ts";
import type { ToolName } from "./load-tools.ts";
import type { Acknowledged, LoadCommands, LoadReport } from "./load-worker.ts";

export class Load {
  readonly provider: RemoteProvider;
  /** What start-up told of the store, per worker. */
  readonly warnings: readonly (readonly string[])[];
  readonly #workers: readonly Worker<LoadCommands>[];
  readonly #acknowledged: Acknowledged[][];

  private constructor(
    provider: RemoteProvider,
    workers: readonly Worker<LoadCommands>[],
    warnings: readonly (readonly string[])[],
  ) {
    this.provider = provider;
    this.warnings = warnings;
    this.#workers = workers;
    this.#acknowledged = workers.map(() => []);
  }

  /** Opens both workers on the store at the address; they call nothing yet. */
  static async open(url: string, callers: number): Promise<Load> {
    const provider = await spawnFakeProvider();
    onTestFinished(() => provider.kill());
    const workers = await startWorkers<LoadCommands>("../failover/load-worker.ts", 2);
    const open = workers.map((worker, index) =>
      worker.call("open", {
        url,
        providerUrl: provider.url,
        worker: index === 0 ? 0 : 1,
        callers,
        prefix: "order",
      }),
    );
    return new Load(provider, workers, await Promise.all(open));
  }

  async start(): Promise<void> {
    await this.#all((worker) => worker.call("start"));
  }

  /** Resolves when each worker has had so many more calls acknowledged. */
  async whenAcknowledged(more: number): Promise<void> {
    await this.#all((worker) => worker.call("whenAcknowledged", { more }));
  }

  /** Every call that was acknowledged as DONE until now. */
  async acknowledged(): Promise<readonly Acknowledged[]> {
    await this.#all(async (worker, index) => {
      const known = this.#acknowledged[index] ?? [];
      known.push(...(await worker.call("acknowledged", { skip: known.length })));
    });
    return this.#acknowledged.flat();
  }

  /** No new intent; resolves when every caller that comes back has its answer. */
  finish(): Promise<readonly LoadReport[]> {
    return this.#all((worker) => worker.call("finish"));
  }

  /** One more call of one intent. */
  async once(tool: ToolName, orderId: string): Promise<string> {
    return this.#workers[0]?.call("once", { tool, orderId }) ?? "";
  }

  async stopSweeping(): Promise<void> {
    await this.#all((worker) => worker.call("stopSweeping"));
  }

  #all<T>(work: (worker: Worker<LoadCommands>, index: number) => Promise<T>): Promise<T[]> {
    return Promise.all(this.#workers.map(work));
  }
}
