/** A fresh database for each test file, on the one server of the run. */
import { randomBytes } from "node:crypto";
import { Client } from "pg";

/** An empty database of its own, and how to get rid of it. */
export interface PostgresDatabase {
  readonly url: string;
  /** Drops the database and cuts every connection still open to it. */
  drop(): Promise<void>;
}

/** Creates an empty database with a random name on the server that `url` points to. */
export async function createDatabase(url: string): Promise<PostgresDatabase> {
  const name = `nevertwice_${randomBytes(8).toString("hex")}`;
  await execute(url, `CREATE DATABASE ${name} TEMPLATE template0`);
  const target = new URL(url);
  target.pathname = `/${name}`;
  return {
    url: target.href,
    drop: () => execute(url, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

async function execute(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
