/**
 * The store of a check that brings none: a SQLite file in a temporary folder.
 *
 * @module
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type BetterSqlite from "better-sqlite3";
import { NeverTwiceError } from "../../base/errors.ts";
import type { Store } from "../../ledger/store.ts";
import { SqliteStore } from "../../stores/sqlite/index.ts";

/** Opens connections to one file, and removes it in the end. */
export interface TemporaryStore {
  readonly open: (clock: () => number) => Promise<Store>;
  readonly remove: () => void;
}

/** Makes the folder when the first connection is opened. */
export function temporaryStore(): TemporaryStore {
  let folder: string | undefined;
  const closes: (() => void)[] = [];
  return {
    open: async (clock) => {
      const Database = await loadDriver();
      folder ??= mkdtempSync(join(tmpdir(), "nevertwice-check-"));
      const database = new Database(join(folder, "check.sqlite"));
      closes.push(() => database.close());
      const store = new SqliteStore(database, { clock });
      await store.migrate();
      return store;
    },
    remove: () => {
      for (const close of closes.splice(0)) close();
      if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function loadDriver(): Promise<typeof BetterSqlite> {
  try {
    return (await import("better-sqlite3")).default;
  } catch (cause) {
    throw new NeverTwiceError(
      "DRIVER_MISSING",
      "The tool check uses a temporary SQLite file unless it is given a `store`, but the driver better-sqlite3 can't be loaded. Give a `store`, or install it: npm install better-sqlite3@12",
      { cause, details: { driver: "better-sqlite3" } },
    );
  }
}
