/**
 * What stage and worker tell each other: one job down, events up, each a line of JSON.
 *
 * @module
 */
import type { PointName } from "../../guard/environment.ts";
import type { Decision } from "./story.ts";

/** How a worker calls the tool. */
export type Mode = "bare" | "guarded";

/** What a worker has to do. */
export interface Job {
  readonly mode: Mode;
  readonly providerUrl: string;
  /** Null in the bare act. */
  readonly store: { readonly location: string; readonly schema: string | null } | null;
  /** The decision to carry out; null lets the agent read the complaint, for the `reading`th time. */
  readonly decision: Decision | null;
  readonly reading: 1 | 2;
  /** The point of the guarded call at which the worker stops and waits to be killed. */
  readonly holdAt: PointName | null;
  /** How long to wait for another worker's outcome. */
  readonly waitMs: number;
}

/** What a worker says. */
export type WorkerEvent =
  | { readonly event: "decided"; readonly decision: Decision }
  | { readonly event: "calling"; readonly idempotencyKey: string | null }
  | { readonly event: "point"; readonly name: PointName }
  | { readonly event: "told"; readonly answer: Answer };

/** What the worker was told by the tool. */
export type Answer =
  | {
      readonly kind: "refund";
      readonly effectId: string;
      readonly replayed: boolean;
      readonly key: string | null;
      readonly text: string;
    }
  | {
      readonly kind: "error";
      readonly code: string;
      readonly key: string | null;
      readonly text: string;
    };
