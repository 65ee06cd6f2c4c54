/** Operations in whatever state, and what is stored of them. */
import { expect } from "vitest";
import type { OperationRecord, Store } from "../../src/index.ts";
import type { JournalLine } from "../../src/ledger/journal.ts";
import type { OpenStore } from "./stores.ts";

export { operationIn, withIncident } from "../../src/testing/store-contract/params.ts";

/** A record that must be there. */
export function sure(record: OperationRecord | undefined): OperationRecord {
  expect(record).toBeDefined();
  return record as OperationRecord;
}

/** Everything that is stored, as it is in the tables. */
export async function stored(opened: OpenStore): Promise<unknown> {
  const operations = await opened.sql("select * from :schema.operations order by tenant, key");
  const [journal] = await opened.sql("select count(*) as lines from :schema.journal");
  return { operations, lines: Number(journal?.["lines"]) };
}

/** The journal of one operation, or of all. */
export function linesOf(store: Store, key: string | null = null): Promise<readonly JournalLine[]> {
  return store.readJournal({ tenant: null, key, after: null, limit: 10_000 });
}
