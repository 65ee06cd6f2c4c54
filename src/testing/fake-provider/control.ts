import type { ProviderBehaviour } from "./behaviour.ts";
import type { FaultStep } from "./faults.ts";
import type { Arrival, LedgerRow, LookUpArrival, ProviderCounters } from "./records.ts";

/** What a test may ask of a fake provider and do to it, apart from being its client. */
export interface ProviderControl {
  /** The judge: every effect so far, oldest first, without any lag. */
  ledger(): readonly LedgerRow[];
  /** How many effects there are, of one operation or of all. */
  count(operation?: string): number;
  /** Every create request that arrived, in order, whatever became of it. */
  arrivals(): readonly Arrival[];
  /** Every look-up that arrived; `sequence` orders them among the arrivals. */
  lookUps(): readonly LookUpArrival[];
  /** How often things happened since the start or the last reset. */
  counters(): ProviderCounters;
  /** Changes some options of the behaviour and leaves the others. */
  behave(change: ProviderBehaviour): void;
  /** Appends fault steps; each create request takes one from the queue. */
  fault(...steps: FaultStep[]): void;
  /** Sets what happens to a request when the queue is empty; `null` for nothing. */
  faultAlways(step: FaultStep | null): void;
  /** Moves the provider's clock on; effects that fall due on the way have landed on return. */
  advance(ms: number): void;
  /** Lets everybody at the gate go on; fails if nobody is parked there. */
  release(gate: string): void;
  /** Resolves once `count` (default 1) requests wait at the gate; fails after 30 s. */
  parked(gate: string, count?: number): Promise<void>;
  /** Forgets everything and cuts the requests under way: none of them will land. */
  reset(): void;
}

/** The same over HTTP: every method answers a promise. */
export type RemoteControl = {
  readonly [Name in keyof ProviderControl]: (
    ...parameters: Parameters<ProviderControl[Name]>
  ) => Promise<Awaited<ReturnType<ProviderControl[Name]>>>;
};

/** How long `parked` waits for a request, in real time. */
export const PARKED_LIMIT_MS = 30_000;
