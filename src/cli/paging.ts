/**
 * Pages of lists, newest first, and the place where the next page begins as text for `--after`.
 *
 * @module
 */
import type { OperationRecord } from "../ledger/record.ts";
import type { ListParams, Store } from "../ledger/store.ts";
import { CliError } from "./exit-codes.ts";
import type { Output } from "./output.ts";

/** Which operations. A part that is null doesn't restrict. */
export type Filter = Pick<ListParams, "tenant" | "status" | "operation" | "review">;

/** Everything. */
export const noFilter: Filter = { tenant: null, status: null, operation: null, review: false };

/** One page, and the row after which the next begins; null for the last page. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  readonly next: Row | null;
}

/** Reads a page, by whatever reads so many rows. */
export async function readPage<Row>(
  limit: number,
  read: (limit: number) => Promise<readonly Row[]>,
): Promise<Page<Row>> {
  const found = await read(limit + 1);
  const rows = found.slice(0, limit);
  return { rows, next: found.length > limit ? (rows.at(-1) ?? null) : null };
}

/** Every operation, a page at a time. */
export async function* eachPage(
  store: Pick<Store, "list">,
  filter: Filter,
  limit: number,
): AsyncGenerator<readonly OperationRecord[]> {
  let after: OperationRecord | null = null;
  do {
    const page: Page<OperationRecord> = await readPage(limit, (take) =>
      store.list({ ...filter, limit: take, after }),
    );
    yield page.rows;
    after = page.next;
  } while (after !== null);
}

/** Where a page ended: a time, and what tells the row from others of the same millisecond. */
export type Place = readonly [atMs: number, ...ids: readonly string[]];

/** The place as text that a shell leaves alone. */
export function formatPlace(place: Place): string {
  return Buffer.from(JSON.stringify(place)).toString("base64url");
}

/**
 * Reads what {@link formatPlace} wrote of a place with so many ids.
 *
 * @throws {CliError} USAGE for anything else.
 */
export function parsePlace(text: string, ids: number): Place {
  try {
    const place: unknown = JSON.parse(Buffer.from(text, "base64url").toString("utf8"));
    if (isPlace(place) && place.length === ids + 1) return place;
  } catch {
    // No JSON: answered below.
  }
  throw new CliError("USAGE", `"${text}" is no place to go on from: copy it from the page before.`);
}

function isPlace(value: unknown): value is Place {
  if (!Array.isArray(value)) return false;
  const [atMs, ...ids] = value as unknown[];
  return Number.isSafeInteger(atMs) && ids.every((id) => typeof id === "string");
}

/** Says how many there are, and how to get the next page; null for the last. */
export function printPageEnd(output: Output, many: string, next: string | null): void {
  output.line();
  if (next === null) return output.line(output.colours.dim(`${many}; that is all.`));
  output.line(output.colours.dim(`${many}; for the next page add`));
  output.line(`--after ${next}`);
}
