/** A real Restate server for a test: the binary of `@restatedev/restate-server`, on ports of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { everyPartRequired, warnLoudly } from "../../support/postgres-server.ts";

export interface RestateServer {
  readonly ingressUrl: string;
  readonly adminUrl: string;
  stop(): Promise<void>;
}

/** Null, loudly, where there is no binary for this machine. */
export async function startRestate(): Promise<RestateServer | null> {
  const binary = findBinary();
  if (binary === undefined) return null;
  const folder = mkdtempSync(join(tmpdir(), "nevertwice-restate-"));
  const [ingress, admin, node] = await Promise.all([freePort(), freePort(), freePort()]);
  const child = spawn(binary, ["--base-dir", folder, "--node-name", "test"], {
    env: {
      PATH: process.env["PATH"],
      RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
      RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
      RESTATE_BIND_ADDRESS: `127.0.0.1:${node}`,
      RESTATE_ADVERTISED_ADDRESS: `http://127.0.0.1:${node}`,
      RESTATE_DISABLE_TELEMETRY: "true",
      RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE: "256MB",
      RESTATE_DEFAULT_NUM_PARTITIONS: "1",
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said = collect(child);
  const gone = once(child, "exit");
  const adminUrl = `http://127.0.0.1:${admin}`;
  const ingressUrl = `http://127.0.0.1:${ingress}`;
  const isUp = async (): Promise<number> => {
    if (child.exitCode !== null) throw new Error(`Restate ended: ${said().slice(-2000)}`);
    const health = [`${adminUrl}/health`, `${ingressUrl}/restate/health`];
    const answers = await Promise.all(health.map((url) => fetch(url).catch(() => undefined)));
    return answers.filter((answer) => answer?.ok === true).length;
  };
  for (const until = Date.now() + 60_000; (await isUp()) < 2; await setTimeout(200)) {
    if (Date.now() > until) throw new Error(`Restate is not up after 60 s: ${said()}`);
  }
  return {
    ingressUrl,
    adminUrl,
    stop: async () => {
      child.kill("SIGKILL");
      await gone;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function findBinary(): string | undefined {
  const name = `@restatedev/restate-server-${process.platform}-${process.arch}`;
  try {
    return createRequire(import.meta.url).resolve(`${name}/bin/restate-server`);
  } catch (error) {
    if (everyPartRequired()) throw error;
    warnLoudly(`There is no ${name}: what needs a Restate server is SKIPPED.`);
    return undefined;
  }
}

function collect(child: ChildProcess): () => string {
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (part: Buffer) => (text = (text + part.toString()).slice(-10_000)));
  }
  return () => text;
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}
