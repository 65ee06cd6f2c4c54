/**
 * Which call meets which fault. One seed gives one plan, so that a run can be repeated.
 *
 * @module
 */
import type { FaultName } from "./faults.ts";

/** Asked once for each call of a tool, in the order of their arrival. */
export type FaultPlan = (tool: string) => FaultName;

/** Options of {@link seededPlan}. */
export interface SeededPlanOptions {
  readonly seed: number;
  readonly faults: readonly FaultName[];
  /** The share of calls that meet a fault, 0 to 1. */
  readonly rate: number;
}

/** Strikes a share of all calls, each with one of the faults. */
export function seededPlan({ seed, faults, rate }: SeededPlanOptions): FaultPlan {
  const random = randomFrom(seed);
  const breaking = faults.filter((fault) => fault !== "none");
  return () => {
    const strikes = random() < rate;
    const which = Math.floor(random() * breaking.length);
    return strikes ? (breaking[which] ?? "none") : "none";
  };
}

/** Strikes the first call of a tool, and nothing else. */
export function firstCallPlan(tool: string, fault: FaultName): FaultPlan {
  let next = fault;
  return (called) => {
    if (called !== tool) return "none";
    const now = next;
    next = "none";
    return now;
  };
}

/** In an order that the seed decides. */
export function shuffled<Item>(items: readonly Item[], seed: number): readonly Item[] {
  const random = randomFrom(seed);
  return items
    .map((item) => ({ item, place: random() }))
    .toSorted((one, other) => one.place - other.place)
    .map(({ item }) => item);
}

/** Mulberry32: small, and the same everywhere. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
