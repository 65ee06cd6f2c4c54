/**
 * A row that can't be read is opened for review and never run afresh (R23).
 *
 * @module
 */
import type { OperationRecord } from "../ledger/record.ts";
import { recordCorrupt } from "./answers.ts";
import type { GuardEnvironment } from "./environment.ts";

/** Flags the row, once, and throws RECORD_CORRUPT. */
export async function flagCorrupt(
  env: GuardEnvironment,
  record: OperationRecord,
  reason: string,
): Promise<never> {
  const { tenant, key } = record;
  const incident = `the record can't be read: ${reason}`;
  if (record.incident !== incident) {
    await env.store.recordIncident({ tenant, key, incident, detail: JSON.stringify({ incident }) });
  }
  throw recordCorrupt(record, reason);
}
