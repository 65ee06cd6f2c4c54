/**
 * What every stage of the guard works with.
 *
 * @module
 */
import type { Runtime } from "../base/runtime.ts";
import type { Store } from "../ledger/store.ts";

/** The named points of a call, in their order. A test may crash, stop or wait at each of them. */
export const pointNames = [
  "before-claim",
  "after-claim",
  "after-take-over",
  "before-look-up",
  "after-look-up",
  "before-arm",
  "after-arm",
  "before-write",
  "after-execute",
  "before-settle",
  "after-settle",
] as const;

export type PointName = (typeof pointNames)[number];

/** Where a call is. */
export interface Point {
  readonly name: PointName;
  readonly tenant: string;
  readonly key: string;
}

/** Something an operator should know; it changed nothing. */
export interface Warning {
  readonly tenant: string;
  readonly key: string;
  readonly message: string;
}

/** The guard's surroundings, the same for every call. */
export interface GuardEnvironment {
  readonly store: Store;
  readonly runtime: Runtime;
  readonly keySecret: string | Uint8Array | undefined;
  /** How long a settled operation keeps its outcome. */
  readonly retentionMs: number;
  warn(warning: Warning): void;
  /** Awaited at each point; does nothing unless a test wants it to. */
  reach(point: Point): Promise<void> | void;
}
