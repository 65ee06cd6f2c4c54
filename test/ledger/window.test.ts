import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  leaseSlackMs,
  maySendNow,
  quietSpanMs,
  resendSpanMs,
  shortestLeaseMs,
  sweepBackOffMs,
} from "../../src/ledger/window.ts";
import { anyBounds } from "./records.ts";

describe("the windows", () => {
  it("the quiet span is send, flight, lag and margin together; an unknown lag adds nothing", () => {
    fc.assert(
      fc.property(anyBounds, (bounds) => {
        const { sendWithinMs, flightMs, lookUpLagMs, marginMs } = bounds;
        const withoutLagMs = sendWithinMs + flightMs + marginMs;
        expect(quietSpanMs(bounds)).toBe(withoutLagMs + (lookUpLagMs ?? 0));
      }),
    );
  });

  it("an unknown retention is no retention: nothing is ever sent again", () => {
    fc.assert(
      fc.property(anyBounds, (bounds) => {
        const { sendWithinMs, flightMs, marginMs } = bounds;
        expect(resendSpanMs({ sendWithinMs, flightMs, marginMs })).toBe(0);
        expect(resendSpanMs({ ...bounds, retentionMs: undefined })).toBe(0);
      }),
    );
  });

  it("a resend that leaves in its span arrives while the key is remembered", () => {
    fc.assert(
      fc.property(anyBounds, fc.integer({ min: 0, max: 30_000 }), (bounds, armedAfterMs) => {
        const { retentionMs, sendWithinMs, flightMs, marginMs } = bounds;
        const spanMs = resendSpanMs(bounds);
        expect(spanMs).toBeGreaterThanOrEqual(0);
        if (retentionMs === undefined || armedAfterMs >= spanMs) return;
        expect(armedAfterMs + sendWithinMs + flightMs + marginMs).toBeLessThan(retentionMs);
      }),
    );
  });

  it("a longer retention never shortens the span, and a longer flight never prolongs it", () => {
    fc.assert(
      fc.property(anyBounds, fc.integer({ min: 0, max: 1000 }), (bounds, moreMs) => {
        const known = { ...bounds, retentionMs: bounds.retentionMs ?? 0 };
        const longer = { ...known, retentionMs: known.retentionMs + moreMs };
        const slower = { ...known, flightMs: known.flightMs + moreMs };
        expect(resendSpanMs(longer)).toBeGreaterThanOrEqual(resendSpanMs(known));
        expect(resendSpanMs(slower)).toBeLessThanOrEqual(resendSpanMs(known));
        expect(quietSpanMs(slower)).toBe(quietSpanMs(known) + moreMs);
      }),
    );
  });

  it("a send is in time up to its deadline, and not a millisecond later", () => {
    const bounds = { sendWithinMs: 2000, flightMs: 1, marginMs: 1 };
    expect([2999, 3000, 3001].map((nowMs) => maySendNow(1000, nowMs, bounds))).toEqual([
      true,
      true,
      false,
    ]);
  });

  it("the shortest lease covers the call and the slack", () => {
    expect(shortestLeaseMs(0)).toBe(leaseSlackMs);
    expect(shortestLeaseMs(30_000)).toBe(30_000 + leaseSlackMs);
  });

  it("the sweeper's patience doubles from one second to five minutes", () => {
    const spans = Array.from({ length: 12 }, (_, sweeps) => sweepBackOffMs(sweeps));
    expect(spans.slice(0, 4)).toEqual([1000, 2000, 4000, 8000]);
    expect(spans.at(-1)).toBe(300_000);
    expect(sweepBackOffMs(10_000)).toBe(300_000);
  });
});
