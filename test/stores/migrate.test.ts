/**
 * Migrations: applied once by however many, whole or not at all; and a program that doesn't fit the
 * schema says so before it does anything.
 */
import Database from "better-sqlite3";
import pg from "pg";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { type Store, createGuard } from "../../src/index.ts";
import { SqliteStore } from "../../src/stores/sqlite/index.ts";
import { type PostgresDatabase, createDatabase } from "../support/postgres-database.ts";
import { startWorkers } from "../support/processes.ts";
import { describeStores, storeKinds } from "../support/stores.ts";
import { claimParams, completeParams } from "../support/worker-params.ts";
import type { Place } from "../support/worker-place.ts";
import type { StoreCommands } from "../support/worker-store.ts";
import { type OwnStore, ownStore } from "../support/worker-wrappers.ts";

it("a new file that another process holds is set up once it is free (sqlite)", async () => {
  const { location } = await emptyPlace("sqlite");
  const other = new Database(location);
  onTestFinished(() => void other.close());
  other.exec("begin exclusive");
  const database = new Database(location);
  onTestFinished(() => void database.close());
  const store = new SqliteStore(database, { busyTimeoutMs: 1 });
  const migrating = store.migrate();
  other.exec("rollback");
  expect((await migrating).schemaVersion).toBe(4);
  expect((await store.inspect()).settings).toMatchObject({
    journal_mode: "wal",
    synchronous: "FULL",
  });
});

for (const kind of storeKinds) {
  describe.skipIf(kind === "postgres" && inject("postgresUrl") === null)(
    `an empty database (${kind})`,
    () => {
      it("is migrated once by eight processes that all try at the same time", async () => {
        const place = await emptyPlace(kind);
        const workers = await startWorkers<StoreCommands>("worker-store.ts", 8);
        await Promise.all(workers.map((worker) => worker.call("open", { place })));
        const applied = await Promise.all(workers.map((worker) => worker.call("migrate")));
        expect(applied.flat()).toEqual([
          "0001-ledger",
          "0002-effects",
          "0003-late-looks",
          "0004-dead-letters",
        ]);
        const reports = await Promise.all(
          workers.map((worker) => worker.call("claim", { keys: ["k"], copies: 1, together: 1 })),
        );
        expect(reports.flatMap((report) => report.failures)).toEqual([]);
        expect(reports.flatMap((report) => report.created)).toEqual(["k"]);
      });

      it("is refused by the guard, and by every statement, until it is migrated", async () => {
        const { store } = opened(await emptyPlace(kind));
        const outdated = { code: "SCHEMA_OUTDATED" };
        await expect(createGuard({ store })).rejects.toMatchObject(outdated);
        await expect(store.claim(claimParams("k"))).rejects.toMatchObject(outdated);
        await expect(store.complete(completeParams("k"))).rejects.toMatchObject(outdated);
        await expect(store.read({ tenant: "acme", key: "k" })).rejects.toMatchObject(outdated);
        await expect(store.purge({ limit: 1 })).rejects.toMatchObject(outdated);
        expect(await store.inspect()).toMatchObject({ schemaVersion: 0, breakingVersion: 0 });

        expect(await store.migrate()).toEqual({
          applied: ["0001-ledger", "0002-effects", "0003-late-looks", "0004-dead-letters"],
          schemaVersion: 4,
        });
        expect(await store.migrate()).toEqual({ applied: [], schemaVersion: 4 });
        expect((await store.claim(claimParams("k"))).status).toBe("IN_PROGRESS");
        await expect(createGuard({ store })).resolves.toBeDefined();
      });

      it("is left as it was by a migration that fails half-way", async () => {
        const place = await emptyPlace(kind);
        const { store } = opened(place);
        // The journal's name is taken, so the migration stops after the table of operations.
        await execute(place, createTaken);
        await expect(store.migrate()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
        expect(await store.inspect()).toMatchObject({ schemaVersion: 0 });
        await expect(store.claim(claimParams("k"))).rejects.toMatchObject({
          code: "SCHEMA_OUTDATED",
        });
        await execute(place, {
          sqlite: "drop table nevertwice_journal",
          postgres: "drop table nevertwice.journal",
        });
        expect((await store.migrate()).applied).toEqual([
          "0001-ledger",
          "0002-effects",
          "0003-late-looks",
          "0004-dead-letters",
        ]);
      });
    },
  );
}

describeStores("a schema that is newer than the program", (suite) => {
  const addMigration = async (breaking: boolean): Promise<Store> => {
    const newer = await suite.open();
    const flag = suite.kind === "sqlite" ? Number(breaking) : breaking;
    await newer.sql(`insert into :schema.migrations values (9999, '9999-later', ${flag})`);
    return newer.store;
  };

  it("is refused when the newer migration is a breaking one", async () => {
    const store = await addMigration(true);
    await expect(createGuard({ store })).rejects.toMatchObject({
      code: "SCHEMA_TOO_NEW",
      details: { schemaVersion: 9999, programVersion: 4 },
    });
  });

  it("is fine when the newer migration is a harmless one", async () => {
    const store = await addMigration(false);
    await expect(createGuard({ store })).resolves.toBeDefined();
    expect(await store.inspect()).toMatchObject({ schemaVersion: 9999, breakingVersion: 1 });
    expect(await store.migrate()).toEqual({ applied: [], schemaVersion: 9999 });
  });
});

const createTaken = {
  sqlite: "create table nevertwice_journal (taken integer)",
  postgres: "create schema nevertwice; create table nevertwice.journal (taken integer)",
};

/** A place where nothing is yet. */
async function emptyPlace(kind: Place["kind"]): Promise<Place> {
  if (kind === "sqlite") {
    const directory = mkdtempSync(join(tmpdir(), "nevertwice-"));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    return { kind, location: join(directory, "store.sqlite"), schema: "" };
  }
  const database: PostgresDatabase = await createDatabase(inject("postgresUrl") ?? "");
  onTestFinished(() => database.drop());
  return { kind, location: database.url, schema: "nevertwice" };
}

function opened(place: Place): OwnStore {
  const own = ownStore(place);
  onTestFinished(() => own.close());
  return own;
}

async function execute(place: Place, sql: Record<Place["kind"], string>): Promise<void> {
  if (place.kind === "sqlite") {
    const database = new Database(place.location);
    database.exec(sql.sqlite);
    return void database.close();
  }
  const client = new pg.Client({ connectionString: place.location });
  await client.connect();
  await client.query(sql.postgres);
  await client.end();
}
