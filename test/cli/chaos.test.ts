/**
 * `nevertwice chaos` as people run it: bare servers make the effect twice, and the exit code says so;
 * behind the gateway the same faults leave one effect each.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { lookedUp, refundPins } from "../gateway/support/gateway-world.ts";
import { npmServer, refundServer } from "../gateway/support/servers.ts";
import { describeStores } from "../support/stores.ts";
import { builtMain, errorOf, runCli, storeArgs } from "./run-cli.ts";

const filesystem = npmServer("@modelcontextprotocol/server-filesystem/dist/index.js");
const git = npmServer("@cyanheads/git-mcp-server/dist/index.js");

interface Document {
  readonly ok: boolean;
  readonly results: readonly { fault: string; effects: number | null; verdict: string }[];
}

function folder(): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "nevertwice-chaos-")));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

async function chaos(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ exitCode: number | null; verdicts: Record<string, string>; document: Document }> {
  const ran = await runCli(["chaos", "--json", ...args], { env });
  if (ran.stdout === "") throw new Error(ran.stderr);
  const document = JSON.parse(ran.stdout) as Document;
  const verdicts = document.results.map(({ fault, verdict }) => [fault, verdict] as const);
  return { exitCode: ran.exitCode, verdicts: Object.fromEntries(verdicts), document };
}

const allDoubled = {
  none: "once",
  "reply-lost": "doubled",
  unavailable: "doubled",
  duplicated: "doubled",
  "timed-out": "doubled",
  killed: "doubled",
};

it("a bare filesystem server edits twice", async () => {
  const place = folder();
  const path = join(place, "note.txt");
  writeFileSync(path, "start\n");
  const edits = [{ oldText: "start\n", newText: "start\n{run}\n" }];
  const { exitCode, verdicts } = await chaos([
    "--tool",
    "edit_file",
    "--args",
    JSON.stringify({ path, edits }),
    "--count-command",
    `wc -l < ${path}`,
    "--faults",
    "none,reply-lost,killed",
    "--",
    process.execPath,
    filesystem,
    place,
  ]);
  const expected = { none: "once", "reply-lost": "doubled", killed: "doubled" };
  expect({ exitCode, verdicts }).toEqual({ exitCode: 1, verdicts: expected });
  expect(readFileSync(path, "utf8").trim().split("\n")).toHaveLength(1 + 1 + 2 + 2);
});

it("a bare git server commits twice", async () => {
  const place = folder();
  execFileSync("git", ["init", "-q", place]);
  for (const [name, value] of [
    ["user.email", "agent@example.com"],
    ["user.name", "Agent"],
  ] as const)
    execFileSync("git", ["-C", place, "config", name, value]);
  execFileSync("git", ["-C", place, "commit", "-q", "--allow-empty", "-m", "first"]);
  const args = { path: place, allowEmpty: true, message: "{run}" };
  const { exitCode, verdicts } = await chaos(
    [
      "--tool",
      "git_commit",
      "--args",
      JSON.stringify(args),
      "--count-command",
      `git -C ${place} rev-list --count HEAD`,
      "--faults",
      "none,unavailable",
      "--",
      process.execPath,
      git,
    ],
    { GIT_BASE_DIR: place, MCP_LOG_LEVEL: "error" },
  );
  expect({ exitCode, verdicts }).toEqual({
    exitCode: 1,
    verdicts: { none: "once", unavailable: "doubled" },
  });
});

const refund = [
  "--tool",
  "issue_refund",
  "--args",
  '{"order_id":"{run}","amount_minor":48000}',
  "--probe-tool",
  "list_refunds",
  "--count-path",
  "/refunds",
];

it("a bare refund server refunds twice under every fault", async () => {
  const { exitCode, verdicts } = await chaos([...refund, "--", process.execPath, refundServer()], {
    LEDGER_FOLDER: folder(),
  });
  expect({ exitCode, verdicts }).toEqual({ exitCode: 1, verdicts: allDoubled });
});

describeStores("chaos in front of the gateway", (suite) => {
  it("the same faults leave one refund each", async () => {
    const opened = await suite.open();
    const place = folder();
    const config = join(place, "nevertwice.yaml");
    writeFileSync(config, configText(place));
    const tools = Object.fromEntries(await refundPins());
    writeFileSync(join(place, "nevertwice.lock.json"), JSON.stringify({ version: 1, tools }));
    const gateway = [builtMain(), "gateway", "--config", config, "--stdio", ...storeArgs(opened)];
    const { exitCode, document } = await chaos([...refund, "--", process.execPath, ...gateway]);
    const effects = document.results.map((result) => [result.fault, result.effects]);
    expect(effects).toEqual(Object.keys(allDoubled).map((fault) => [fault, 1]));
    expect([exitCode, document.ok]).toEqual([0, true]);
    expect(readFileSync(join(place, "ledger.jsonl"), "utf8").trim().split("\n")).toHaveLength(6);
  }, 60_000);
});

function configText(place: string): string {
  return `
context: { tenant: { value: acme } }
upstreams:
  shop:
    command: ${process.execPath}
    args: [${refundServer()}]
    env: { LEDGER_FOLDER: ${place} }
tools:
  shop/issue_refund:
    kind: non-idempotent
    intent: refund:{args.order_id}
    businessArguments: { order_id: trim, amount_minor: null, currency: upper-case }
    freeText: [reason]
    timeout: 5s
${lookedUp}
  shop/list_refunds: { kind: read-only }
`;
}

it("what can't be played is refused in a sentence, before anything is called", async () => {
  const server = ["--", process.execPath, "-e", "0"];
  const refusals = [
    [["--tool", "x", "--count-command", "echo 1", ...server], "{run}"],
    [["--tool", "x", "--args", '{"a":"{run}"}', ...server], "--probe-tool"],
    [["--tool", "x", "--args", '{"a":"{run}"}', "--count-command", "echo 1"], "Name one server"],
    [["--tool", "x", "--faults", "earthquake", ...server], "reply-lost"],
  ] as const;
  for (const [args, said] of refusals) {
    const ran = await runCli(["chaos", "--json", ...args]);
    expect([ran.exitCode, ran.stdout]).toEqual([2, ""]);
    expect(String(errorOf(ran)["message"])).toContain(said);
  }
  const uncounted = await runCli([
    "chaos",
    "--json",
    "--tool",
    "edit_file",
    "--args",
    '{"path":"{run}"}',
    "--count-command",
    "echo many",
    "--",
    process.execPath,
    filesystem,
    folder(),
  ]);
  expect(uncounted.exitCode).toBe(1);
  expect(String(errorOf(uncounted)["message"])).toContain("effects can't be counted");
});
