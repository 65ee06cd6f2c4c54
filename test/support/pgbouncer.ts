/** A real pgbouncer in transaction mode: what stands before PostgreSQL in many production set-ups. */
import { execFileSync, spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { chown, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import {
  everyPartRequired,
  guardDirectory,
  unprivileged,
  warnLoudly,
  withFreePort,
} from "./postgres-server.ts";

/** A running pgbouncer: the URL of the pooled database, and how to end it. */
export interface Pgbouncer {
  readonly url: string;
  stop(): Promise<void>;
}

/** What to pool, and with how many server connections. */
export interface PgbouncerOptions {
  readonly databaseUrl: string;
  readonly poolSize: number;
}

/**
 * Returns the path of the pgbouncer binary. Without one: throws where every part is required, else
 * says so loudly and returns null. Meant for `describe.skipIf(findPgbouncer() === null)`.
 */
export function findPgbouncer(): string | null {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), ...USUAL_FOLDERS];
  const found = folders.map((folder) => join(folder, "pgbouncer")).find(isExecutable);
  if (found !== undefined) return found;
  const message = "pgbouncer is not installed (apt-get install pgbouncer), its tests are SKIPPED.";
  if (everyPartRequired()) throw new Error(message);
  warnLoudly(message);
  return null;
}

const USUAL_FOLDERS = ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/opt/homebrew/bin"];

/**
 * Starts pgbouncer before one database: transaction pooling, no prepared statements, `poolSize`
 * server connections. Returns null (or throws, see `findPgbouncer`) when it is not installed.
 */
export async function startPgbouncer(options: PgbouncerOptions): Promise<Pgbouncer | null> {
  const binary = findPgbouncer();
  if (binary === null) return null;
  const directory = await mkdtemp(join(tmpdir(), "nevertwice-pgbouncer-"));
  const guard = guardDirectory(directory, "pgbouncer.pid");
  try {
    const url = await withFreePort(async (port) => {
      const file = join(directory, "pgbouncer.ini");
      await writeFile(file, configuration(options, directory, port, readRelease(binary)), {
        mode: 0o600,
      });
      await giveAway(directory, file);
      await launch(binary, file, directory, port);
      return pooledUrl(options.databaseUrl, port);
    });
    return { url, stop: () => guard.release() };
  } catch (error) {
    await guard.release();
    throw error;
  }
}

function configuration(
  { databaseUrl, poolSize }: PgbouncerOptions,
  directory: string,
  port: number,
  release: number,
): string {
  const { host, database, user, password, serverPort } = readUrl(databaseUrl);
  const login = `user=${quote(user)} password=${quote(password)}`;
  const lines = [
    "[databases]",
    `${database} = host=${host} port=${serverPort} dbname=${quote(database)} ${login}`,
    "[pgbouncer]",
    "listen_addr = 127.0.0.1",
    `listen_port = ${port}`,
    `unix_socket_dir = ${directory}`,
    `pidfile = ${join(directory, "pgbouncer.pid")}`,
    "auth_type = any",
    "pool_mode = transaction",
    `default_pool_size = ${poolSize}`,
    "max_client_conn = 500",
    "ignore_startup_parameters = extra_float_digits",
  ];
  // Releases before 1.21 have no such support and refuse to start with the setting; in later ones
  // it is on by default.
  if (release >= 21) lines.push("max_prepared_statements = 0");
  return `${lines.join("\n")}\n`;
}

function readUrl(databaseUrl: string) {
  const url = new URL(databaseUrl);
  return {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    serverPort: url.port || "5432",
    database: decodeURIComponent(url.pathname.slice(1)),
    user: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
  };
}

function quote(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}

function pooledUrl(databaseUrl: string, port: number): string {
  const { database, user } = readUrl(databaseUrl);
  return `postgres://${encodeURIComponent(user)}@127.0.0.1:${port}/${encodeURIComponent(database)}`;
}

/** 18 for pgbouncer 1.18.0. */
function readRelease(binary: string): number {
  const text = execFileSync(binary, ["--version"], { encoding: "utf8" });
  return Number(/PgBouncer 1\.(\d+)/.exec(text)?.[1]);
}

/** pgbouncer refuses to run as root: its files go to the user it will run as. */
async function giveAway(...paths: string[]): Promise<void> {
  const { uid, gid } = unprivileged;
  if (uid === undefined || gid === undefined) return;
  await Promise.all(paths.map((path) => chown(path, uid, gid)));
}

function launch(binary: string, file: string, directory: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(binary, [file], {
      ...unprivileged,
      cwd: directory,
      stdio: ["ignore", "ignore", "pipe"],
    });
    let log = "";
    const fail = () => reject(new Error(`pgbouncer did not start:\n${log}`));
    child.once("error", reject);
    child.once("close", fail);
    let decided = false;
    child.stderr.on("data", (chunk: Buffer) => {
      // Read on, so that the pipe can't fill up; but what scrolls by later decides nothing.
      if (decided) return;
      log = (log + chunk.toString()).slice(-10_000);
      if (!log.includes("process up")) return;
      decided = true;
      if (log.includes(`listening on 127.0.0.1:${port}`)) return resolve();
      child.kill("SIGKILL"); // It lives on with its unix socket alone when the port is taken.
      fail();
    });
  });
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
