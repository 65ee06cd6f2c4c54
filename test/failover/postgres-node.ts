/**
 * One PostgreSQL server of a cluster: made anew or from the copy of another, started, asked, and killed
 * without warning. POSIX only.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { chown, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { guardDirectory, unprivileged, withFreePort } from "../support/postgres-server.ts";

/** What a server is started with. */
export interface NodeOptions {
  readonly binaries: string;
  readonly password: string;
  /** `name=value`, beside the usual ones. */
  readonly settings: readonly string[];
  /** Fills the empty data directory; what it writes is given to the server's user afterwards. */
  fill(data: string): Promise<void>;
}

/** A running server. */
export interface PostgresNode {
  readonly url: string;
  readonly port: number;
  readonly data: string;
  /** Runs SQL on a connection of its own, which waits for no standby. */
  sql(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  /** SIGKILL to the postmaster and to every process of its own. It never comes back. */
  kill(): Promise<void>;
  /** Ends the server if it still runs, and throws its disk away. */
  stop(): Promise<void>;
}

const usualSettings = [
  "listen_addresses=127.0.0.1",
  "unix_socket_directories=",
  "max_connections=60",
  "shared_buffers=32MB",
  "fsync=on",
  "synchronous_commit=on",
  // A server that is killed leaves its POSIX segments behind; files go with the directory.
  "dynamic_shared_memory_type=mmap",
  // What a copy needs from before its standby is there.
  "wal_keep_size=256MB",
  "wal_retrieve_retry_interval=100ms",
];

/** Makes a new data directory. */
export async function initialise({ binaries, password }: NodeOptions, data: string): Promise<void> {
  const file = join(data, "..", "password");
  await writeFile(file, password, { mode: 0o600 });
  await giveAway(file);
  const flags = ["--username=postgres", "--auth=scram-sha-256", `--pwfile=${file}`];
  const locale = ["--encoding=UTF8", "--locale=C", "--no-sync"];
  execFileSync(join(binaries, "initdb"), ["-D", data, ...flags, ...locale], {
    ...unprivileged,
    cwd: data,
    stdio: "pipe",
  });
}

/** Starts a server; its directory and its processes end with ours at the latest. */
export async function startNode(options: NodeOptions): Promise<PostgresNode> {
  const root = await mkdtemp(join(tmpdir(), "nevertwice-node-"));
  const data = join(root, "data");
  const guard = guardDirectory(root, "data/postmaster.pid");
  try {
    await mkdir(data, { mode: 0o700 });
    await giveAway(root, data);
    await options.fill(data);
    const { child, port } = await withFreePort(async (free) => ({
      child: await launch(options, data, free),
      port: free,
    }));
    const url = `postgres://postgres:${options.password}@127.0.0.1:${port}/postgres`;
    return {
      url,
      port,
      data,
      sql: (text, values) => runSql(url, text, values),
      kill: async () => {
        await killAll(child);
        removeSegment(data);
        // Else the guard would take whatever has the number next for this server.
        await rm(join(data, "postmaster.pid"), { force: true });
      },
      stop: () => guard.release(),
    };
  } catch (error) {
    await guard.release();
    throw error;
  }
}

/** Gives files to the user that the servers run as. */
export async function giveAway(...paths: string[]): Promise<void> {
  const { uid, gid } = unprivileged;
  if (uid === undefined || gid === undefined) return;
  await Promise.all(paths.map((path) => chown(path, uid, gid)));
}

function launch(options: NodeOptions, data: string, port: number): Promise<ChildProcess> {
  const settings = [...usualSettings, `port=${port}`, ...options.settings];
  const flags = settings.flatMap((setting) => ["-c", setting]);
  return new Promise((resolve, reject) => {
    const child = spawn(join(options.binaries, "postgres"), ["-D", data, ...flags], {
      ...unprivileged,
      cwd: data,
      detached: true, // Ctrl-C is for the tests; the guard ends the server.
      stdio: ["ignore", "ignore", "pipe"],
    });
    let log = "";
    child.once("error", reject);
    child.once("close", () => reject(new Error(`PostgreSQL did not start:\n${log}`)));
    // Read for ever, so that the pipe can't fill up.
    child.stderr.on("data", (chunk: Buffer) => {
      log = (log + chunk.toString("utf8")).slice(-10_000);
      if (/ready to accept (read-only )?connections/.test(log)) resolve(child);
    });
  });
}

async function runSql(url: string, text: string, values: unknown[] = []) {
  const options = "-c synchronous_commit=local";
  const client = new pg.Client({ connectionString: url, options });
  client.on("error", () => {});
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text, values)).rows;
  } finally {
    await client.end();
  }
}

/**
 * Each process of a server leads a group of its own, so the children are killed by number. The
 * postmaster is stopped first: else it could start others meanwhile.
 */
async function killAll(postmaster: ChildProcess): Promise<void> {
  const { pid } = postmaster;
  if (pid === undefined || postmaster.exitCode !== null) throw new Error("the server is gone");
  const gone = once(postmaster, "exit");
  process.kill(pid, "SIGSTOP");
  for (const each of [pid, ...childrenOf(pid)]) killOne(each);
  await gone;
}

function killOne(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It ended by itself in between.
  }
}

function childrenOf(parent: number): number[] {
  const pairs = existsSync("/proc/self/stat") ? processesByProc() : processesByPs();
  return pairs.filter(([, ppid]) => ppid === parent).map(([pid]) => pid);
}

type Processes = (readonly [pid: number, ppid: number])[];

function processesByProc(): Processes {
  const numbers = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return numbers.flatMap((pid) => {
    try {
      // The name in parentheses may hold anything; state and parent come after the last of them.
      const rest = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1) ?? "";
      return [[Number(pid), Number(rest.split(" ")[1])] as const];
    } catch {
      return [];
    }
  });
}

function processesByPs(): Processes {
  const lines = execFileSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" }).split("\n");
  return lines.map((line) => {
    const [pid, ppid] = line.trim().split(/\s+/).map(Number);
    return [pid ?? 0, ppid ?? 0] as const;
  });
}

/** The little System V segment by which a server knows that another one lives; line 7 has its id. */
function removeSegment(data: string): void {
  const line = readFileSync(join(data, "postmaster.pid"), "utf8").split("\n")[6] ?? "";
  const id = line.trim().split(/\s+/)[1];
  if (id !== undefined) spawnSync("ipcrm", ["-m", id], { stdio: "ignore" });
}
