/**
 * What the MCP gateway costs: the same call to the same server, made by the official client directly
 * and through a gateway process, both over standard input and output, in turns. See README.md.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { readConfig } from "../src/gateway/config/load-config.ts";
import { inspectServer } from "../src/gateway/inspect.ts";
import { lockFileOf, writePins } from "../src/gateway/pins.ts";
import { createDatabase } from "../test/support/postgres-database.ts";
import { startPostgres } from "../test/support/postgres-server.ts";
import { loadNow, machineFacts, measureSync } from "./support/machine.ts";
import { median, percentile } from "./support/statistics.ts";

const { values } = parseArgs({
  options: {
    calls: { type: "string", default: "40" },
    rounds: { type: "string", default: "15" },
  },
});
const calls = Number(values.calls);
const rounds = Number(values.rounds);
const warmUpRounds = 3;

const cli = fileURLToPath(new URL("../src/cli/main.ts", import.meta.url));
const sdk = import.meta.resolve("@modelcontextprotocol/server");
const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;

/** A server whose effect takes no time. */
const server = `
import { Server } from ${JSON.stringify(sdk)};
import { serveStdio } from ${JSON.stringify(sdk.replace(/index\.mjs$/, "stdio.mjs"))};
let effects = 0;
const inputSchema = { type: "object", properties: { id: { type: "string" } }, required: ["id"] };
serveStdio(() => {
  const server = new Server({ name: "bench", version: "1" }, { capabilities: { tools: {} } });
  server.fallbackRequestHandler = async ({ method, params }) =>
    method === "tools/list"
      ? { tools: ["read", "pay", "send", "again"].map((name) => ({ name, inputSchema })) }
      : { content: [{ type: "text", text: String((effects += 1)) }] };
  return server;
});
`;

const policies = `
tools:
  bench/read: { kind: read-only }
  bench/again: { kind: non-idempotent, intent: "again:{trusted.one}", businessArguments: { id: } }
  bench/pay: { kind: non-idempotent, intent: "pay:{args.id}", businessArguments: { id: } }
  bench/send:
    kind: non-idempotent
    intent: "send:{args.id}"
    businessArguments: { id: }
    mode: window
    key: { meta: bench/key, retention: 24h, atomic: true, afterError: replays }
`;

interface Subject {
  readonly name: string;
  readonly client: Client;
  readonly tool: string;
  readonly id: (index: number) => string;
}

async function connect(args: readonly string[]): Promise<Client> {
  const client = new Client({ name: "bench", version: "1" });
  const environment = { ...process.env } as Record<string, string>;
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [...args],
    env: environment,
    stderr: "ignore",
  });
  await client.connect(transport);
  return client;
}

/** One block of calls, one after another; each call's span in milliseconds. */
async function block(subject: Subject, round: number): Promise<number[]> {
  const spans: number[] = [];
  for (let index = 0; index < calls; index += 1) {
    const params = { name: subject.tool, arguments: { id: subject.id(round * calls + index) } };
    const startedMs = performance.now();
    const result = await subject.client.callTool(params);
    spans.push(performance.now() - startedMs);
    if (result.isError === true) throw new Error(`${subject.name}: ${JSON.stringify(result)}`);
  }
  return spans;
}

async function measureStore(folder: string, store: string): Promise<void> {
  const script = join(folder, "server.mjs");
  const file = join(folder, "nevertwice.yaml");
  const text = `store: "\${BENCH_STORE}"
context: { tenant: { value: bench }, trusted: { one: { value: one } } }
upstreams: { bench: { command: "${process.execPath}", args: ["${script}"] } }
${policies}`;
  writeFileSync(script, server);
  writeFileSync(file, text);
  process.env["BENCH_STORE"] = store;
  execFileSync(process.execPath, ["--import", tsx, cli, "migrate", "--store", store]);
  const [spec] = readConfig(file, text, process.env).upstreams.values();
  if (spec === undefined) throw new Error("the configuration has a server");
  const tools = await inspectServer(spec, "0");
  writePins(lockFileOf({ file }), new Map(tools.map(({ name, hash }) => [name, hash])));
  const direct = await connect([script]);
  const args = ["--import", tsx, cli, "gateway", "--config", file, "--log-level", "silent"];
  const gateway = await connect(args);
  const id = (index: number): string => `id-${index}`;
  const subjects: Subject[] = [
    { name: "direct", client: direct, tool: "pay", id },
    { name: "gateway, read-only", client: gateway, tool: "read", id },
    { name: "gateway, strict", client: gateway, tool: "pay", id },
    { name: "gateway, window", client: gateway, tool: "send", id },
    { name: "gateway, replay", client: gateway, tool: "again", id: () => "one" },
  ];
  print(store, await measure(subjects));
  await Promise.all([direct.close(), gateway.close()]);
}

/** Rounds begin with another subject each, so that what the machine does to one it does to all. */
async function measure(subjects: readonly Subject[]): Promise<Map<string, number[][]>> {
  const blocks = new Map<string, number[][]>(subjects.map(({ name }) => [name, []]));
  for (let round = 0; round < warmUpRounds + rounds; round += 1) {
    for (const at of subjects.keys()) {
      const subject = subjects[(at + round) % subjects.length];
      if (subject === undefined) continue;
      const spans = await block(subject, round);
      if (round >= warmUpRounds) blocks.get(subject.name)?.push(spans);
    }
  }
  return blocks;
}

function print(store: string, blocks: ReadonlyMap<string, readonly (readonly number[])[]>): void {
  const floor = blocks.get("direct") ?? [];
  console.log(`\n### ${store.startsWith("postgres") ? "postgres" : "sqlite"}\n`);
  console.log("| subject | samples | p50 ms | p99 ms | p50 ÷ direct | added ms |");
  console.log("| --- | ---: | ---: | ---: | ---: | ---: |");
  for (const [name, rows] of blocks) {
    const all = rows.flat();
    const ratios = rows.map((row, index) => median(row) / median(floor[index] ?? row));
    const added = rows.map((row, index) => median(row) - median(floor[index] ?? row));
    const cells = [
      name,
      String(all.length),
      percentile(all, 0.5).toFixed(2),
      percentile(all, 0.99).toFixed(2),
      median(ratios).toFixed(2),
      median(added).toFixed(2),
    ];
    console.log(`| ${cells.join(" | ")} |`);
  }
}

const folder = mkdtempSync(join(tmpdir(), "nevertwice-bench-"));
try {
  const sync = measureSync(folder);
  console.log(JSON.stringify({ ...machineFacts(folder), sync, load: loadNow() }));
  await measureStore(folder, join(folder, "bench.sqlite"));
  const postgres = await startPostgres();
  try {
    const database = await createDatabase(postgres.url);
    await measureStore(folder, database.url);
  } finally {
    await postgres.stop();
  }
  console.log(`\nload of the last minute at the end: ${loadNow()}`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
