/** The few statistics that the benchmark reports. */

/** A middle value and how far its neighbours lie: the quartiles. */
export interface Spread {
  readonly median: number;
  readonly lowerQuartile: number;
  readonly upperQuartile: number;
}

/** Nearest rank: always a value that was measured. `share` is between 0 and 1. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const rank = Math.max(1, Math.ceil(share * sorted.length));
  const value = sorted[rank - 1];
  if (value === undefined) throw new Error("no values, no percentile");
  return value;
}

/** The arithmetic mean; unlike the percentiles it holds every rare slow call. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The median, halfway between the two middle values of an even count. */
export function median(values: readonly number[]): number {
  const upperHalf = percentile(values, 0.5 + 1 / (2 * values.length));
  return values.length % 2 === 1
    ? percentile(values, 0.5)
    : (percentile(values, 0.5) + upperHalf) / 2;
}

/** Median and quartiles. */
export function spreadOf(values: readonly number[]): Spread {
  return {
    median: median(values),
    lowerQuartile: percentile(values, 0.25),
    upperQuartile: percentile(values, 0.75),
  };
}
