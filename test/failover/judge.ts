/**
 * What must hold after any number of failovers, and in words what doesn't. The provider's ledger is the
 * judge of effects, the present primary of what is kept.
 */
import pg from "pg";
import { canonicalJson } from "../../src/base/canonical-json.ts";
import type { LedgerRow } from "../../src/testing/fake-provider/index.ts";
import { type JournalLine, findChainFault } from "../../src/ledger/journal.ts";
import { PostgresStore } from "../../src/stores/postgres/index.ts";
import type { Acknowledged } from "./load-worker.ts";
import type { PostgresNode } from "./postgres-node.ts";

/** An operation as it is in the table. */
export interface StoredOperation {
  readonly key: string;
  readonly tool: string;
  readonly intent: string;
  readonly status: string;
  readonly attempts: number;
  readonly result: string | null;
  readonly incident: string | null;
}

/** Creates the tables. */
export async function migrate(url: string): Promise<void> {
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  await new PostgresStore(pool).migrate();
  await pool.end();
}

/** Every operation that a server has, read past the store. */
export async function operationsOn(node: PostgresNode): Promise<Map<string, StoredOperation>> {
  const rows = await node.sql(
    "select key, tool, intent, status, attempts, result, incident from nevertwice.operations",
  );
  const operations = rows.map((row) => row as unknown as StoredOperation);
  return new Map(operations.map((operation) => [operation.key, operation]));
}

/** The keys of calls that were acknowledged as DONE and are not DONE with the same result any more. */
export function lostAmong(
  acknowledged: readonly Acknowledged[],
  operations: ReadonlyMap<string, StoredOperation>,
): readonly string[] {
  const lost = acknowledged.filter(({ key, value }) => {
    const operation = operations.get(key);
    return operation?.status !== "DONE" || !isResult(operation, value);
  });
  return lost.map(({ key }) => key);
}

function isResult(operation: StoredOperation, value: unknown): boolean {
  if (operation.result === null) return false;
  return canonicalJson(JSON.parse(operation.result)) === canonicalJson(value);
}

/** How many effects each intent's key has in the ledger. */
export function effectsByKey(ledger: readonly LedgerRow[]): Map<string, number> {
  const effects = new Map<string, number>();
  for (const { tag } of ledger) effects.set(tag ?? "", (effects.get(tag ?? "") ?? 0) + 1);
  return effects;
}

/** Faults of single operations: unsettled, without their effect, with two, or with another one. */
export function faultsOf(
  operations: ReadonlyMap<string, StoredOperation>,
  ledger: readonly LedgerRow[],
): readonly string[] {
  const effects = effectsByKey(ledger);
  const faults: string[] = [];
  for (const { key, tool, status, attempts, result, incident } of operations.values()) {
    const count = effects.get(key) ?? 0;
    effects.delete(key);
    const effect = result === null ? undefined : (JSON.parse(result) as { id?: string }).id;
    // Nothing was ever sent, and its caller stayed away: that is settled, too.
    const isIdle = status === "IN_PROGRESS" && attempts === 0 && count === 0;
    const isOnce = status === "DONE" && count === 1;
    if ((!isIdle && !isOnce) || incident !== null) {
      faults.push(`${tool} ${key}: ${status}, ${count} effects, ${incident ?? "no incident"}`);
    } else if (isOnce && !ledger.some((row) => row.tag === key && row.effectId === effect)) {
      faults.push(`${tool} ${key}: its result is not its effect`);
    }
  }
  for (const [key, count] of effects) faults.push(`${key}: no operation, ${count} effects`);
  return faults;
}

/** The journal of every operation, in order; a fault for each chain that doesn't verify. */
export async function chainFaultsOn(node: PostgresNode): Promise<readonly string[]> {
  const rows = await node.sql(
    "select tenant, key, seq::int, at_ms::float8, event, status, token::float8, attempts::int, detail, hash " +
      "from nevertwice.journal order by tenant, key, seq",
  );
  const chains = new Map<string, JournalLine[]>();
  for (const row of rows) {
    const { tenant, key, seq, event, status, attempts, detail, hash } =
      row as unknown as JournalLine;
    const { at_ms: atMs, token } = row as { at_ms: number; token: number };
    const line = { tenant, key, seq, atMs, event, status, token, attempts, detail, hash };
    const chain = chains.get(key);
    if (chain === undefined) chains.set(key, [line]);
    else chain.push(line);
  }
  const operations = await operationsOn(node);
  return [...operations.keys()].flatMap((key) => {
    const fault = findChainFault(chains.get(key) ?? []);
    return fault === undefined ? [] : [`${key}: ${fault.reason} (${fault.seq})`];
  });
}
