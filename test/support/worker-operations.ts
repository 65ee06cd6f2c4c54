/** Operations in whatever state, made through the store's own statements. */
import { expect } from "vitest";
import type { OperationRecord, Status, Store } from "../../src/index.ts";
import type { JournalLine } from "../../src/ledger/journal.ts";
import type { OpenStore } from "./stores.ts";
import { claimParams, completeParams, fencedBy } from "./worker-params.ts";

/** An operation with one armed attempt, in the status asked for. */
export async function operationIn(
  store: Store,
  key: string,
  status: Status,
): Promise<OperationRecord> {
  const owner = await store.claim(claimParams(key));
  const fenced = fencedBy(owner);
  switch (status) {
    case "IN_PROGRESS":
      return owner;
    case "UNKNOWN":
      return sure(
        await store.markUnknown({
          ...fenced,
          error: '{"message":"no answer"}',
          sweepAfterMs: 1000,
          event: "operation.unknown",
          detail: "{}",
        }),
      );
    case "NEEDS_REVIEW":
      return sure(await store.escalate({ ...fenced, reason: "nobody knows", detail: "{}" }));
    case "DONE":
      return sure(await store.complete(completeParams(key)));
    case "FAILED":
      return sure(
        await store.fail({
          ...fenced,
          error: '{"message":"declined"}',
          replaysDeclines: false,
          lookedAtMs: null,
          detail: "{}",
        }),
      );
  }
}

/** The same with evidence that contradicts it. */
export async function withIncident(store: Store, record: OperationRecord) {
  const { tenant, key } = record;
  return sure(
    await store.recordIncident({ tenant, key, incident: "another effect", detail: "{}" }),
  );
}

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
