/**
 * What a step recorded, as JSON text: a value, undefined, or the error that it ended with.
 *
 * @module
 */
import { type ErrorCode, NeverTwiceError, isNeverTwiceError } from "../base/errors.ts";
import { toPlainJson } from "../base/plain-json.ts";
import type { CallIdentity } from "../guard/create-guard.ts";
import type { Outcome } from "../guard/answers.ts";

type StoredStep =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "undefined" }
  | {
      readonly kind: "error";
      readonly code: ErrorCode;
      readonly message: string;
      readonly key?: string;
      readonly details: Readonly<Record<string, unknown>>;
    };

/** @throws {NeverTwiceError} STEP_INVALID when the value is not plain JSON. */
export function storeValue(step: string, value: unknown): string {
  if (value === undefined) return JSON.stringify({ kind: "undefined" } satisfies StoredStep);
  try {
    return JSON.stringify(toPlainJson({ kind: "value", value }));
  } catch (error) {
    if (!isNeverTwiceError(error, "UNSUPPORTED_ARGUMENT")) throw error;
    const { path, reason } = error.details as { path: string; reason: string };
    const at = path.replace(/^\$\.value/, "$");
    throw new NeverTwiceError(
      "STEP_INVALID",
      `The step "${step}" can't be recorded: only plain JSON can be, but ${at} is ${reason}. Nothing that depends on it was run.`,
      { details: { step, path: at, reason } },
    );
  }
}

/** What a guarded call gave. A result that isn't stored is no replay's either. */
export function storeOutcome(
  step: string,
  { value, omitted }: Pick<Outcome<unknown>, "value" | "omitted">,
): string {
  return storeValue(step, omitted === null ? value : undefined);
}

/** For the outcomes that stand for good. */
export function storeFailure(error: NeverTwiceError): string {
  const { code, message, key, details } = error;
  return JSON.stringify({ kind: "error", code, message, key, details } satisfies {
    [Part in keyof Extract<StoredStep, { kind: "error" }>]: unknown;
  });
}

/** The value, deeply frozen; a recorded error is thrown again. */
export function readValue(text: string): unknown {
  const stored = JSON.parse(text) as StoredStep;
  if (stored.kind === "undefined") return undefined;
  if (stored.kind === "value") return toPlainJson(stored.value);
  const { code, message, key, details } = stored;
  throw new NeverTwiceError(code, message, { key, details });
}

/** True when the step ended with a value. */
export function hasValue(text: string | null): boolean {
  return text !== null && (JSON.parse(text) as StoredStep).kind !== "error";
}

/** The undo that a `compensate` step is at. */
export interface UndoUnderWay {
  /** The act whose effect it undoes. */
  readonly undoes: string;
  /** Of the undo's own operation. */
  readonly key: string;
  readonly fingerprint: string;
}

/** What a `compensate` step that has no answer yet keeps. */
export function storeUndo(
  step: string,
  undoes: string,
  { key, fingerprint }: CallIdentity,
): string {
  return storeValue(step, { undoes, key, fingerprint } satisfies UndoUnderWay);
}

/** The undo that a `compensate` step stopped at; undefined when it had come to none. */
export function readUndo(text: string | null): UndoUnderWay | undefined {
  return text === null ? undefined : (readValue(text) as UndoUnderWay);
}
