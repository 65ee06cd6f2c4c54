/**
 * One operation with its whole journal, as `audit export` writes it: a line of JSON. Texts that are
 * hashed (intent, arguments, result, details) stay exactly as they are stored.
 *
 * @module
 */
import { type JournalLine, journalEvents } from "../../ledger/journal.ts";
import type { OperationRecord } from "../../ledger/record.ts";

/** A journal line inside its operation. */
export type EntryLine = Omit<JournalLine, "tenant" | "key">;

/** The part of the stored row that an export holds. */
export type EntryRecord = Omit<
  OperationRecord,
  "tenant" | "key" | "acquisitionId" | "leaseUntilMs" | "readAtMs" | "sweeps"
>;

/** An operation, and what is known of it. `record` is null when its row is gone. */
export interface AuditEntry {
  readonly tenant: string;
  readonly key: string;
  readonly record: EntryRecord | null;
  readonly journal: readonly EntryLine[];
}

/** The version of the export's format. */
const formatVersion = 1;

type FieldType = "text" | "text or null" | "number" | "number or null";

const recordFields: Readonly<Record<keyof EntryRecord, FieldType>> = {
  operation: "text",
  tool: "text",
  intent: "text",
  keyAlgorithm: "text",
  fingerprint: "text",
  arguments: "text or null",
  status: "text",
  attempts: "number",
  attemptsInGeneration: "number",
  generation: "number",
  token: "number",
  version: "number",
  wireKey: "text or null",
  resultKind: "text or null",
  result: "text or null",
  providerId: "text or null",
  error: "text or null",
  reviewReason: "text or null",
  incident: "text or null",
  lookAlike: "text or null",
  supersedes: "text or null",
  supersededBy: "text or null",
  createdAtMs: "number",
  firstArmedAtMs: "number or null",
  lastArmedAtMs: "number or null",
  quietUntilMs: "number",
  settledAtMs: "number or null",
  purgedAtMs: "number or null",
  retentionMs: "number",
  journalSeq: "number",
};

const lineFields: Readonly<Record<keyof EntryLine, FieldType>> = {
  seq: "number",
  atMs: "number",
  event: "text",
  status: "text",
  token: "number",
  attempts: "number",
  detail: "text",
  hash: "text",
};

/** Makes an entry of what a store returned. */
export function entryOf(
  id: { readonly tenant: string; readonly key: string },
  record: OperationRecord | undefined,
  lines: readonly JournalLine[],
): AuditEntry {
  return {
    tenant: id.tenant,
    key: id.key,
    record: record === undefined ? null : pick(record, recordFields),
    journal: lines.map((line) => pick(line, lineFields)),
  };
}

/** One line of an export, without the line feed. */
export function formatEntry(entry: AuditEntry): string {
  const { tenant, key, record, journal } = entry;
  const row = record === null ? { rowMissing: true } : record;
  return JSON.stringify({ v: formatVersion, tenant, key, ...row, journal });
}

/**
 * Reads a line of an export.
 *
 * @throws {TypeError} saying what is wrong with it.
 */
export function parseEntry(text: string): AuditEntry {
  const value = asObject(parse(text), "the line");
  if (value["v"] !== formatVersion) throw new TypeError(`its format is not ${formatVersion}`);
  check(value, { tenant: "text", key: "text" }, "");
  const { tenant, key, journal } = value as { tenant: string; key: string; journal: unknown };
  if (!Array.isArray(journal)) throw new TypeError("`journal` is no list");
  const gone = value["rowMissing"] === true;
  if (!gone) check(value, recordFields, "");
  return {
    tenant,
    key,
    record: gone ? null : pick(value as unknown as EntryRecord, recordFields),
    journal: journal.map((line: unknown, index) => parseLine(line, index)),
  };
}

/** The lines as the ledger knows them. */
export function journalOf(entry: AuditEntry): JournalLine[] {
  const { tenant, key } = entry;
  return entry.journal.map((line) => ({ tenant, key, ...line }));
}

function parseLine(value: unknown, index: number): EntryLine {
  const path = `journal[${index}]`;
  const line = asObject(value, path);
  check(line, lineFields, `${path}.`);
  if (!(journalEvents as readonly unknown[]).includes(line["event"])) {
    throw new TypeError(`\`${path}.event\` is not known`);
  }
  return pick(line as unknown as EntryLine, lineFields);
}

function check(
  value: Record<string, unknown>,
  fields: Readonly<Record<string, FieldType>>,
  path: string,
): void {
  for (const [name, type] of Object.entries(fields)) {
    const field = value[name];
    const fits =
      (type.endsWith("or null") && field === null) ||
      (type.startsWith("text") ? typeof field === "string" : typeof field === "number");
    if (!fits) throw new TypeError(`\`${path}${name}\` is no ${type}`);
  }
}

function asObject(value: unknown, what: string): Record<string, unknown> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw new TypeError(`${what} is no JSON object`);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new TypeError("it is not JSON, or cut off");
  }
}

function pick<T extends object, Name extends keyof T>(
  value: T,
  fields: Readonly<Record<Name, FieldType>>,
): Pick<T, Name> {
  const names = Object.keys(fields) as Name[];
  return Object.fromEntries(names.map((name) => [name, value[name]])) as Pick<T, Name>;
}
