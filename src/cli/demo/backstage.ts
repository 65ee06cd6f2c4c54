/**
 * What has to be cleared away however the demo ends: processes, files, a schema.
 *
 * @module
 */
import { leaveBy } from "../reader-gone.ts";

const signals = { SIGINT: 2, SIGTERM: 15, SIGHUP: 1 } as const;

/** Clears away in reverse order, once, also when a signal comes. */
export class Backstage {
  readonly #cleanups: (() => Promise<unknown>)[] = [];
  readonly #listeners = new Map<NodeJS.Signals, () => void>();
  #interrupted = false;

  constructor() {
    for (const [signal, number] of Object.entries(signals) as [NodeJS.Signals, number][]) {
      const listener = (): void => this.#leave(128 + number);
      this.#listeners.set(signal, listener);
      process.once(signal, listener);
    }
    leaveBy(() => this.#leave(0));
  }

  /** Remembers how to clear something away; too late, it is cleared away at once. */
  add(cleanup: () => Promise<unknown>): void {
    this.#cleanups.push(cleanup);
    if (!this.#interrupted) return;
    void this.clear();
    throw new Error("the demo was interrupted");
  }

  /** Runs the play. What fails because a signal cleared its world away is no failure. */
  async run<T>(play: () => Promise<T>): Promise<T> {
    try {
      return await play();
    } catch (error) {
      if (this.#interrupted) return await new Promise<never>(() => {});
      throw error;
    } finally {
      if (!this.#interrupted) await this.clear();
    }
  }

  #leave(exitCode: number): void {
    if (this.#interrupted) return;
    this.#interrupted = true;
    void this.clear().finally(() => process.exit(exitCode));
  }

  /** Clears everything away; what can't be cleared doesn't keep the rest. */
  async clear(): Promise<void> {
    for (let cleanup = this.#cleanups.pop(); cleanup; cleanup = this.#cleanups.pop()) {
      await cleanup().catch((error: unknown) => {
        process.stderr.write(`nevertwice: not everything was cleared away: ${String(error)}\n`);
      });
    }
    if (this.#interrupted) return;
    for (const [signal, listener] of this.#listeners) process.off(signal, listener);
  }
}
