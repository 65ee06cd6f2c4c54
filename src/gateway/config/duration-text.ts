/**
 * Spans as a configuration writes them: `250 ms`, `30s`, `24h`, `45d`.
 *
 * @module
 */
import { days, hours, minutes, seconds } from "../../base/duration.ts";

/** What the schema accepts. */
export const durationPattern = "^\\d+(\\.\\d+)? ?(ms|s|min|h|d)$";

const unitsMs = {
  ms: 1,
  s: seconds(1),
  min: minutes(1),
  h: hours(1),
  d: days(1),
} as const;

/** Milliseconds of a text that fits {@link durationPattern}. */
export function durationMs(text: string): number {
  const [, count = "0", unit = "ms"] = /^([\d.]+) ?(ms|s|min|h|d)$/.exec(text) ?? [];
  return Number(count) * unitsMs[unit as keyof typeof unitsMs];
}
