/**
 * A real server from npm behind the gateway, end to end: an edit that is not idempotent, asked for
 * three times, the last time of a gateway that was killed and started again. The file is edited once.
 *
 * Run it in the repository: npx tsx examples/mcp-gateway/run.ts
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const here = fileURLToPath(new URL(".", import.meta.url));
const cli = join(here, "../../src/cli/main.ts");
const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
const folder = realpathSync(mkdtempSync(join(tmpdir(), "nevertwice-example-")));
const note = join(folder, "note.txt");
const environment = {
  ...process.env,
  EXAMPLE_FOLDER: folder,
  EXAMPLE_STORE: join(folder, "nevertwice.sqlite"),
} as Record<string, string>;

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** An agent with a gateway of its own, as a host starts it. */
async function startAgent(): Promise<{ agent: Client; gateway: StdioClientTransport }> {
  const gateway = new StdioClientTransport({
    command: process.execPath,
    args: ["--import", tsx, cli, "gateway", "--config", join(here, "nevertwice.yaml")],
    env: { ...environment, NODE_ENV: "production" },
    stderr: "ignore",
  });
  const agent = new Client({ name: "example-agent", version: "1.0.0" });
  await agent.connect(gateway);
  return { agent, gateway };
}

async function edit(agent: Client): Promise<string> {
  const result = await agent.callTool({
    name: "edit_file",
    arguments: { path: note, edits: [{ oldText: "hello", newText: "hello hello" }] },
    _meta: { "dev.nevertwice/context": { trusted: { change: "greeting-1" } } },
  });
  const texts = result.content.flatMap((block) => (block.type === "text" ? [block.text] : []));
  return texts.at(-1) ?? "";
}

try {
  writeFileSync(note, "hello\n");
  execFileSync(
    process.execPath,
    ["--import", tsx, cli, "migrate", "--store", environment["EXAMPLE_STORE"] ?? ""],
    { env: environment },
  );
  const first = await startAgent();
  say(`1. ${await edit(first.agent)}`);
  say(`2. ${await edit(first.agent)}`);
  process.kill(first.gateway.pid ?? 0, "SIGKILL");
  const second = await startAgent();
  say(`3. ${await edit(second.agent)}`);
  await second.agent.close();
  say(`The file says: ${readFileSync(note, "utf8").trim()}`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
