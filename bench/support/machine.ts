/** Facts about the machine, without which the numbers mean nothing. */
import { execFileSync } from "node:child_process";
import {
  closeSync,
  fdatasyncSync,
  mkdtempSync,
  openSync,
  rmSync,
  statfsSync,
  writeSync,
} from "node:fs";
import { arch, availableParallelism, cpus, loadavg, platform, release, totalmem } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import pg from "pg";
import { percentile } from "./statistics.ts";

/** How long the disk takes to make 4 KiB durable. */
export interface SyncLatency {
  readonly samples: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
}

/** What holds for the whole run. */
export interface Machine {
  readonly cores: number;
  readonly processor: string;
  readonly memoryGib: number;
  readonly system: string;
  readonly node: string;
  readonly sqlite: string;
  readonly fileSystem: string;
}

const fileSystems = new Map<number, string>([
  [0xef53, "ext4"],
  [0x58465342, "xfs"],
  [0x9123683e, "btrfs"],
  [0x01021994, "tmpfs"],
  [0x794c7630, "overlayfs"],
  [0x2fc12fc1, "zfs"],
]);

/** Reads the facts; `directory` is where the databases will be. */
export function machineFacts(directory: string): Machine {
  const memory = new Database(":memory:");
  const sqlite = String(memory.prepare("select sqlite_version()").pluck().get());
  memory.close();
  const { type } = statfsSync(directory);
  return {
    cores: availableParallelism(),
    processor: cpus()[0]?.model.trim() ?? "unknown",
    memoryGib: Math.round(totalmem() / 2 ** 30),
    system: `${platform()} ${release().split(".").slice(0, 2).join(".")} ${arch()}`,
    node: process.version,
    sqlite,
    fileSystem: fileSystems.get(type) ?? `type 0x${type.toString(16)}`,
  };
}

/** The commit that is checked out, marked when `src/` differs from it; "unknown" outside a repository. */
export function sourceVersion(): string {
  const git = (...args: string[]): string =>
    execFileSync("git", args, { cwd: import.meta.dirname, encoding: "utf8", stdio: "pipe" }).trim();
  try {
    const commit = git("rev-parse", "--short", "HEAD");
    return git("status", "--porcelain", "--", "../../src") === ""
      ? commit
      : `${commit} with changes`;
  } catch {
    return "unknown";
  }
}

/** The load of the last minute, by which a reader sees that the machine was shared. */
export function loadNow(): number {
  return Math.round((loadavg()[0] ?? 0) * 100) / 100;
}

/** Appends 4 KiB and waits for the disk, again and again: what one durable commit costs at least. */
export function measureSync(directory: string, samples = 200): SyncLatency {
  const home = mkdtempSync(join(directory, "nevertwice-bench-sync-"));
  const file = openSync(join(home, "file"), "w");
  const page = Buffer.alloc(4096, 1);
  try {
    const latenciesMs = Array.from({ length: samples }, () => {
      const startedAtMs = performance.now();
      writeSync(file, page);
      fdatasyncSync(file);
      return performance.now() - startedAtMs;
    });
    return { samples, p50Ms: percentile(latenciesMs, 0.5), p95Ms: percentile(latenciesMs, 0.95) };
  } finally {
    closeSync(file);
    rmSync(home, { recursive: true, force: true });
  }
}

/** Settings of the PostgreSQL server that decide what a commit costs. */
export async function postgresFacts(url: string): Promise<Readonly<Record<string, string>>> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const names = [
      "server_version",
      "fsync",
      "synchronous_commit",
      "full_page_writes",
      "wal_sync_method",
      "shared_buffers",
    ];
    const { rows } = await client.query<{ name: string; value: string }>(
      "select name, current_setting(name) as value from pg_settings where name = any($1)",
      [names],
    );
    return Object.fromEntries(rows.map((row) => [row.name, row.value]));
  } finally {
    await client.end();
  }
}
