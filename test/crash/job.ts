/** What the test and its workers tell each other. Plain data: it crosses a process boundary. */
import type { PointName } from "../../src/index.ts";
import type { Place as StorePlace } from "../support/worker-place.ts";
import type { Act, Kind, Place } from "./cells.ts";

/** A call or a sweep of one cell. */
export interface Part {
  /** The cell's number on its store: its order, its tool and its intent are of this number. */
  readonly id: number;
  readonly act: Act;
  /** Where the worker stands still; absent: nowhere. */
  readonly standAt?: Place | undefined;
}

/** Parts, played one after the other by one process. */
export interface Job {
  readonly place: StorePlace;
  readonly providerUrl: string;
  readonly kind: Kind;
  readonly passThrough: boolean;
  readonly parts: readonly Part[];
  /**
   * `die`: SIGKILL once the last part stands, in the very turn. `stop`: report it, and go on when told.
   * `live`: nobody stands, and the worker may have another job.
   */
  readonly end: "die" | "stop" | "live";
}

/** How a part ended that ran to its end. */
export interface Ending {
  /** EXECUTED, REPLAYED, an error's code; of a sweep what became of its operations. */
  readonly told: string;
  /** The provider's id in the answer. */
  readonly effectId: string | undefined;
  readonly points: readonly PointName[];
  /** Methods of the store that were called. */
  readonly statements: readonly string[];
  /** How many SQL statements the driver saw. */
  readonly sql: number;
}

/** To a worker: a job, or to go on after a stop that took so long. */
export type Order =
  | { readonly type: "job"; readonly job: Job }
  | { readonly type: "go-on"; readonly stoppedMs: number };

/** From a worker. */
export type News =
  | { readonly type: "ready" }
  | { readonly type: "stands"; readonly index: number }
  | { readonly type: "ended"; readonly index: number; readonly ending: Ending }
  | { readonly type: "all-stand" }
  | { readonly type: "finished" }
  | { readonly type: "broken"; readonly message: string };
