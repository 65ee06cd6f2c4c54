/**
 * `inspect`, `init` and `gateway` as people run them: against servers from npm, with their output,
 * exit codes and files.
 */
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { readConfig } from "../../src/gateway/config/load-config.ts";
import { npmServer } from "../gateway/support/servers.ts";
import { type BuiltPackage, buildPackage } from "./built-package.ts";
import { builtMain, runCli } from "./run-cli.ts";

const filesystem = npmServer("@modelcontextprotocol/server-filesystem/dist/index.js");
let bare: BuiltPackage;
beforeAll(() => (bare = buildPackage({ withDrivers: false })));
afterAll(() => bare.remove());

function folder(): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "nevertwice-cli-")));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

it("inspect shows tools, hints, verdicts and a draft that can be read back", async () => {
  const server = [process.execPath, filesystem, folder()];
  const shown = await runCli(["inspect", "--name", "fs", "--", ...server]);
  expect(shown.exitCode).toBe(0);
  expect(shown.stdout).toContain("fs/edit_file");
  const draft = shown.stdout.slice(shown.stdout.indexOf("tools:"));
  const config = readConfig("/x.yaml", `upstreams: { fs: { command: fs } }\n${draft}`, {});
  expect(config.policies.get("fs/edit_file")?.kind).toBe("non-idempotent");
  expect(config.policies.get("fs/read_text_file")?.kind).toBe("read-only");
  const json = await runCli(["inspect", "--name", "fs", "--json", "--", ...server]);
  const { tools } = JSON.parse(json.stdout) as { tools: Record<string, unknown>[] };
  expect(tools.find(({ name }) => name === "fs/edit_file")).toMatchObject({
    hints: { readOnlyHint: false, destructiveHint: true },
    hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    pin: "new",
  });
});

it("a probe sees what a tool does, and tells a hint that lies by exit code 1", async () => {
  const place = folder();
  const file = join(place, "note.txt");
  writeFileSync(file, "hello\n");
  const args = { path: file, edits: [{ oldText: "hello", newText: "hello hello" }] };
  const probe = (
    server: readonly string[],
    ...more: readonly string[]
  ): ReturnType<typeof runCli> => runCli(["inspect", "--json", ...more, "--", ...server]);
  const observe = ["--observe", "read_text_file", "--observe-args", JSON.stringify({ path: file })];
  const honest = [process.execPath, filesystem, place];
  const edited = await probe(
    honest,
    "--probe",
    "edit_file",
    "--args",
    JSON.stringify(args),
    ...observe,
  );
  expect([edited.exitCode, JSON.parse(edited.stdout)]).toMatchObject([
    0,
    { tool: "edit_file", observed: "repeats", lies: [] },
  ]);
  expect(readFileSync(file, "utf8")).toBe("hello hello hello\n");

  const counter = join(place, "counter.mjs");
  writeFileSync(counter, lyingServer);
  const lying = await probe([process.execPath, counter], "--probe", "look", "--observe", "count");
  expect(lying.exitCode).toBe(1);
  expect(JSON.parse(lying.stdout)).toMatchObject({
    observed: "repeats",
    lies: [
      "readOnlyHint is true, but the state changed",
      "idempotentHint is true, but the second call changed the state again",
    ],
  });
});

const sdk = import.meta.resolve("@modelcontextprotocol/server");
const lyingServer = `
import { Server } from ${JSON.stringify(sdk)};
import { serveStdio } from ${JSON.stringify(sdk.replace(/index\.mjs$/, "stdio.mjs"))};
let count = 0;
const inputSchema = { type: "object" };
const annotations = { readOnlyHint: true, idempotentHint: true };
serveStdio(() => {
  const server = new Server({ name: "liar", version: "1" }, { capabilities: { tools: {} } });
  server.fallbackRequestHandler = async ({ method, params }) => {
    if (method === "tools/list")
      return { tools: [{ name: "look", inputSchema, annotations }, { name: "count", inputSchema }] };
    if (params.name === "look") count += 1;
    return { content: [{ type: "text", text: params.name === "count" ? String(count) : "looked" }] };
  };
  return server;
});
`;

it("init, migrate and gateway, one after another, guard a server from npm", async () => {
  const place = folder();
  const config = join(place, "nevertwice.yaml");
  const server = [process.execPath, filesystem, place];
  const made = await runCli(["init", "--config", config, "--name", "fs", "--", ...server]);
  expect(made.exitCode).toBe(0);
  const again = await runCli(["init", "--config", config, "--", ...server]);
  expect([again.exitCode, again.stderr]).toEqual([2, expect.stringContaining("(EXISTS)")]);
  const store = join(place, "nevertwice.sqlite");
  expect((await runCli(["migrate", "--store", store])).exitCode).toBe(0);
  expect((await runCli(["inspect", "--config", config])).exitCode).toBe(0);

  const client = new Client({ name: "agent", version: "1" });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [builtMain(), "gateway", "--config", config],
    stderr: "ignore",
  });
  await client.connect(transport);
  onTestFinished(() => client.close());
  const file = join(place, "note.txt");
  writeFileSync(file, "hello\n");
  const call = {
    name: "edit_file",
    arguments: { path: file, edits: [{ oldText: "hello", newText: "hello hello" }] },
  };
  await client.callTool(call);
  await client.callTool(call);
  expect(readFileSync(file, "utf8")).toBe("hello hello\n");
});

it("a changed lock file is told by exit code 1, and --pin mends it", async () => {
  const place = folder();
  const config = join(place, "nevertwice.yaml");
  const lock = join(place, "nevertwice.lock.json");
  await runCli(["init", "--config", config, "--", process.execPath, filesystem, place]);
  writeFileSync(lock, readFileSync(lock, "utf8").replace(/"[0-9a-f]{64}"/, `"${"0".repeat(64)}"`));
  const looked = await runCli(["inspect", "--config", config]);
  expect([looked.exitCode, looked.stdout]).toEqual([1, expect.stringContaining("changed")]);
  expect((await runCli(["inspect", "--config", config, "--pin"])).exitCode).toBe(0);
  expect((await runCli(["inspect", "--config", config])).exitCode).toBe(0);
});

it("what can't be used is told in a sentence, with an exit code", async () => {
  const place = folder();
  const config = join(place, "nevertwice.yaml");
  const runs = [
    await runCli(["inspect"]),
    await runCli(["inspect", "--pin", "--", "server"]),
    await runCli(["inspect", "--", join(place, "no-server")]),
    await runCli(["gateway", "--config", config]),
    await runCli(["init", "--config", config, "--", join(place, "no-server")]),
  ];
  expect(runs.map(({ exitCode }) => exitCode)).toEqual([2, 2, 1, 2, 1]);
  expect(existsSync(config)).toBe(false);
  writeFileSync(config, "upstreams: {}\n");
  const faulty = await runCli(["gateway", "--config", config]);
  expect(faulty.exitCode).toBe(2);
  expect(faulty.stderr).toContain("nevertwice.yaml:1:");
  const missing = await runCli(["inspect", "--", "server"], { main: bare.main });
  expect([missing.exitCode, missing.stderr]).toEqual([
    3,
    expect.stringContaining("npm install @modelcontextprotocol/client@2"),
  ]);
});

it("a port that is taken ends the gateway, and the servers that it has started", async () => {
  const place = folder();
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void taken.close());
  const { port } = taken.address() as AddressInfo;
  const config = join(place, "nevertwice.yaml");
  const server = `{ command: ${process.execPath}, args: [${filesystem}, ${place}] }`;
  writeFileSync(config, `http: { port: ${port} }\nupstreams: { fs: ${server} }\n`);
  const store = ["--store", join(place, "ops.db")];
  await runCli(["migrate", ...store]);
  const ran = await runCli(["gateway", "--config", config, ...store]);
  expect(ran.exitCode).toBe(2);
  expect(ran.stderr).toContain("`http` can't be served: listen EADDRINUSE");
});
