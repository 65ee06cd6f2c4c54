/**
 * Rows as drivers return them, to records.
 *
 * @module
 */
import type { JournalEvent, JournalLine } from "../../ledger/journal.ts";
import type { OperationRecord, ResultKind } from "../../ledger/record.ts";
import type { Status } from "../../ledger/status.ts";
import type { SqlRow } from "./statement.ts";

/** Values are passed on as they are; `findRecordFault` says whether they are sound. */
export function toRecord(row: SqlRow): OperationRecord {
  return {
    tenant: text(row["tenant"]),
    key: text(row["key"]),
    keyAlgorithm: text(row["key_algorithm"]),
    operation: text(row["operation"]),
    tool: text(row["tool"]),
    intent: text(row["intent"]),
    fingerprint: text(row["fingerprint"]),
    arguments: textOrNull(row["arguments"]),
    status: text(row["status"]) as Status,
    token: count(row["token"]),
    acquisitionId: text(row["acquisition_id"]),
    leaseUntilMs: count(row["lease_until_ms"]),
    generation: count(row["generation"]),
    attempts: count(row["attempts"]),
    attemptsInGeneration: count(row["attempts_in_generation"]),
    firstArmedAtMs: countOrNull(row["first_armed_at_ms"]),
    lastArmedAtMs: countOrNull(row["last_armed_at_ms"]),
    quietUntilMs: count(row["quiet_until_ms"]),
    wireKey: textOrNull(row["wire_key"]),
    resultKind: textOrNull(row["result_kind"]) as ResultKind | null,
    result: textOrNull(row["result"]),
    error: textOrNull(row["error"]),
    providerId: textOrNull(row["provider_id"]),
    reviewReason: textOrNull(row["review_reason"]),
    incident: textOrNull(row["incident"]),
    lookAlike: textOrNull(row["look_alike"]),
    supersedes: textOrNull(row["supersedes"]),
    supersededBy: textOrNull(row["superseded_by"]),
    version: count(row["version"]),
    journalSeq: count(row["journal_seq"]),
    retentionMs: count(row["retention_ms"]),
    createdAtMs: count(row["created_at_ms"]),
    settledAtMs: countOrNull(row["settled_at_ms"]),
    purgedAtMs: countOrNull(row["purged_at_ms"]),
    sweeps: count(row["sweeps"]),
    readAtMs: count(row["read_at_ms"]),
  };
}

export function toJournalLine(row: SqlRow): JournalLine {
  return {
    tenant: text(row["tenant"]),
    key: text(row["key"]),
    seq: count(row["seq"]),
    atMs: count(row["at_ms"]),
    event: text(row["event"]) as JournalEvent,
    status: text(row["status"]) as Status,
    token: count(row["token"]),
    attempts: count(row["attempts"]),
    detail: text(row["detail"]),
    hash: text(row["hash"]),
  };
}

/** A count as a driver returns it; bigint columns come as text from `pg`. NaN for what is no number. */
export function count(value: unknown): number {
  if (typeof value === "string" && value !== "") return Number(value);
  return typeof value === "number" || typeof value === "bigint" ? Number(value) : Number.NaN;
}

export function countOrNull(value: unknown): number | null {
  return value === null || value === undefined ? null : count(value);
}

export function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
