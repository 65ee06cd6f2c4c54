/**
 * How a run goes to sleep: a step that has to wait returns a promise that never settles, so that no
 * `catch` of the flow's code can take the wait for an error. When every step that is under way
 * waits, the pass is over.
 *
 * @module
 */
import { type Runtime, startTimer } from "../base/runtime.ts";

/** Why and until when a step waits. */
export interface Wait {
  readonly waitsFor: string;
  /** The database's time; null: until it is woken. */
  readonly wakeAtMs: number | null;
}

/** Collects the waits of one pass over a run. */
export class Suspension {
  /** Resolves when the pass can't get on. */
  readonly reached: Promise<Wait>;
  readonly #runtime: Runtime;
  #reach: (wait: Wait) => void = () => {};
  readonly #waits: Wait[] = [];
  #working = 0;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
    this.reached = new Promise((resolve) => {
      this.#reach = resolve;
    });
  }

  /** A step is under way. */
  begin(): void {
    this.#working += 1;
  }

  /** A step is over. */
  end(): void {
    this.#working -= 1;
    void this.#check();
  }

  /** A step has to wait; this never settles. */
  wait(wait: Wait): Promise<never> {
    this.#working -= 1;
    this.#waits.push(wait);
    void this.#check();
    return new Promise(() => {});
  }

  /** After a turn, in which the flow's code may have begun another step. */
  async #check(): Promise<void> {
    await startTimer(this.#runtime, 0).rung;
    if (this.#working === 0 && this.#waits.length > 0) this.#reach(firstOf(this.#waits));
  }
}

function firstOf(waits: readonly Wait[]): Wait {
  const times = waits.flatMap(({ wakeAtMs }) => (wakeAtMs === null ? [] : [wakeAtMs]));
  return {
    waitsFor: waits.map(({ waitsFor }) => waitsFor).join(", "),
    wakeAtMs: times.length === 0 ? null : Math.min(...times),
  };
}
