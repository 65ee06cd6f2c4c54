/**
 * Reads every operation with its journal, a page at a time. Rows without lines and lines without a
 * row are found as well: that is what tampering leaves behind.
 *
 * @module
 */
import type { JournalLine } from "../../ledger/journal.ts";
import type { OperationRecord } from "../../ledger/record.ts";
import type { OperationId, ReadJournalParams, Store } from "../../ledger/store.ts";
import { eachPage, noFilter } from "../paging.ts";
import { type AuditEntry, entryOf } from "./entry.ts";

/** Which operations. A part that is null doesn't restrict. */
export type EntryFilter = { readonly tenant: string | null; readonly key: string | null };

const rowsPerPage = 500;
/** A row that changes while we read it is read again, so often. */
const maxReads = 5;

/** Every operation that matches, in order of tenant and key; rows without a line come last. */
export async function* readEntries(
  store: Store,
  filter: EntryFilter,
  linesPerPage = 2000,
): AsyncGenerator<AuditEntry, void> {
  let withLines = 0;
  for await (const batch of eachBatch(store, filter, linesPerPage)) {
    const entries = await Promise.all(batch.map((lines) => readEntry(store, lines, linesPerPage)));
    withLines += entries.filter(({ record }) => record !== null).length;
    yield* entries;
  }
  yield* readRowsWithoutLines(store, filter, withLines);
}

/** Pages of journals: each operation's lines together. */
async function* eachBatch(
  store: Store,
  filter: EntryFilter,
  linesPerPage: number,
): AsyncGenerator<readonly (readonly JournalLine[])[]> {
  let after: ReadJournalParams["after"] = null;
  let open: JournalLine[] = [];
  for (;;) {
    const page: readonly JournalLine[] = await store.readJournal({
      ...filter,
      after,
      limit: linesPerPage,
    });
    const groups = groupByOperation([...open, ...page]);
    const last = page.at(-1);
    if (last === undefined || page.length < linesPerPage) {
      if (groups.length > 0) yield groups;
      return;
    }
    // The last operation of a page may go on in the next.
    open = groups.pop() ?? [];
    yield groups;
    after = { tenant: last.tenant, key: last.key, seq: last.seq };
  }
}

function groupByOperation(lines: readonly JournalLine[]): JournalLine[][] {
  const groups: JournalLine[][] = [];
  for (const line of lines) {
    const [first] = groups.at(-1) ?? [];
    const same = first !== undefined && first.tenant === line.tenant && first.key === line.key;
    if (same) groups.at(-1)?.push(line);
    else groups.push([line]);
  }
  return groups;
}

/** Row and lines as of one moment, though others may be writing. */
async function readEntry(
  store: Store,
  seen: readonly JournalLine[],
  linesPerPage: number,
): Promise<AuditEntry> {
  const [{ tenant, key }] = seen as readonly [JournalLine];
  const id: OperationId = { tenant, key };
  let lines = seen;
  let record = await store.read(id);
  for (let reads = 1; reads < maxReads && !agree(record, lines); reads += 1) {
    lines = await readLines(store, id, linesPerPage);
    record = await store.read(id);
  }
  return entryOf(id, record, lines);
}

function agree(record: OperationRecord | undefined, lines: readonly JournalLine[]): boolean {
  return record !== undefined && record.journalSeq === lines.length;
}

async function readLines(
  store: Store,
  { tenant, key }: OperationId,
  linesPerPage: number,
): Promise<JournalLine[]> {
  const lines: JournalLine[] = [];
  for (;;) {
    const seq = lines.at(-1)?.seq;
    const after = seq === undefined ? null : { tenant, key, seq };
    const page = await store.readJournal({ tenant, key, after, limit: linesPerPage });
    lines.push(...page);
    if (page.length < linesPerPage) return lines;
  }
}

/** Rows are counted first: only when there are more of them than journals is each one looked at. */
async function* readRowsWithoutLines(
  store: Store,
  filter: EntryFilter,
  withLines: number,
): AsyncGenerator<AuditEntry> {
  if ((await countRows(store, filter)) <= withLines) return;
  for await (const page of eachPage(store, { ...noFilter, tenant: filter.tenant }, rowsPerPage)) {
    for (const record of page.filter((row) => matches(row, filter))) {
      const { tenant, key } = record;
      const [line] = await store.readJournal({ tenant, key, after: null, limit: 1 });
      if (line === undefined) yield entryOf({ tenant, key }, record, []);
    }
  }
}

async function countRows(store: Store, filter: EntryFilter): Promise<number> {
  const { tenant, key } = filter;
  if (tenant !== null && key !== null)
    return Number((await store.read({ tenant, key })) !== undefined);
  let rows = 0;
  for await (const page of eachPage(store, { ...noFilter, tenant }, rowsPerPage)) {
    rows += page.filter((row) => matches(row, filter)).length;
  }
  return rows;
}

function matches(record: OperationRecord, { key }: EntryFilter): boolean {
  return key === null || record.key === key;
}
