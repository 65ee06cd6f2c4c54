/**
 * Times and spans as people read and write them.
 *
 * @module
 */
import { days, hours, minutes, seconds } from "../base/duration.ts";
import { CliError } from "./exit-codes.ts";

/** ISO 8601 in UTC, or null. What is no time stays visible as it is. */
export function isoTime(atMs: number | null): string | null {
  if (atMs === null) return null;
  const time = new Date(atMs);
  return Number.isNaN(time.getTime()) ? `not a time: ${atMs}` : time.toISOString();
}

/** `2026-06-01 12:00:03Z`. */
export function longTime(atMs: number): string {
  return (isoTime(atMs) ?? "").replace("T", " ").replace(/\.\d+Z$/, "Z");
}

/** `06-01 12:00:03.120`: for a timeline whose year is told elsewhere. */
export function shortTime(atMs: number): string {
  return (isoTime(atMs) ?? "").slice(5, -1).replace("T", " ");
}

const units = [
  [days(1), "d"],
  [hours(1), "h"],
  [minutes(1), "min"],
  [seconds(1), "s"],
] as const;

/** A span in its largest unit, rounded down: `3 d`, `12 min`, `0 s`. */
export function roughSpan(spanMs: number): string {
  const [unitMs, unit] = units.find(([each]) => spanMs >= each) ?? [seconds(1), "s"];
  return `${Math.max(0, Math.floor(spanMs / unitMs))} ${unit}`;
}

/** A span with tenths of seconds: `1.6 s`. */
export function exactSeconds(spanMs: number): string {
  return `${(spanMs / 1000).toFixed(1)} s`;
}

/**
 * Reads a time in ISO 8601; without a zone it is UTC, like every time that is printed.
 *
 * @throws {CliError} for anything else.
 */
export function parseTime(text: string): number {
  const iso = text.trim().replace(" ", "T");
  const zoned = /(Z|[+-]\d\d:?\d\d)$/i.test(iso) ? iso : `${iso}Z`;
  const atMs = /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(iso) ? Date.parse(zoned) : Number.NaN;
  if (!Number.isNaN(atMs)) return atMs;
  throw new CliError("USAGE", `"${text}" is no time: write 2026-06-01T12:00:03Z.`);
}

/**
 * Reads `90s`, `15m`, `2h` or `7d`.
 *
 * @throws {CliError} for anything else.
 */
export function parseSpan(text: string): number {
  const [, digits, unit] = /^(\d+)\s*(s|m|min|h|d)$/.exec(text.trim()) ?? [];
  const unitMs = { s: seconds(1), m: minutes(1), min: minutes(1), h: hours(1), d: days(1) };
  if (digits === undefined || unit === undefined) {
    throw new CliError("USAGE", `"${text}" is no span of time: write 90s, 15m, 2h or 7d.`);
  }
  return Number(digits) * unitMs[unit as keyof typeof unitMs];
}
