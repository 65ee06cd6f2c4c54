/**
 * Lease and retention arithmetic: every bound that a safe decision leans on, and nothing else.
 * Pure; spans in milliseconds.
 *
 * @module
 */

/** The bounds of one tool. An absent `retentionMs` or `lookUpLagMs` is unknown, never zero or for ever. */
export interface Bounds {
  /** W: the longest time from arm to socket write. We enforce it. */
  readonly sendWithinMs: number;
  /** F: the longest flight and processing after the write. */
  readonly flightMs: number;
  /** L: how long an effect may stay invisible to the look-up. */
  readonly lookUpLagMs?: number | undefined;
  /** R: how long the provider remembers a key, from its first arrival. */
  readonly retentionMs?: number | undefined;
  /** Clock steps and slack. */
  readonly marginMs: number;
}

/** The longest step of the lease beyond the call that it has to cover. */
export const leaseSlackMs = 1000;

/**
 * W + F + L + margin: that long after the last arm, whatever was sent has landed and can be seen; a
 * look-up that started earlier proves nothing (R18), and nobody may say "it did not happen" (R30).
 */
export function quietSpanMs(bounds: Bounds): number {
  return bounds.sendWithinMs + bounds.flightMs + (bounds.lookUpLagMs ?? 0) + bounds.marginMs;
}

/**
 * R − F − W − margin: that long after the first arm a resend still reaches the provider while it
 * remembers the key (R19). Zero when retention is unknown or too short: no resend at all.
 */
export function resendSpanMs(bounds: Bounds): number {
  if (bounds.retentionMs === undefined) return 0;
  const { retentionMs, flightMs, sendWithinMs, marginMs } = bounds;
  return Math.max(0, retentionMs - flightMs - sendWithinMs - marginMs);
}

/** True while an armed attempt may still be written to the socket, by the worker's monotonic clock. */
export function maySendNow(
  armedAtMonotonicMs: number,
  nowMonotonicMs: number,
  bounds: Bounds,
): boolean {
  return nowMonotonicMs - armedAtMonotonicMs <= bounds.sendWithinMs;
}

/** The shortest lease that covers one call (R11). */
export function shortestLeaseMs(callTimeoutMs: number): number {
  return callTimeoutMs + leaseSlackMs;
}

/** When the sweeper looks again: 1 s, 2 s, 4 s … up to five minutes. */
export function sweepBackOffMs(sweeps: number): number {
  return Math.min(1000 * 2 ** Math.min(sweeps, 20), 300_000);
}
