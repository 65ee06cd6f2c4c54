/**
 * What a flow's body asks of the process that has store, guard and tools: plain JSON, so that an
 * engine can carry it there and record the answer.
 *
 * @module
 */
import type { ErrorCode } from "../../../base/errors.ts";
import type { ActOptions, Approval } from "../../../flow/flow.ts";
import type { RunId } from "../../../ledger/runs.ts";

/** Which run of which flow. */
export interface EngineRun extends RunId {
  readonly flow: string;
  readonly version: number;
}

/** A call of a tool through the guard. */
export interface ActCall {
  readonly step: string;
  readonly tool: string;
  readonly args: unknown;
  readonly options: ActOptions;
}

/** One thing to do. Whatever it is, doing it again has no second effect. */
export type StepRequest =
  | (ActCall & {
      readonly kind: "act";
      /** What was approved in this run so far. */
      readonly approved: readonly Approval[];
    })
  | {
      readonly kind: "approve";
      readonly step: string;
      readonly tool: string | null;
      /** The step that is to call the tool, where it was named. */
      readonly forStep?: string | undefined;
      readonly payload: unknown;
      readonly options: ActOptions;
      readonly waitMs: number;
    }
  | {
      readonly kind: "emit";
      readonly step: string;
      readonly type: string;
      readonly data: unknown;
      readonly subject: string | null;
    }
  | {
      readonly kind: "compensate";
      readonly step: string;
      /** Of the effect to undo; null when the engine gave the act up before its answer. */
      readonly key: string | null;
      readonly act: ActCall;
    }
  | { readonly kind: "end"; readonly step: string; readonly error: string | null };

/** What came of it. The engine records it under the step's id. */
export type StepAnswer =
  /** `value` is a stored value or a stored error, as text. `key` is that of the operation. */
  | { readonly kind: "ended"; readonly value: string; readonly key: string | null }
  /** Not known yet; the same request is safe, after a while. */
  | { readonly kind: "doubt"; readonly code: ErrorCode; readonly retryAfterMs: number }
  /** Nobody has decided; until then there are `leftMs`. */
  | { readonly kind: "open"; readonly leftMs: number };
