/**
 * Pages of operations, newest first, with a cursor that loses none of those created in one and the
 * same millisecond.
 *
 * @module
 */
import type { OperationRecord } from "../ledger/record.ts";
import type { ListParams, Store } from "../ledger/store.ts";
import { CliError } from "./exit-codes.ts";

/** Which operations. A part that is null doesn't restrict. */
export type Filter = Pick<ListParams, "tenant" | "status" | "operation" | "review">;

/** Everything. */
export const noFilter: Filter = { tenant: null, status: null, operation: null, review: false };

/** The last operation of a page. */
export interface Cursor {
  readonly createdAtMs: number;
  readonly key: string;
}

/** One page, and where the next begins. */
export interface Page {
  readonly records: readonly OperationRecord[];
  readonly next: Cursor | null;
}

/** Reads a page after the cursor. */
export async function readPage(
  store: Store,
  filter: Filter,
  limit: number,
  after: Cursor | null,
): Promise<Page> {
  // The store pages by time alone, so those of the cursor's millisecond are read again and skipped.
  const beforeCreatedAtMs = after === null ? null : after.createdAtMs + 1;
  for (let take = limit + 1; ; take *= 2) {
    const rows = await store.list({ ...filter, limit: take, beforeCreatedAtMs });
    const rest = after === null ? rows : rows.filter((row) => isAfter(row, after));
    if (rest.length <= limit && rows.length === take) continue;
    const records = rest.slice(0, limit);
    const last = records.at(-1);
    return { records, next: rest.length > limit && last !== undefined ? cursorOf(last) : null };
  }
}

/** Every operation, a page at a time. */
export async function* eachPage(
  store: Store,
  filter: Filter,
  limit: number,
): AsyncGenerator<readonly OperationRecord[]> {
  let after: Cursor | null = null;
  do {
    const page: Page = await readPage(store, filter, limit, after);
    yield page.records;
    after = page.next;
  } while (after !== null);
}

/** The cursor as text, for `--after`: 16 digits of the key tell those of one millisecond apart. */
export function formatCursor(cursor: Cursor): string {
  return `${cursor.createdAtMs}-${cursor.key.slice(0, 16)}`;
}

/**
 * Reads what {@link formatCursor} wrote.
 *
 * @throws {CliError} for anything else.
 */
export function parseCursor(text: string): Cursor {
  const [, createdAtMs, key] = /^(\d+)-(.+)$/.exec(text) ?? [];
  if (createdAtMs === undefined || key === undefined) {
    throw new CliError(
      "USAGE",
      `"${text}" is no place to go on from: copy it from the page before.`,
    );
  }
  return { createdAtMs: Number(createdAtMs), key };
}

function cursorOf(record: OperationRecord): Cursor {
  return { createdAtMs: record.createdAtMs, key: record.key };
}

function isAfter(record: OperationRecord, cursor: Cursor): boolean {
  const key = record.key.slice(0, cursor.key.length);
  return record.createdAtMs < cursor.createdAtMs || key > cursor.key;
}
