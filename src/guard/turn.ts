/**
 * A worker's turn at an operation it owns: from here on every write carries its fencing token.
 *
 * @module
 */
import { assert } from "../base/errors.ts";
import { type CapturedArguments, restoreArguments } from "../intent/business-arguments.ts";
import type { OperationRecord } from "../ledger/record.ts";
import type { Fenced } from "../ledger/store.ts";
import type { Point, PointName } from "./environment.ts";
import type { GuardedParts, Tool } from "./tool.ts";

/** An acquisition. */
export interface Turn {
  readonly tool: Tool;
  readonly parts: GuardedParts;
  /** As of our last write. */
  readonly record: OperationRecord;
  /** By the monotonic clock; on the safe side. */
  readonly leaseEndsAtMonotonicMs: number;
  /** As stored: on a resend exactly those of the first request (R17). */
  readonly arguments: CapturedArguments;
  /** The caller's signal; undefined in a sweep. */
  readonly signal: AbortSignal | undefined;
  readonly warnings: readonly string[];
}

/** The business arguments as stored. A row without them is refused before anybody owns it (R23). */
export function storedArguments(record: OperationRecord): CapturedArguments {
  assert(record.arguments !== null, "an operation that is open has its arguments");
  return restoreArguments(record.arguments);
}

/** The right to write for this turn. */
export function fenced(turn: Turn): Fenced {
  const { tenant, key, token } = turn.record;
  return { tenant, key, token };
}

/** A named point of this turn. */
export function pointOf(turn: Turn, name: PointName): Point {
  return { name, tenant: turn.record.tenant, key: turn.record.key };
}
