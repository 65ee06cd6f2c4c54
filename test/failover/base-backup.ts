/**
 * Copies a running server, as `pg_basebackup` would (which the npm package lacks): by the low-level
 * interface, `pg_backup_start`, a copy of the files, `pg_backup_stop`.
 */
import { copyFile, mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { type PostgresNode, giveAway } from "./postgres-node.ts";

/** Fills `target` with a copy of the server that will start as a standby. */
export async function copyAsStandby(source: PostgresNode, target: string): Promise<void> {
  // One session from start to end: a backup ends with its session.
  const client = new pg.Client({ connectionString: source.url });
  await client.connect();
  try {
    await client.query("select pg_backup_start('standby', fast => true)");
    await copyFolder(source.data, target, "");
    const stopped = await client.query<{ labelfile: string }>(
      "select labelfile from pg_backup_stop(wait_for_archive => false)",
    );
    await writeNew(join(target, "backup_label"), stopped.rows[0]?.labelfile ?? "");
    await writeNew(join(target, "standby.signal"), "");
  } finally {
    await client.end();
  }
}

/** What belongs to the running server alone; of the folders only the contents. */
const leftOut = /^(postmaster\.(pid|opts)|standby\.signal|backup_label(\.old)?)$/;
const emptied =
  /^(pg_wal|pg_replslot|pg_dynshmem|pg_notify|pg_serial|pg_snapshots|pg_stat_tmp|pg_subtrans)$/;

async function copyFolder(from: string, to: string, path: string): Promise<void> {
  const entries = await readdir(join(from, path), { withFileTypes: true });
  await Promise.all(
    entries.map(async (entry) => {
      const inside = join(path, entry.name);
      if (entry.isFile() && !leftOut.test(inside))
        return copyOne(join(from, inside), join(to, inside));
      if (!entry.isDirectory()) return;
      await mkdir(join(to, inside), { mode: 0o700 });
      await giveAway(join(to, inside));
      if (!emptied.test(inside)) await copyFolder(from, to, inside);
    }),
  );
}

/** A file may go while we copy; then the log says so, and replay does the same. */
async function copyOne(from: string, to: string): Promise<void> {
  try {
    await copyFile(from, to);
    await giveAway(to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

async function writeNew(file: string, text: string): Promise<void> {
  await writeFile(file, text, { mode: 0o600 });
  await giveAway(file);
}
