/**
 * The demo, with every process of it real, on both stores. The verdict is the ledger in its JSON.
 */
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { expect, inject, it, onTestFinished } from "vitest";
import { type ActReport, type DemoReport, verdict } from "../../src/cli/demo/run-demo.ts";
import { WorkerProcess } from "../../src/cli/demo/worker-process.ts";
import { createDatabase } from "../support/postgres-database.ts";
import { runCli, runJson, sourceMain, startCli } from "./run-cli.ts";

/** A folder for temporary files, so that what is left behind shows. */
function ownTemporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "nevertwice-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** What a demo put there; tsx keeps its cache there, too. */
function demoFolders(folder: string): string[] {
  return readdirSync(folder).filter((name) => name.startsWith("nevertwice-demo"));
}

/** Everything that the demo promises, from its own report. */
function expectPromiseKept(report: DemoReport): void {
  const [bare, guarded] = report.acts;
  expect(bare?.ledger.map(({ body }) => body["amountMinor"])).toEqual([48_000, 48_000, 48_000]);
  expect(new Set(bare?.ledger.map(({ key }) => key)).size, "bare keys differ").toBe(3);
  expect(guarded?.ledger.map(({ body }) => body)).toEqual([
    { orderId: "8812", amountMinor: 48_000, currency: "EUR" },
  ]);
  expect(report.acts.map(({ summary }) => summary)).toEqual([
    "bare: 3 attempts, 3 refunds (€1,440.00)",
    "guarded: 3 attempts, 1 refund (€480.00)",
  ]);
  expect(report).toMatchObject({ ok: true, fault: null });
  for (const act of report.acts) {
    const killed = act.timeline.filter(({ facts }) => facts["signal"] === "SIGKILL");
    expect(killed, "one worker is killed").toHaveLength(1);
    const processes = act.timeline.map(({ facts }) => facts["processId"]).filter(Boolean);
    expect(new Set(processes).size, "three workers").toBe(3);
    expect(act.timeline.map(({ atMs }) => atMs)).toEqual(
      act.timeline.map(({ atMs }) => atMs).toSorted((a, b) => a - b),
    );
  }
}

/** What the three workers of an act were told; the killed one nothing. */
function toldIn(report: DemoReport, act: number): unknown[] {
  return (report.acts[act]?.timeline ?? [])
    .map(({ facts }) => facts["answer"] as Record<string, unknown> | undefined)
    .filter((answer) => answer !== undefined)
    .map(({ kind, code, effectId, replayed }) => code ?? { kind, effectId, replayed });
}

it("the demo on SQLite ends with three bare refunds and one guarded, and leaves nothing behind", async () => {
  const folder = ownTemporaryFolder();
  const { document, exitCode, stderr } = await runJson(["demo"], { env: { TMPDIR: folder } });
  const report = document as DemoReport;
  expectPromiseKept(report);
  expect(toldIn(report, 0)).toEqual([
    "TIMEOUT",
    { kind: "refund", effectId: "eff_3", replayed: false },
  ]);
  expect(toldIn(report, 1)).toEqual([
    "OUTCOME_UNKNOWN",
    { kind: "refund", effectId: "eff_1", replayed: true },
  ]);
  expect(report.acts[1]?.journal?.map(({ event }) => event)).toEqual([
    "operation.claimed",
    "operation.armed",
    "operation.unknown",
    "operation.repeated",
    "operation.taken-over",
    "operation.repeated",
    "operation.taken-over",
    "operation.found",
  ]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(demoFolders(folder)).toEqual([]);
});

it.skipIf(inject("postgresUrl") === null)(
  "the demo on PostgreSQL does the same in a schema of its own, which it drops",
  async () => {
    const database = await createDatabase(inject("postgresUrl") ?? "");
    onTestFinished(() => database.drop());
    const { document, exitCode, stderr } = await runJson(["demo", "--store", database.url]);
    expectPromiseKept(document as DemoReport);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    const client = new Client({ connectionString: database.url });
    await client.connect();
    const left = await client.query(
      "select nspname from pg_namespace where nspname like 'nevertwice%'",
    );
    await client.end();
    expect(left.rows).toEqual([]);
  },
);

it("for people the demo prints a timeline, both ledgers and both verdicts, also from the source", async () => {
  const { stdout, exitCode } = await runCli(["demo", "--speed", "1000"], { main: sourceMain });
  const lines = stdout.split("\n");
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
  expect(lines).toContain("bare: 3 attempts, 3 refunds (€1,440.00)");
  expect(lines).toContain("guarded: 3 attempts, 1 refund (€480.00)");
  expect(lines.filter((line) => /^ {2}eff_\d .*€480\.00/.test(line))).toHaveLength(4);
  expect(stdout).toContain("Is told: OUTCOME_UNKNOWN.");
  expect(stdout).toContain("Is told: Already done: this intent took effect once");
  expect(stdout, "no colours where there is no terminal").not.toContain("\u001b");
  expect(exitCode).toBe(0);
});

it("what happened before a worker's answer may become known after it", async () => {
  const nobody = "http://127.0.0.1:1";
  const part = { decision: null, reading: 1, holdAt: null, waitMs: 0 } as const;
  const worker = new WorkerProcess({ mode: "bare", providerUrl: nobody, store: null, ...part });
  onTestFinished(() => worker.kill());
  expect(await worker.told()).toMatchObject({ kind: "error", code: "REFUSED" });
  const news = new Promise((resolve) => setTimeout(resolve, 50, "parked"));
  expect(await worker.before(news)).toBe("parked");
});

it("a ledger with one refund too many, too few, or another amount breaks the promise", () => {
  const act = (name: ActReport["act"], ...amounts: number[]): ActReport => ({
    act: name,
    attempts: 3,
    refunds: amounts.length,
    totalMinor: 0,
    currency: "EUR",
    summary: `${name}: …`,
    timeline: [],
    ledger: amounts.map((amountMinor) => ({
      effectId: "eff_1",
      atMs: 0,
      operation: "refund",
      key: null,
      tag: null,
      body: { amountMinor },
      account: null,
    })),
    journal: null,
  });
  const bare = act("bare", 48_000, 48_000, 48_000);
  const judge = (one: ActReport, other: ActReport) => verdict("", one, other).fault;
  expect(judge(bare, act("guarded", 48_000))).toBeNull();
  expect(judge(bare, act("guarded", 48_000, 48_000))).toContain("exactly 1 refund of €480.00");
  expect(judge(bare, act("guarded"))).toContain("the guarded ledger");
  expect(judge(bare, act("guarded", 1))).toContain("the guarded ledger");
  expect(judge(act("bare", 48_000), act("guarded", 48_000))).toContain("exactly 3 refunds");
});

it("Ctrl-C in the middle of the demo ends its processes and removes its files", async () => {
  const folder = ownTemporaryFolder();
  const child = startCli(["demo"], { env: { TMPDIR: folder } });
  let seen = "";
  await new Promise<void>((resolve) => {
    child.stdout?.on("data", (chunk: Buffer) => {
      seen += chunk.toString("utf8");
      if (seen.includes("Is told: TIMEOUT")) resolve();
    });
  });
  expect(demoFolders(folder)).toHaveLength(1);
  child.kill("SIGINT");
  await once(child, "close");
  expect(child.exitCode).toBe(130);
  expect(demoFolders(folder)).toEqual([]);
  expect(processesWith(`TMPDIR=${folder}`)).toEqual([]);
});

it("a reader that goes away ends the demo, which leaves nothing behind", async () => {
  const folder = ownTemporaryFolder();
  const child = startCli(["demo"], { env: { TMPDIR: folder } });
  let stderr = "";
  child.stderr?.on("data", (chunk: Buffer) => (stderr += chunk.toString("utf8")));
  child.stdout?.once("data", () => child.stdout?.destroy());
  await once(child, "close");
  expect({ exitCode: child.exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(readdirSync(folder)).toEqual([]);
  expect(processesWith(`TMPDIR=${folder}`)).toEqual([]);
});

it("the demo refuses a store that is not its own to fill", async () => {
  const [file, schema, speed] = await Promise.all([
    runCli(["demo", "--store", "./orders.sqlite"]),
    runCli(["demo", "--schema", "nevertwice"]),
    runCli(["demo", "--speed", "0"]),
  ]);
  expect([file.exitCode, schema.exitCode, speed.exitCode]).toEqual([2, 2, 2]);
  expect(file.stderr).toContain("The demo makes a store of its own");
});

/** Ids of running processes with this in their environment; empty where there is no /proc. */
function processesWith(setting: string): string[] {
  if (!existsSync("/proc/self/environ")) return [];
  return readdirSync("/proc").filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      return readFileSync(`/proc/${name}/environ`, "utf8").split("\0").includes(setting);
    } catch {
      return false;
    }
  });
}
