/**
 * What one run is about, drawn from its seed: provider, contract, actors, and how likely each kind of
 * event is. Swarm: every run draws its own weights, for uniform chance finds next to nothing.
 */
import type { Contract } from "../../src/index.ts";
import type { ProviderBehaviour } from "../../src/testing/fake-provider/index.ts";
import type { Random } from "./random.ts";

/** Spans of the simulated world, in milliseconds. Small, so that a run crosses all of them. */
export const spans = {
  timeout: 2000,
  lease: 3000,
  sendWithin: 500,
  flight: 4000,
  lag: 1500,
  margin: 1000,
  retention: 12_000,
} as const;

export const eventKinds = [
  "start",
  "apply",
  "acknowledge",
  "refuse",
  "lose-acknowledgement",
  "deliver",
  "drop-request",
  "reply",
  "drop-reply",
  "fire-timer",
  "crash",
  "review",
  "short-tick",
  "long-tick",
  "edge-tick",
  "step-back",
] as const;
export type EventKind = (typeof eventKinds)[number];

export type ProviderKind = "keyed" | "keyed-unsaved" | "keyed-no-declines" | "unkeyed" | "natural";

export interface Plan {
  readonly provider: ProviderKind;
  readonly behaviour: ProviderBehaviour;
  readonly contract: Omit<Contract<unknown, unknown>, "lookUp" | "classify" | "providerId">;
  readonly lookUp: { readonly lagMs: number; readonly authoritative: boolean } | null;
  /** Chance that a look-up breaks. */
  readonly lookUpFails: number;
  /** Chances of what one execution at the provider does instead of succeeding. */
  readonly decline: number;
  readonly serverError: number;
  readonly invocations: number;
  readonly sweeps: number;
  /** An invocation with another amount under the same intent. */
  readonly changedPayload: boolean;
  /** Every other invocation comes from a second tenant, with an intent of the same name. */
  readonly secondTenant: boolean;
  /** Something is awaited between the call of the tool and the write to the socket. */
  readonly connects: boolean;
  readonly reviewer: boolean;
  /** Who goes on when all faults have stopped: callers (L1), or the sweeper alone (L5). */
  readonly recovery: "calls" | "sweeps";
  readonly weights: Readonly<Record<EventKind, number>>;
  readonly steps: number;
}

export function drawPlan(random: Random): Plan {
  const provider = random.pick([
    "keyed",
    "keyed",
    "keyed-unsaved",
    "keyed-no-declines",
    "unkeyed",
    "natural",
  ] as const);
  const lookUp = random.chance(0.65)
    ? { lagMs: random.chance(0.5) ? 0 : spans.lag, authoritative: random.chance(0.7) }
    : null;
  const mode = drawMode(random, provider, lookUp?.authoritative === true);
  return {
    provider,
    behaviour: behaviourOf(provider, lookUp?.lagMs ?? 0),
    contract: { ...contractOf(provider), mode },
    lookUp,
    lookUpFails: random.chance(0.4) ? random.next() * 0.6 : 0,
    decline: random.chance(0.4) ? random.next() * 0.5 : 0,
    serverError: random.chance(0.4) ? random.next() * 0.5 : 0,
    invocations: 2 + random.below(4),
    sweeps: random.below(3),
    changedPayload: random.chance(0.15),
    // A naturally unique effect is unique for both tenants together: that is another intent's conflict.
    secondTenant: provider !== "natural" && random.chance(0.15),
    connects: random.chance(0.5),
    reviewer: random.chance(0.6),
    recovery: random.chance(0.7) ? "calls" : "sweeps",
    weights: drawWeights(random),
    steps: 40 + random.below(160),
  };
}

function drawMode(
  random: Random,
  provider: ProviderKind,
  authoritative: boolean,
): Contract<unknown, unknown>["mode"] & string {
  const modes = [
    "strict" as const,
    ...(provider === "keyed" || provider === "keyed-no-declines"
      ? (["window", "window", "window"] as const)
      : []),
    ...(authoritative ? (["proved-absence", "proved-absence"] as const) : []),
  ];
  return random.pick(modes);
}

function behaviourOf(provider: ProviderKind, lookUpLagMs: number): ProviderBehaviour {
  const keys = provider === "unkeyed" || provider === "natural" ? provider : "keyed";
  const saves =
    provider === "keyed-unsaved"
      ? "success-only"
      : provider === "keyed-no-declines"
        ? "no-declines"
        : "all";
  return { keys, saves, retentionMs: spans.retention, lookUpLagMs, naturalField: "orderId" };
}

function contractOf(provider: ProviderKind): Omit<Contract<unknown, unknown>, "mode"> {
  const base = {
    timeoutMs: spans.timeout,
    leaseMs: spans.lease,
    sendWithinMs: spans.sendWithin,
    flightMs: spans.flight,
    marginMs: spans.margin,
    giveUpAfterMs: 20_000,
  };
  if (provider === "unkeyed" || provider === "natural") return base;
  return {
    ...base,
    key: {
      shape: "uuid",
      retentionMs: spans.retention,
      atomic: true,
      afterError: provider === "keyed-unsaved" ? "not-saved" : "replays",
      replaysDeclines: provider === "keyed",
    },
  };
}

function drawWeights(random: Random): Record<EventKind, number> {
  const draw = (usual: number): number => usual * random.logUniform(0.02, 20);
  return {
    start: draw(1),
    apply: draw(4),
    acknowledge: draw(4),
    refuse: random.chance(0.4) ? draw(0.1) : 0,
    "lose-acknowledgement": random.chance(0.5) ? draw(0.2) : 0,
    deliver: draw(3),
    "drop-request": random.chance(0.4) ? draw(0.3) : 0,
    reply: draw(3),
    "drop-reply": random.chance(0.6) ? draw(0.6) : 0,
    "fire-timer": draw(2),
    crash: random.chance(0.6) ? draw(0.2) : 0,
    review: draw(0.5),
    "short-tick": draw(1),
    "long-tick": draw(0.4),
    "edge-tick": random.chance(0.7) ? draw(0.6) : 0,
    "step-back": random.chance(0.2) ? draw(0.1) : 0,
  };
}
