/**
 * Spans of time in milliseconds, spelled readably.
 *
 * @module
 */
export const seconds = (count: number): number => count * 1000;
export const minutes = (count: number): number => seconds(count * 60);
export const hours = (count: number): number => minutes(count * 60);
export const days = (count: number): number => hours(count * 24);

/** A span as a person reads it: `250 ms`, `30 s`, `24 h`, `45 d`. */
export function formatSpan(spanMs: number): string {
  const units = [
    [days(1), "d"],
    [hours(1), "h"],
    [minutes(1), "min"],
    [seconds(1), "s"],
  ] as const;
  for (const [unitMs, unit] of units) {
    if (spanMs >= unitMs && ((spanMs % unitMs) * 10) % unitMs === 0)
      return `${spanMs / unitMs} ${unit}`;
  }
  return `${spanMs} ms`;
}

/** True for a finite span of at least zero. Zero, negative, NaN and absent limits differ (R11). */
export function isSpan(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}
