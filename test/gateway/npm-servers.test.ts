/**
 * Servers from npm behind the gateway, unchanged: an edit that would apply twice, a commit that would
 * be made twice, and everything that only passes through. The judges are the file and the repository.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Client } from "@modelcontextprotocol/client";
import { pino } from "pino";
import { expect, it, onTestFinished } from "vitest";
import { createGuard } from "../../src/index.ts";
import { readConfig } from "../../src/gateway/config/load-config.ts";
import type { UpstreamSpec } from "../../src/gateway/config/gateway-config.ts";
import { startGateway } from "../../src/gateway/gateway.ts";
import { inspectServer } from "../../src/gateway/inspect.ts";
import { serveAgentsOnHttp } from "../../src/gateway/serve-http.ts";
import { passThroughGuard } from "../support/pass-through.ts";
import { type StoreSuite, describeStores, sqliteSuite } from "../support/stores.ts";
import { callTool, connectAgent, toldBy } from "./support/gateway-world.ts";
import { everything, npmServer } from "./support/servers.ts";

const filesystem = npmServer("@modelcontextprotocol/server-filesystem/dist/index.js");
const git = npmServer("@cyanheads/git-mcp-server/dist/index.js");

interface Place {
  readonly folder: string;
  readonly agent: Client;
}

async function start(
  suite: StoreSuite,
  config: (folder: string) => string,
  create: typeof createGuard,
): Promise<Place> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "nevertwice-npm-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  execFileSync("git", ["init", "-q", folder]);
  execFileSync("git", ["-C", folder, "config", "user.email", "agent@example.com"]);
  execFileSync("git", ["-C", folder, "config", "user.name", "Agent"]);
  writeFileSync(join(folder, "greeting.txt"), "hello\n");
  const read = readConfig(
    join(folder, "nevertwice.yaml"),
    `context: { tenant: { value: acme } }\n${config(folder)}`,
    {},
  );
  const pins = new Map<string, string>();
  for (const spec of read.upstreams.values()) {
    for (const [tool, hash] of await hashesOf(spec)) pins.set(`${spec.name}/${tool}`, hash);
  }
  const log = pino({ level: "silent" });
  const gateway = await startGateway({
    config: read,
    readPins: () => pins,
    store: (await suite.open()).store,
    log,
    version: "0.0.0",
    createGuard: create,
  });
  const http = { host: "127.0.0.1", port: 0, path: "/mcp", tokens: [] };
  const service = await serveAgentsOnHttp(gateway, http, "0.0.0", log);
  const agent = await connectAgent(service.url);
  onTestFinished(async () => {
    await agent.close();
    await gateway.close();
    await service.close();
  });
  return { folder, agent };
}

const known = new Map<string, Promise<ReadonlyMap<string, string>>>();

/** What a server's tools hash to; each server is started once for that. */
function hashesOf(spec: UpstreamSpec): Promise<ReadonlyMap<string, string>> {
  const script = spec.kind === "command" ? (spec.args[0] ?? "") : spec.url;
  const hashes =
    known.get(script) ??
    inspectServer(spec, "0.0.0").then(
      (tools) => new Map(tools.map(({ definition, hash }) => [definition.name, hash])),
    );
  known.set(script, hashes);
  return hashes;
}

/** Registers a scenario, and the check that it breaks without a guard. */
function holds(
  title: string,
  suite: StoreSuite,
  config: (folder: string) => string,
  play: (place: Place) => Promise<void>,
): void {
  it(`${title}: holds`, async () => play(await start(suite, config, createGuard)));
  it(`${title}: breaks under a pass-through guard`, async () => {
    const place = await start(suite, config, passThroughGuard);
    await expect(play(place)).rejects.toThrow();
  });
}

const editing = (folder: string): string => `
upstreams:
  fs: { command: "${process.execPath}", args: ["${filesystem}", "${folder}"] }
tools:
  fs/edit_file:
    kind: non-idempotent
    intentFrom: [meta]
    businessArguments: { path: , edits: , dryRun: }
  fs/read_text_file: { kind: read-only }
`;

const committing = (folder: string): string => `
upstreams:
  git:
    command: "${process.execPath}"
    args: ["${git}"]
    env: { GIT_BASE_DIR: "${folder}", MCP_LOG_LEVEL: error }
tools:
  git/git_commit:
    kind: non-idempotent
    intent: "release:{trusted.release}"
    businessArguments: { path: , allowEmpty: , amend: , noVerify: , filesToStage: , author: }
    fixed: { message: "Release in {args.path}" }
    reconcile:
      tool: git_log
      arguments: { path: "{args.path}" }
      contains: "Release in {args.path}"
  git/git_log: { kind: read-only }
`;

describeStores("servers from npm", (suite) => {
  holds(
    "an edit whose result would match again is applied once",
    suite,
    editing,
    async ({ folder, agent }) => {
      const path = join(folder, "greeting.txt");
      const edit = { path, edits: [{ oldText: "hello", newText: "hello hello" }] };
      const meta = { "dev.nevertwice/context": { intent: "greet:task-1" } };
      const answers = await Promise.all(
        Array.from({ length: 3 }, () => callTool(agent, "edit_file", edit, meta)),
      );
      expect(readFileSync(path, "utf8")).toBe("hello hello\n");
      expect(answers.map(toldBy).toSorted()).toEqual(["DONE", "REPLAYED", "REPLAYED"]);
      const read = await callTool(agent, "read_text_file", { path });
      expect(read.content[0]?.text).toBe("hello hello\n");
    },
  );

  holds("a commit is made once", suite, committing, async ({ folder, agent }) => {
    const args = { path: folder, allowEmpty: true };
    const meta = { "dev.nevertwice/context": { trusted: { release: "1.2.0" } } };
    const answers = [
      await callTool(agent, "git_commit", args, meta),
      await callTool(agent, "git_commit", args, meta),
    ];
    const commits = execFileSync("git", ["-C", folder, "log", "--format=%s"], { encoding: "utf8" });
    expect(commits.trim().split("\n")).toEqual([`Release in ${folder}`]);
    expect(answers.map(toldBy)).toEqual(["DONE", "REPLAYED"]);
  });
});

const passing = (folder: string): string => `
unlisted: pass
upstreams:
  one: { command: "${process.execPath}", args: ["${everything}", stdio] }
  two: { command: "${process.execPath}", args: ["${filesystem}", "${folder}"] }
  three: { command: "${process.execPath}", args: ["${filesystem}", "${folder}"] }
`;

it("progress, structured content, resources and prompts pass through; clashing names get their server's", async () => {
  const { agent } = await start(sqliteSuite, passing, createGuard);
  const { tools } = await agent.listTools();
  const names = tools.map(({ name }) => name);
  expect(names).toContain("echo");
  expect(names).toContain("two__edit_file");
  expect(names).toContain("three__edit_file");
  expect(names).not.toContain("edit_file");
  const progress: number[] = [];
  const long = await agent.callTool(
    { name: "trigger-long-running-operation", arguments: { duration: 0.2, steps: 2 } },
    { onprogress: (each) => void progress.push(each.progress) },
  );
  expect(long.isError).not.toBe(true);
  expect(progress).toEqual([1, 2]);
  const structured = await callTool(agent, "get-structured-content", { location: "New York" });
  expect(structured.structuredContent).toMatchObject({ conditions: expect.any(String) });
  const { resources } = await agent.listResources();
  const uri = resources[0]?.uri ?? "";
  const { contents } = await agent.readResource({ uri });
  expect(contents[0]?.uri).toBe(uri);
  const { prompts } = await agent.listPrompts();
  const simple = await agent.getPrompt({ name: prompts[0]?.name ?? "" });
  expect(simple.messages.length).toBeGreaterThan(0);
});
