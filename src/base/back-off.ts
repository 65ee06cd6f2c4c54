/**
 * How long to wait between looks and tries: longer each time, and never in step with others.
 *
 * @module
 */
import type { Runtime } from "./runtime.ts";

/** The first wait and the longest, in milliseconds. */
export interface BackOff {
  readonly firstMs: number;
  readonly lastMs: number;
}

/** The full wait after so many tries, counted from 1: doubled each time, up to the longest. Pure. */
export function backOffMs({ firstMs, lastMs }: BackOff, tries: number): number {
  return Math.min(firstMs * 2 ** Math.min(tries - 1, 30), lastMs);
}

/** A number from 0 to below 1, from the hex digits of a random id. Pure. */
export function shareOf(randomId: string): number {
  const digits = randomId.replaceAll(/[^0-9a-f]/g, "").slice(0, 6);
  return digits === "" ? 0 : Number.parseInt(digits, 16) / 16 ** digits.length;
}

/** Up to a quarter less by the share, in whole milliseconds; what is above zero stays above it. Pure. */
export function spreadBy(spanMs: number, share: number): number {
  return Math.ceil(spanMs * (1 - share / 4));
}

/** The span, spread by chance: those that wait from one moment on don't all come back at another. */
export function spread(runtime: Pick<Runtime, "randomId">, spanMs: number): number {
  return spreadBy(spanMs, shareOf(runtime.randomId()));
}
