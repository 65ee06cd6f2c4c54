import { isDuration } from "./checks.ts";

/**
 * The provider's clock: real time plus what `advance` added. Waits end when the clock gets there,
 * either because time passed or, in the same turn, because it was advanced.
 */
export class VirtualClock {
  readonly #startedAtMs = performance.now();
  readonly #baseMs: number;
  #advancedMs = 0;
  #waits = new Map<symbol, Wait>();

  /** Starts now, or at `notBeforeMs` if that is later: rows of an earlier life stay in the past. */
  constructor(notBeforeMs = 0) {
    this.#baseMs = Math.max(Date.now(), notBeforeMs);
  }

  /** Milliseconds since 1970, whole, never going back except at a reset. */
  now(): number {
    const elapsedMs = performance.now() - this.#startedAtMs;
    return Math.floor(this.#baseMs + elapsedMs + this.#advancedMs);
  }

  /** Calls `resume` with the time once `ms` have passed. */
  wait(ms: number, resume: (nowMs: number) => void, startMs = this.now()): void {
    const id = Symbol("wait");
    const dueMs = startMs + ms;
    // A timer may fire a hair early, so the time told is never before the time asked for.
    const fire = (): void => this.#end(id, Math.max(this.now(), dueMs));
    const timer = setTimeout(fire, Math.min(dueMs - this.now(), LONGEST_TIMER_MS));
    this.#waits.set(id, { dueMs, resume, timer });
  }

  /** Moves the clock on and ends, in order, every wait that falls due on the way. */
  advance(ms: number): void {
    if (!isDuration(ms)) throw new TypeError("a clock only advances, by a finite time");
    const targetMs = this.now() + ms;
    for (let next = this.#nextDue(); next !== undefined; next = this.#nextDue()) {
      const [id, wait] = next;
      if (wait.dueMs > targetMs) break;
      this.#advancedMs += Math.max(0, wait.dueMs - this.now());
      this.#end(id, wait.dueMs);
    }
    this.#advancedMs += Math.max(0, targetMs - this.now());
  }

  /** Drops every wait, unresumed, and goes back to real time. */
  reset(): void {
    for (const wait of this.#waits.values()) clearTimeout(wait.timer);
    this.#waits = new Map();
    this.#advancedMs = 0;
  }

  #nextDue(): [symbol, Wait] | undefined {
    return [...this.#waits].toSorted(([, one], [, other]) => one.dueMs - other.dueMs)[0];
  }

  #end(id: symbol, nowMs: number): void {
    const wait = this.#waits.get(id);
    if (wait === undefined) return;
    clearTimeout(wait.timer);
    this.#waits.delete(id);
    wait.resume(nowMs);
  }
}

interface Wait {
  readonly dueMs: number;
  readonly resume: (nowMs: number) => void;
  readonly timer: NodeJS.Timeout;
}

// Node turns a longer timer into 1 ms. Nobody waits 24 days of real time; tests advance the clock.
const LONGEST_TIMER_MS = 2 ** 31 - 1;
