/**
 * What ends a call from outside: its time-out, its caller, or its lease.
 *
 * @module
 */
import { leaseSlackMs } from "../ledger/window.ts";
import type { Armed } from "./arm.ts";
import type { GuardEnvironment } from "./environment.ts";
import { type Turn, fenced } from "./turn.ts";

/** The limits of a running call. */
export interface Limits {
  /** Aborted when a limit is reached. */
  readonly signal: AbortSignal;
  /** Resolves with the reason when a limit is reached; else never. */
  readonly reached: Promise<string>;
  stop(): void;
}

/** Starts the clocks. */
export function startLimits(env: GuardEnvironment, armed: Armed): Limits {
  const { turn } = armed;
  const { timeoutMs, renewLease } = turn.parts.terms;
  const controller = new AbortController();
  const stops: (() => void)[] = [];
  const { signal } = controller;
  const reach = (reason: string): void => controller.abort(new Error(reason));
  const reached = new Promise<string>((resolve) => {
    signal.addEventListener("abort", () => resolve((signal.reason as Error).message));
  });
  stops.push(env.runtime.after(timeoutMs, () => reach(`no answer within ${timeoutMs} ms`)));
  const caller = turn.signal;
  const withdraw = (): void => reach("the caller withdrew after the request was sent");
  caller?.addEventListener("abort", withdraw);
  stops.push(() => caller?.removeEventListener("abort", withdraw));
  if (renewLease) stops.push(keepLease(env, armed, reach));
  return { signal, reached, stop: () => stops.forEach((stop) => stop()) };
}

/**
 * Renews the lease at a third of its length. When that doesn't work out the call is ended before the
 * lease is, so that no other worker can be at it as well (R11).
 */
function keepLease(
  env: GuardEnvironment,
  armed: Armed,
  lose: (reason: string) => void,
): () => void {
  const { turn } = armed;
  const { leaseMs } = turn.parts.terms;
  let stopped = false;
  const cancels = new Map<"renewal" | "end", () => void>();
  const end = (askedAtMs: number): void => {
    cancels.get("end")?.();
    const leftMs = askedAtMs + leaseMs - leaseSlackMs / 2 - env.runtime.monotonicMs();
    cancels.set(
      "end",
      env.runtime.after(Math.max(0, leftMs), () => lose("the lease could not be renewed")),
    );
  };
  const renewLater = (): void => {
    cancels.set(
      "renewal",
      env.runtime.after(leaseMs / 3, () => void renew()),
    );
  };
  const renew = async (): Promise<void> => {
    const askedAtMs = env.runtime.monotonicMs();
    const renewed = await renewOnce(env, turn);
    if (stopped) return;
    if (renewed === "lost") return lose("another worker took the operation over");
    if (renewed === "kept") end(askedAtMs);
    renewLater();
  };
  end(armed.askedAtMonotonicMs);
  renewLater();
  return () => {
    stopped = true;
    for (const cancel of cancels.values()) cancel();
  };
}

async function renewOnce(env: GuardEnvironment, turn: Turn): Promise<"kept" | "lost" | "unsure"> {
  try {
    const record = await env.store.renew({
      ...fenced(turn),
      leaseMs: turn.parts.terms.leaseMs,
      detail: "{}",
    });
    return record === undefined ? "lost" : "kept";
  } catch {
    // Unsure: tried again until the lease is about to end; then the call is.
    return "unsure";
  }
}
