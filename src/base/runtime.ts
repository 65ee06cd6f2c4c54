/**
 * The only room that touches the process's clock, timers and randomness. Everything else takes a
 * {@link Runtime}, so that a simulation can own order, time and chance. Wall-clock time is not in
 * here at all: times of day come from the database (R9).
 *
 * @module
 */
import { randomUUID } from "node:crypto";

/** What the guard needs from the machine it runs on. */
export interface Runtime {
  /** Milliseconds since some moment; never steps back. Good for short spans only. */
  monotonicMs(): number;
  /** A new random identifier, unique in the world. */
  randomId(): string;
  /** Calls back once after the span; the returned function cancels. */
  after(spanMs: number, callback: () => void): () => void;
}

/** The real machine. */
export const systemRuntime: Runtime = {
  monotonicMs: () => performance.now(),
  randomId: () => randomUUID(),
  after: (spanMs, callback) => {
    // Longer spans than a timer can hold (24.8 days) would fire at once.
    const timer = setTimeout(callback, Math.min(spanMs, 2 ** 31 - 1));
    return () => clearTimeout(timer);
  },
};

/** Resolves `rung` after the span, unless stopped before. */
export function startTimer(
  runtime: Runtime,
  spanMs: number,
): { rung: Promise<void>; stop(): void } {
  const stops: (() => void)[] = [];
  const rung = new Promise<void>((resolve) => stops.push(runtime.after(spanMs, resolve)));
  return { rung, stop: () => stops.forEach((stop) => stop()) };
}

/** Resolves after the span, or at once when the signal aborts. */
export function pause(runtime: Runtime, spanMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const finish = (): void => {
      cancel();
      signal?.removeEventListener("abort", finish);
      resolve();
    };
    const cancel = runtime.after(spanMs, finish);
    signal?.addEventListener("abort", finish);
  });
}
