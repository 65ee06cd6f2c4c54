/**
 * Results and errors in the form that is stored. A result that can't be stored must not keep an
 * operation from being DONE (R15).
 *
 * @module
 */
import { canonicalJson, sha256Hex } from "../base/canonical-json.ts";
import { errorText, isNeverTwiceError, storableText } from "../base/errors.ts";
import type { ResultKind } from "../ledger/record.ts";
import type { OmittedResult } from "./answers.ts";

/** A result as it goes into the row. */
export interface StoredResult {
  readonly resultKind: ResultKind;
  readonly result: string | null;
}

/** Canonical JSON, so that equal results are equal text; else a note in its place. */
export function storeResult(value: unknown, maxBytes: number): StoredResult {
  if (value === undefined) return { resultKind: "undefined", result: null };
  try {
    const text = canonicalJson(value);
    const bytes = Buffer.byteLength(text);
    if (bytes <= maxBytes) return { resultKind: "json", result: text };
    return omit({ reason: `it has ${bytes} bytes and the limit is ${maxBytes}`, bytes });
  } catch (error) {
    return omit(unstorable(error));
  }
}

function omit(note: OmittedResult): StoredResult {
  return { resultKind: "omitted", result: JSON.stringify(note) };
}

function unstorable(error: unknown): OmittedResult {
  if (!isNeverTwiceError(error, "UNSUPPORTED_ARGUMENT"))
    return { reason: `it can't be read: ${errorText(error)}` };
  const { path, reason } = error.details as { path: string; reason: string };
  return { reason: `it is not plain JSON: ${reason}`, path };
}

/** For the journal: proves the stored outcome without repeating it. */
export function resultDigest(stored: StoredResult): string {
  return sha256Hex(`${stored.resultKind}\n${stored.result ?? ""}`);
}

/** An error as it goes into the row: whatever was thrown, this works. */
export function storeError(error: unknown): string {
  return JSON.stringify({ message: errorText(error), ...identifiers(error) });
}

function identifiers(error: unknown): Record<string, string | number> {
  try {
    const { name, code, status } = Object(error) as Record<string, unknown>;
    return {
      ...(typeof name === "string" ? { name: storableText(name) } : {}),
      ...(typeof code === "string" ? { code: storableText(code) } : {}),
      ...(typeof code === "number" ? { code } : {}),
      ...(typeof status === "number" ? { status } : {}),
    };
  } catch {
    return {};
  }
}
