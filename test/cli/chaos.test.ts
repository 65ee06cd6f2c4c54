/**
 * `nevertwice chaos` as people run it: bare servers make the effect twice, and the exit code says so;
 * behind the gateway the same faults leave one effect each. Over a pipe and by HTTP.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createGatewayWorld, lookedUp, refundPins } from "../gateway/support/gateway-world.ts";
import { npmServer, refundServer, refundUrl } from "../gateway/support/servers.ts";
import { passThroughGuard } from "../support/pass-through.ts";
import { describeStores } from "../support/stores.ts";
import { wholeList } from "../support/worker-params.ts";
import { builtMain, errorOf, runCli, storeArgs } from "./run-cli.ts";

const filesystem = npmServer("@modelcontextprotocol/server-filesystem/dist/index.js");
const git = npmServer("@cyanheads/git-mcp-server/dist/index.js");

interface Document {
  readonly ok: boolean;
  readonly totals: Readonly<Record<string, number>>;
  readonly results: readonly {
    readonly fault: string;
    readonly effects: number | null;
    readonly held: number;
    readonly verdict: string;
    readonly told: string;
  }[];
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

const bareCommand = {
  none: "once",
  "reply-lost": "doubled",
  "unavailable-before": "skipped",
  "unavailable-after": "skipped",
  duplicated: "doubled",
  "timed-out": "doubled",
  killed: "doubled",
};

const bareUrl = {
  ...bareCommand,
  "unavailable-before": "once",
  "unavailable-after": "doubled",
  killed: "skipped",
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
    "--probe-command",
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
      "--probe-command",
      `git -C ${place} rev-list --count HEAD`,
      "--faults",
      "none,reply-lost",
      "--",
      process.execPath,
      git,
    ],
    { GIT_BASE_DIR: place, MCP_LOG_LEVEL: "error" },
  );
  expect({ exitCode, verdicts }).toEqual({
    exitCode: 1,
    verdicts: { none: "once", "reply-lost": "doubled" },
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

it("a bare refund server refunds twice under every fault that a pipe can have", async () => {
  const place = folder();
  const { exitCode, verdicts, document } = await chaos(
    [...refund, "--", process.execPath, refundServer()],
    // The process is gone before it has replied.
    { LEDGER_FOLDER: place, REPLY_AFTER_MS: "400" },
  );
  expect({ exitCode, verdicts }).toEqual({ exitCode: 1, verdicts: bareCommand });
  expect(document.totals).toEqual({ calls: 5, effects: 9, held: 0, once: 1, doubled: 4, lost: 0 });
  expect(linesOf(place)).toBe(9);
});

it("only the call that is struck is given up early: a repetition waits for a slow server", async () => {
  const early = ["--faults", "reply-lost", "--timeout-ms", "200"];
  const { document } = await chaos([...refund, ...early, "--", process.execPath, refundServer()], {
    LEDGER_FOLDER: folder(),
    REPLY_AFTER_MS: "400",
  });
  expect(document.results).toMatchObject([
    { fault: "reply-lost", sent: 2, effects: 2, told: "ok" },
  ]);
});

it("a bare refund server at a URL refunds twice, also after a 503", async () => {
  const place = folder();
  const { exitCode, verdicts } = await chaos([...refund, "--url", await refundUrl(place)]);
  expect({ exitCode, verdicts }).toEqual({ exitCode: 1, verdicts: bareUrl });
  expect(linesOf(place)).toBe(1 + 2 + 1 + 2 + 2 + 2);
});

it("a call that took no effect is lost, and the exit code says so", async () => {
  const place = folder();
  writeFileSync(join(place, "decline"), "");
  const { exitCode, document } = await chaos(
    [...refund, "--faults", "none", "--", process.execPath, refundServer()],
    { LEDGER_FOLDER: place },
  );
  expect([exitCode, document.ok]).toEqual([1, false]);
  expect(document.results[0]).toMatchObject({ effects: 0, held: 0, verdict: "lost" });
});

it("a seed decides the order of the plays, and rounds how many there are", async () => {
  const order = async (seed: string): Promise<string> => {
    const { document } = await chaos(
      [...refund, "--faults", "none,duplicated", "--rounds", "3", "--settle-ms", "20"].concat([
        "--seed",
        seed,
        "--",
        process.execPath,
        refundServer(),
      ]),
      { LEDGER_FOLDER: folder() },
    );
    expect(document.totals).toMatchObject({ calls: 6, effects: 3 + 6 });
    return document.results.map(({ fault }) => fault).join();
  };
  const [first, again, other] = [await order("1"), await order("1"), await order("2")];
  expect(again).toBe(first);
  expect(other).not.toBe(first);
});

describeStores("chaos in front of the gateway", (suite) => {
  it("the same faults leave one refund each over a pipe, a kill before the reply too", async () => {
    const opened = await suite.open();
    const place = folder();
    const config = join(place, "nevertwice.yaml");
    writeFileSync(config, configText(place));
    const tools = Object.fromEntries(await refundPins());
    writeFileSync(join(place, "nevertwice.lock.json"), JSON.stringify({ version: 1, tools }));
    const gateway = [builtMain(), "gateway", "--config", config, "--stdio", ...storeArgs(opened)];
    const { exitCode, document } = await chaos([...refund, "--", process.execPath, ...gateway]);
    const played = Object.keys(bareCommand).filter((fault) => !fault.startsWith("unavailable"));
    const effects = document.results.flatMap(({ fault, effects: count }) =>
      count === null ? [] : [[fault, count]],
    );
    expect(effects).toEqual(played.map((fault) => [fault, 1]));
    expect([exitCode, document.ok]).toEqual([0, true]);
    expect(linesOf(place)).toBe(5);
    // The gateway was killed before it had settled: the next one took the operation over, and looked.
    const rows = await opened.store.list(wholeList);
    const events = await Promise.all(
      rows.map(async ({ tenant, key }) => {
        const lines = await opened.store.readJournal({ tenant, key, after: null, limit: 100 });
        return lines.map(({ event }) => event);
      }),
    );
    const found = events.filter((each) => each.includes("operation.found"));
    expect(found).toHaveLength(1);
    expect(found[0]).toContain("operation.taken-over");
  });

  it("the same faults leave one refund each by HTTP, a 503 too", async () => {
    const world = await createGatewayWorld(suite, { policy: lookedUp });
    const { exitCode, document } = await chaos([...refund, "--url", world.service.url]);
    expect([exitCode, document.totals]).toEqual([
      0,
      { calls: 6, effects: 6, held: 0, once: 6, doubled: 0, lost: 0 },
    ]);
    world.assertEffects(6);
  });

  it("without the guard the gateway doubles them by HTTP as the bare server does", async () => {
    const world = await createGatewayWorld(suite, { policy: lookedUp }, passThroughGuard);
    const { exitCode, verdicts } = await chaos([...refund, "--url", world.service.url]);
    expect({ exitCode, verdicts }).toEqual({ exitCode: 1, verdicts: bareUrl });
  });

  it("a call that waits for a person is held: neither doubled nor lost", async () => {
    const policy = "    key: { argument: idempotency_key }\n    flight: 1s\n    margin: 1s";
    const world = await createGatewayWorld(suite, { policy });
    world.set("die-before-effect");
    const { exitCode, document } = await chaos([
      ...refund,
      "--faults",
      "none",
      "--url",
      world.service.url,
    ]);
    expect(document.results[0]).toMatchObject({ verdict: "held", told: "NEEDS_REVIEW" });
    expect(document.totals).toMatchObject({ calls: 1, effects: 0, held: 1, lost: 0 });
    expect(exitCode).toBe(0);
  });
});

function linesOf(place: string): number {
  return readFileSync(join(place, "ledger.jsonl"), "utf8").trim().split("\n").length;
}

function configText(place: string): string {
  return `
context: { tenant: { value: acme } }
upstreams:
  shop:
    command: ${process.execPath}
    args: [${refundServer()}]
    env: { LEDGER_FOLDER: ${place}, REPLY_AFTER_MS: "400" }
tools:
  shop/issue_refund:
    kind: non-idempotent
    intent: refund:{args.order_id}
    businessArguments: { order_id: trim, amount_minor: null, currency: upper-case }
    freeText: [reason]
    timeout: 8s
${lookedUp}
  shop/list_refunds: { kind: read-only }
`;
}

it("what can't be played is refused in a sentence, before anything is called", async () => {
  const server = ["--", process.execPath, "-e", "0"];
  const refusals = [
    [["--tool", "x", "--probe-command", "echo 1", ...server], "{run}"],
    [["--tool", "x", "--args", '{"a":"{run}"}', ...server], "--probe-tool"],
    [["--tool", "x", "--args", '{"a":"{run}"}', "--probe-command", "echo 1"], "Name one server"],
    [["--tool", "x", "--faults", "earthquake", ...server], "reply-lost"],
    [["--tool", "x", "--listen", "0", ...server], "use one"],
    [["--url", "http://127.0.0.1:9/mcp", "--faults", "killed"], "can't be killed"],
    [["--url", "127.0.0.1:9/mcp"], "http://"],
    [["--header", "Authorization: Bearer x", ...server], "goes with --url"],
    [["--faults", "unavailable-after", ...server], "a 503 needs HTTP"],
    [["--listen", "0", "--faults", "killed", "--url", "http://127.0.0.1:9/mcp"], "can't be killed"],
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
    "--probe-command",
    "echo many",
    "--",
    process.execPath,
    filesystem,
    folder(),
  ]);
  expect(uncounted.exitCode).toBe(1);
  expect(String(errorOf(uncounted)["message"])).toContain("effects can't be counted");
});
