/**
 * Spans in milliseconds: spelled readably, shown readably, and told from limits that are none (R11).
 */
import { describe, expect, it } from "vitest";
import { days, formatSpan, hours, isSpan, minutes, seconds } from "../../src/base/duration.ts";

describe("spans", () => {
  it("are milliseconds", () => {
    expect([seconds(1), minutes(1), hours(1), days(1)]).toEqual([
      1000, 60_000, 3_600_000, 86_400_000,
    ]);
    expect(days(45)).toBe(3_888_000_000);
    expect(seconds(0.25)).toBe(250);
  });

  it.each([
    [0, "0 ms"],
    [1, "1 ms"],
    [250, "250 ms"],
    [999, "999 ms"],
    [seconds(1), "1 s"],
    [seconds(1.5), "1.5 s"],
    [1234, "1234 ms"],
    [seconds(30), "30 s"],
    [seconds(59), "59 s"],
    [minutes(1), "1 min"],
    [seconds(90), "1.5 min"],
    [seconds(100), "100 s"],
    [minutes(59), "59 min"],
    [hours(1), "1 h"],
    [minutes(61), "61 min"],
    [hours(24), "1 d"],
    [hours(25), "25 h"],
    [hours(36), "1.5 d"],
    [days(45), "45 d"],
    [days(1) + 1, "86400001 ms"],
  ])("of %i milliseconds are shown as %s: exactly, with at most one decimal", (spanMs, text) => {
    expect(formatSpan(spanMs)).toBe(text);
  });
});

describe("a limit", () => {
  it.each([0, 0.5, 1, days(400), Number.MAX_VALUE])("may be %d", (value) => {
    expect(isSpan(value)).toBe(true);
  });

  it.each([-1, -0.001, Number.NaN, Infinity, -Infinity, "1000", null, undefined, 10n, {}, [1]])(
    "can't be %s",
    (value) => {
      expect(isSpan(value)).toBe(false);
    },
  );
});
