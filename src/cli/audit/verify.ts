/**
 * Verifies one operation against its journal: pure, the same for a database and for an export.
 *
 * What this proves: nobody changed a row or a line and left the rest as it was. The chain holds no
 * secret, so who can rewrite a whole journal can also compute it anew; keep exports out of reach of
 * the database's administrators.
 *
 * @module
 */
import { canonicalJson, sha256Hex } from "../../base/canonical-json.ts";
import type { JsonObject } from "../../base/plain-json.ts";
import { resultDigest } from "../../guard/serialise.ts";
import { fingerprintAlgorithm, fingerprintOf } from "../../intent/fingerprint.ts";
import { findChainFault } from "../../ledger/journal.ts";
import { type AuditEntry, type EntryLine, type EntryRecord, journalOf } from "./entry.ts";

/** Every check, in the order in which they are made. */
export const checkNames = [
  "row",
  "chain",
  "line count",
  "last line",
  "key",
  "fingerprint",
  "arguments",
  "wire key",
  "outcome",
] as const;

export type CheckName = (typeof checkNames)[number];

/** What one check found. */
export type CheckResult =
  | { readonly check: CheckName; readonly found: "fine" }
  | { readonly check: CheckName; readonly found: "not checkable"; readonly reason: string }
  | {
      readonly check: CheckName;
      readonly found: "fault";
      /** The journal line it is about, where it is about one. */
      readonly seq: number | null;
      readonly reason: string;
    };

/** Makes every check on one operation. */
export function verifyEntry(entry: AuditEntry): CheckResult[] {
  const { record, journal } = entry;
  const chain = findChainFault(journalOf(entry));
  const chained: CheckResult =
    chain === undefined ? fine("chain") : fault("chain", chain.reason, chain.seq);
  if (record === null) return [fault("row", "the row is gone; its key would run again"), chained];
  return [
    fine("row"),
    chained,
    checkLineCount(record, journal),
    checkLastLine(record, journal),
    checkKey(entry, record),
    checkFingerprint(record, journal),
    checkArguments(record),
    checkWireKey(record, journal),
    checkOutcome(record, journal),
  ];
}

function checkLineCount(record: EntryRecord, journal: readonly EntryLine[]): CheckResult {
  const { journalSeq } = record;
  if (journal.length === journalSeq) return fine("line count");
  return fault("line count", `the row counts ${journalSeq} lines, and there are ${journal.length}`);
}

function checkLastLine(record: EntryRecord, journal: readonly EntryLine[]): CheckResult {
  const last = journal.at(-1);
  if (last === undefined) return fault("last line", "there is no line");
  const differing = (["status", "token", "attempts"] as const).filter(
    (name) => record[name] !== last[name],
  );
  if (differing.length === 0) return fine("last line");
  const told = differing.map((name) => `${name} ${record[name]} where it says ${last[name]}`);
  return fault("last line", `the row has ${told.join(", ")}`, last.seq);
}

function checkKey(entry: AuditEntry, record: EntryRecord): CheckResult {
  if (record.keyAlgorithm !== "jcs-sha256/1") {
    return notCheckable("key", `made with ${record.keyAlgorithm}, which takes a secret`);
  }
  const identity = readObject(record.intent);
  if (identity === undefined) return fault("key", "the stored intent is not JSON");
  if (sha256Hex(record.intent) !== entry.key) return fault("key", "it is not the intent's hash");
  if (identity["tenant"] !== entry.tenant) return fault("key", "the intent names another tenant");
  return identity["operation"] === record.operation
    ? fine("key")
    : fault("key", "the intent names another operation");
}

/** The claim's line names the fingerprint, and that line is chained. */
function checkFingerprint(record: EntryRecord, journal: readonly EntryLine[]): CheckResult {
  const claimed = readObject(journal[0]?.detail)?.["fingerprint"];
  if (typeof claimed !== "string") {
    return fault("fingerprint", "the claim's line names none", 1);
  }
  return claimed === record.fingerprint
    ? fine("fingerprint")
    : fault("fingerprint", "the row has another than the claim's line", 1);
}

function checkArguments(record: EntryRecord): CheckResult {
  if (record.arguments === null) {
    return record.purgedAtMs === null
      ? fault("arguments", "they are gone, and the row is not purged")
      : notCheckable("arguments", "purged");
  }
  if (!record.fingerprint.startsWith(`${fingerprintAlgorithm}:`)) {
    return notCheckable("arguments", "the fingerprint's algorithm is not known");
  }
  const value = readObject(record.arguments);
  if (value === undefined) return fault("arguments", "they are not JSON");
  // Another text of equal JSON would be resent with other bytes than the first time.
  if (canonical(value) !== record.arguments) return fault("arguments", "they are not canonical");
  if (fingerprintOf({ tool: record.tool, arguments: value }) === record.fingerprint) {
    return fine("arguments");
  }
  return notCheckable(
    "arguments",
    "the fingerprint covers an account or endpoint, which are not stored, or they were altered",
  );
}

function checkWireKey(record: EntryRecord, journal: readonly EntryLine[]): CheckResult {
  const armed = journal.findLast(
    ({ event }) => event === "operation.armed" || event === "operation.resent",
  );
  if (armed === undefined) return notCheckable("wire key", "nothing was armed");
  return readObject(armed.detail)?.["wireKey"] === record.wireKey
    ? fine("wire key")
    : fault("wire key", "the row has another than the last armed line", armed.seq);
}

/** The digest of a result and the text of an error are in the line that settled the operation. */
function checkOutcome(record: EntryRecord, journal: readonly EntryLine[]): CheckResult {
  if (record.status !== "DONE" && record.status !== "FAILED") {
    return record.resultKind === null
      ? notCheckable("outcome", "not settled")
      : fault("outcome", "the row has a result, and it is not settled");
  }
  if (record.purgedAtMs !== null) {
    return record.result === null && record.error === null
      ? notCheckable("outcome", "purged")
      : fault("outcome", "the row has an outcome, and it is purged");
  }
  return record.status === "DONE" ? checkResult(record, journal) : checkError(record, journal);
}

function checkResult(record: EntryRecord, journal: readonly EntryLine[]): CheckResult {
  const { resultKind, result } = record;
  const settled = journal.find((line) => line.status === "DONE");
  const digest = readObject(settled?.detail)?.["result"];
  if (settled === undefined || typeof digest !== "string" || resultKind === null) {
    return fault("outcome", "no line tells of the result");
  }
  return resultDigest({ resultKind, result }) === digest
    ? fine("outcome")
    : fault("outcome", "the row has another result than the line that settled it", settled.seq);
}

function checkError(record: EntryRecord, journal: readonly EntryLine[]): CheckResult {
  // A reviewer's decision on an incident comes after the failure, and brings a text of its own.
  const settled = journal.findLast(
    ({ event, status }) =>
      status === "FAILED" && (event === "operation.failed" || event === "review.resolved"),
  );
  if (settled === undefined) return fault("outcome", "no line tells of the failure");
  if (settled.event !== "operation.failed") {
    return notCheckable("outcome", "a person decided that it did not happen");
  }
  return JSON.stringify(readObject(settled.detail)?.["error"]) === record.error
    ? fine("outcome")
    : fault("outcome", "the row has another error than the line that settled it", settled.seq);
}

function canonical(value: JsonObject): string | undefined {
  try {
    return canonicalJson(value);
  } catch {
    return undefined;
  }
}

function readObject(text: string | undefined): JsonObject | undefined {
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as JsonObject)
      : undefined;
  } catch {
    return undefined;
  }
}

function fine(check: CheckName): CheckResult {
  return { check, found: "fine" };
}

function notCheckable(check: CheckName, reason: string): CheckResult {
  return { check, found: "not checkable", reason };
}

function fault(check: CheckName, reason: string, seq: number | null = null): CheckResult {
  return { check, found: "fault", seq, reason };
}
