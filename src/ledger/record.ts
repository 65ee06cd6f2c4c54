/**
 * The stored row of one key.
 *
 * @module
 */
import type { Status } from "./status.ts";

/**
 * How a result is stored: as `json`; as `undefined`, which JSON can't say; or `omitted`, when it
 * couldn't be stored (then `result` tells why).
 */
export type ResultKind = "json" | "undefined" | "omitted";

/** An operation as read from a store. All times are the database's, in milliseconds since 1970. */
export interface OperationRecord {
  readonly tenant: string;
  readonly key: string;
  readonly keyAlgorithm: string;
  /** The business operation's name; tools may share one. */
  readonly operation: string;
  readonly tool: string;
  /** Canonical JSON of the identity that the key hashes. */
  readonly intent: string;
  readonly fingerprint: string;
  /** Canonical JSON of the business arguments; null once purged. */
  readonly arguments: string | null;
  readonly status: Status;
  /** The fencing token of the last acquisition. */
  readonly token: number;
  /** The acquisition that holds the token. */
  readonly acquisitionId: string;
  readonly leaseUntilMs: number;
  /** Raised when absence was proved and a new provider key was taken. */
  readonly generation: number;
  /** Armed sends that may have left, over all generations. */
  readonly attempts: number;
  readonly attemptsInGeneration: number;
  /** First arm of this generation: where the provider's key retention starts. */
  readonly firstArmedAtMs: number | null;
  readonly lastArmedAtMs: number | null;
  /** From then on nothing that was sent can still appear; 0 before the first arm. */
  readonly quietUntilMs: number;
  /** The wire key captured at the last arm. */
  readonly wireKey: string | null;
  readonly resultKind: ResultKind | null;
  readonly result: string | null;
  /** JSON of the last error. */
  readonly error: string | null;
  /** The provider's own id of the effect, where known. */
  readonly providerId: string | null;
  readonly reviewReason: string | null;
  /** Evidence that contradicts the stored outcome (R14). */
  readonly incident: string | null;
  /** What look-alikes share; null for a tool without the rule. */
  readonly lookAlike: string | null;
  readonly supersedes: string | null;
  readonly supersededBy: string | null;
  /** Raised by every change; what a reviewer's decision is bound to. */
  readonly version: number;
  /** Lines in this operation's journal. */
  readonly journalSeq: number;
  readonly retentionMs: number;
  readonly createdAtMs: number;
  readonly settledAtMs: number | null;
  readonly purgedAtMs: number | null;
  readonly sweeps: number;
  /** The database's clock when this row was read. */
  readonly readAtMs: number;
}

/**
 * Says what makes a row unreadable, or undefined when it is sound. A row that can't be read is
 * never taken for "no row" (R23).
 */
export function findRecordFault(record: OperationRecord): string | undefined {
  const counts = [record.token, record.leaseUntilMs, record.attempts, record.attemptsInGeneration];
  if (!counts.every((count) => Number.isSafeInteger(count) && count >= 0)) {
    return "token, lease or attempts is not a whole number";
  }
  if (record.attempts > 0 && record.wireKey === null)
    return "an attempt was armed without a wire key";
  if (record.purgedAtMs !== null) return undefined;
  if (!isJsonObject(record.arguments)) return "the business arguments are not JSON";
  if (record.status === "DONE") return findResultFault(record);
  if (record.status === "FAILED" && !isJsonObject(record.error))
    return "the stored error is not JSON";
  return undefined;
}

function findResultFault(record: OperationRecord): string | undefined {
  switch (record.resultKind) {
    case "undefined":
      return undefined;
    case "json":
      return isJson(record.result) ? undefined : "the stored result is not JSON";
    case "omitted":
      return isJsonObject(record.result)
        ? undefined
        : "the note in place of the result is not JSON";
    case null:
    default:
      return "a completed operation has no result";
  }
}

function isJsonObject(text: string | null): boolean {
  return text !== null && text.startsWith("{") && isJson(text);
}

function isJson(text: string | null): boolean {
  if (text === null) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
