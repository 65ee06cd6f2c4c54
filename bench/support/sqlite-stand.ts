/** SQLite in a file, as the store configures it: WAL, `synchronous = FULL`. */
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { SqliteStore } from "../../src/stores/sqlite/index.ts";
import { type Lane, type Stand, subjectsOn } from "./stand.ts";
import { type Floor, tenant } from "./workload.ts";

const floorTable = `create table if not exists bench_floor (
  tenant text not null, key text not null, fingerprint text not null, arguments text not null,
  status text not null, token text not null, lease_until_ms integer not null, result text,
  primary key (tenant, key)) strict`;

const claimText = `
  insert into bench_floor (tenant, key, fingerprint, arguments, status, token, lease_until_ms)
  values (?, ?, ?, ?, 'IN_PROGRESS', ?, cast(unixepoch('subsec') * 1000 as integer) + ?)
  on conflict (tenant, key) do update set status = status
  returning token, status, result`;

const settleText =
  "update bench_floor set status = 'DONE', result = ? where tenant = ? and key = ? and token = ?";

/** Opens a fresh file in `directory` with that many connections, each with a store of its own. */
export async function openSqliteStand(directory: string, connections: number): Promise<Stand> {
  const home = mkdtempSync(join(directory, "nevertwice-bench-"));
  const databases = Array.from(
    { length: connections },
    () => new Database(join(home, "bench.sqlite")),
  );
  const lanes: Lane[] = [];
  for (const database of databases) {
    const store = new SqliteStore(database);
    await store.migrate();
    database.exec(floorTable);
    lanes.push({ store, floor: floorOn(database) });
  }
  return {
    subjects: await subjectsOn(lanes),
    rest: async () => void databases[0]?.pragma("wal_checkpoint(truncate)"),
    close: async () => {
      for (const database of databases) database.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

function floorOn(database: Database.Database): Floor {
  const claim = database.prepare(claimText);
  const settle = database.prepare(settleText);
  return {
    claim: async (row) =>
      claim.get(tenant, row.key, row.fingerprint, row.arguments, row.token, row.leaseMs) as {
        token: string;
        status: string;
      },
    settle: async (key, token, result) => settle.run(result, tenant, key, token).changes,
  };
}
