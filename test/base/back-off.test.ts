/**
 * Waits that grow and don't keep step, for any span, try and random id.
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import { backOffMs, shareOf, spread, spreadBy } from "../../src/base/back-off.ts";
import { systemRuntime } from "../../src/base/runtime.ts";

const span = fc.integer({ min: 1, max: 2 ** 31 });

it("a wait doubles from the first up to the longest, however many tries there were", () => {
  fc.assert(
    fc.property(span, span, fc.integer({ min: 1, max: 10_000 }), (firstMs, more, tries) => {
      const bounds = { firstMs, lastMs: firstMs + more };
      const [now, next] = [backOffMs(bounds, tries), backOffMs(bounds, tries + 1)];
      expect(backOffMs(bounds, 1)).toBe(firstMs);
      expect(now).toBeGreaterThanOrEqual(firstMs);
      expect([2 * now, now, bounds.lastMs]).toContain(next);
      expect(now === next).toBe(now === bounds.lastMs || tries > 30);
    }),
  );
});

it("a span is spread downwards by a quarter at most, and stays above zero", () => {
  const share = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  fc.assert(
    fc.property(span, share, (spanMs, part) => {
      const spreadMs = spreadBy(spanMs, part);
      expect(Number.isInteger(spreadMs)).toBe(true);
      expect(spreadMs).toBeGreaterThanOrEqual(Math.ceil((spanMs * 3) / 4));
      expect(spreadMs).toBeLessThanOrEqual(spanMs);
    }),
  );
  expect(spreadBy(0, 0.5)).toBe(0);
});

it("any id gives a share from 0 to below 1", () => {
  fc.assert(
    fc.property(fc.oneof(fc.uuid(), fc.string()), (id) => {
      const share = shareOf(id);
      expect(share >= 0 && share < 1).toBe(true);
    }),
  );
  expect([shareOf(""), shareOf("ffffff"), shareOf("8")]).toEqual([0, 1 - 16 ** -6, 0.5]);
});

it("many that wait from one moment on come back all over the quarter", () => {
  const waits = Array.from({ length: 400 }, () => spread(systemRuntime, 400));
  const parts = new Set(waits.map((waitMs) => Math.floor((waitMs - 301) / 25)));
  expect(parts).toEqual(new Set([0, 1, 2, 3]));
  expect(new Set(waits).size).toBeGreaterThan(50);
});
