/** PostgreSQL with durable settings, over one pool that floor and guard share. */
import pg from "pg";
import { PostgresStore } from "../../src/stores/postgres/index.ts";
import { type Stand, type StatementKind, subjectsOn } from "./stand.ts";
import { type Floor, tenant } from "./workload.ts";

const floorTable = `create table if not exists bench_floor (
  tenant text not null, key text not null, fingerprint text not null, arguments text not null,
  status text not null, token text not null, lease_until_ms bigint not null, result text,
  primary key (tenant, key))`;

const claimText = `
  insert into bench_floor as f (tenant, key, fingerprint, arguments, status, token, lease_until_ms)
  values ($1, $2, $3, $4, 'IN_PROGRESS', $5,
    (extract(epoch from clock_timestamp()) * 1000)::bigint + $6::bigint)
  on conflict (tenant, key) do update set status = f.status
  returning token, status, result`;

const settleText =
  "update bench_floor set status = 'DONE', result = $1 where tenant = $2 and key = $3 and token = $4";

/** How to open a stand on a database that is ours alone. */
export interface PostgresStandOptions {
  readonly url: string;
  readonly connections: number;
  readonly statements: StatementKind;
}

/** Opens the stand in an empty database. */
export async function openPostgresStand(options: PostgresStandOptions): Promise<Stand> {
  const { url, connections, statements } = options;
  const preparedStatements = statements === "prepared";
  const pool = new pg.Pool({ connectionString: url, max: connections, idleTimeoutMillis: 0 });
  // A connection that is closing when its database is dropped says so here, and nobody waits for it.
  // In a call, a lost connection rejects that call all the same.
  pool.on("error", () => {});
  const store = new PostgresStore(pool, { preparedStatements });
  await store.migrate();
  await pool.query(floorTable);
  return {
    subjects: await subjectsOn([{ store, floor: floorOn(pool, preparedStatements) }]),
    rest: async () => {
      // A vacuum in mid-run would hit one block and not the others.
      await pool.query("vacuum analyze");
      await pool.query("checkpoint");
    },
    close: () => pool.end(),
  };
}

function floorOn(pool: pg.Pool, prepared: boolean): Floor {
  const named = (name: string): { name?: string } => (prepared ? { name } : {});
  return {
    claim: async (row) => {
      const { key, fingerprint, token, leaseMs } = row;
      const values = [tenant, key, fingerprint, row.arguments, token, leaseMs];
      const result = await pool.query({ ...named("bench_claim"), text: claimText, values });
      return result.rows[0] as { token: string; status: string };
    },
    settle: async (key, token, result) => {
      const values = [result, tenant, key, token];
      const settled = await pool.query({ ...named("bench_settle"), text: settleText, values });
      return settled.rowCount ?? 0;
    },
  };
}
