/**
 * `doctor` and `purge` on both stores.
 */
import { expect, inject, it, onTestFinished } from "vitest";
import { createDatabase } from "../support/postgres-database.ts";
import { noFilter } from "../../src/cli/paging.ts";
import { type OpenStore, TestClock, describeStores, openPostgres } from "../support/stores.ts";
import { fillStore, refund, runCli, runJson, storeArgs } from "./run-cli.ts";

interface Diagnosed {
  ok: boolean;
  findings: { severity: string; about: string; message: string }[];
  backlogs: Record<string, { count: number; exact: boolean; oldestAgeMs: number | null }>;
  purgeable: number;
}

/** A clock that is this far behind the database's own. */
function clockAgo(spanMs: number): TestClock {
  const clock = new TestClock();
  clock.nowMs = Date.now() - spanMs;
  return clock;
}

const dayMs = 86_400_000;

describeStores("doctor and purge", (suite) => {
  it("a fresh store is sound; what is fresh in doubt is a note; what waits or is stale must be seen to", async () => {
    const opened = await suite.open();
    const doctor = async (...args: string[]) => {
      const ran = await runJson(["doctor", ...storeArgs(opened), ...args]);
      return { exitCode: ran.exitCode, document: ran.document as Diagnosed };
    };
    const fresh = await doctor();
    expect(fresh.exitCode).toBe(0);
    expect(fresh.document).toMatchObject({
      ok: true,
      schemaError: null,
      inspection: { dialect: suite.kind, schemaVersion: 4, unsafe: [] },
      purgeable: 0,
    });
    expect(new Set(fresh.document.findings.map(({ severity }) => severity))).toEqual(
      new Set(["ok"]),
    );

    await refund(opened.store, "1", "is silent");
    const doubtful = await doctor();
    expect(doubtful).toMatchObject({
      exitCode: 0,
      document: { ok: true, backlogs: { unknown: { count: 1, exact: true } } },
    });
    expect(aboutOf(doubtful.document, "note")).toEqual(["unknown"]);

    const old = await opened.again({ clock: clockAgo(2 * dayMs) });
    await refund(old, "2", "is silent");
    const stuck = await old.claim(await strandedClaim(old));
    await fillStore(opened.store, { tenant: "globex" });
    const [bad, patient, forPeople] = await Promise.all([
      doctor(),
      doctor("--stale-after", "3d"),
      runCli(["doctor", ...storeArgs(opened)]),
    ]);
    expect(stuck.attempts).toBe(1);
    expect([bad.exitCode, patient.exitCode, forPeople.exitCode]).toEqual([1, 1, 1]);
    expect(aboutOf(bad.document, "act")).toEqual(["unknown", "expired-leases", "needs-review"]);
    expect(aboutOf(patient.document, "act")).toEqual(["needs-review"]);
    expect(bad.document.backlogs).toMatchObject({
      unknown: { count: 3 },
      expiredLeases: { count: 1 },
      needsReview: { count: 1 },
    });
    const oldestAgeMs = bad.document.backlogs["unknown"]?.oldestAgeMs ?? 0;
    expect(Math.round(oldestAgeMs / dayMs)).toBe(2);
    expect(forPeople.stdout).toMatch(/^ACT {3}1 operation waits for a person/m);
    expect(forPeople.stdout).toMatch(/^3 things must be done\.$/m);
    expect(forPeople.stdout.split("\n").filter((line) => line.length > 80)).toEqual([]);
  });

  it("purge empties what is past its retention, as many as allowed, and a dry run nothing", async () => {
    const opened = await suite.open();
    const old = await opened.again({ clock: clockAgo(60 * dayMs) });
    const keys: string[] = [];
    for (let order = 0; order < 5; order += 1) keys.push(await refund(old, String(order), "works"));
    const recent = await refund(opened.store, "6", "works");
    const purge = async (...args: string[]): Promise<unknown> =>
      (await runJson(["purge", ...storeArgs(opened), ...args])).document;
    expect(await purge("--dry-run")).toEqual({ dryRun: true, purged: 0, left: 5 });
    expect(await purge("--limit", "2")).toEqual({ dryRun: false, purged: 2, left: 3 });
    const forPeople = await runCli(["purge", ...storeArgs(opened)]);
    expect(forPeople).toEqual({
      exitCode: 0,
      stdout: "Purged 3 operations. Their keys stay taken.\n",
      stderr: "",
    });
    for (const key of keys) {
      const record = await opened.store.read({ tenant: "acme", key });
      expect(record).toMatchObject({ status: "DONE", result: null, arguments: null });
    }
    const kept = await opened.store.read({ tenant: "acme", key: recent });
    expect(kept?.result).toContain("re_6");
    const verified = await runJson(["audit", "verify", ...storeArgs(opened)]);
    expect(verified.document).toMatchObject({ ok: true, operations: 6 });
  });
});

it.skipIf(inject("postgresUrl") === null)(
  "doctor fails on settings that can lose a claim",
  async () => {
    const database = await createDatabase(inject("postgresUrl") ?? "");
    const opened = await openPostgres(database.url);
    onTestFinished(async () => {
      await opened.close();
      await database.drop();
    });
    const name = new URL(database.url).pathname.slice(1);
    await opened.sql(`alter database ${name} set synchronous_commit = off`);
    const ran = await runJson(["doctor", ...storeArgs(opened)]);
    expect(ran.exitCode).toBe(1);
    expect(aboutOf(ran.document as Diagnosed, "act")).toEqual(["durability"]);
  },
);

function aboutOf(document: Diagnosed, severity: string): string[] {
  return document.findings.filter((each) => each.severity === severity).map(({ about }) => about);
}

type Claim = Parameters<OpenStore["store"]["claim"]>[0];

/** A claim that is armed, and whose worker is never heard of again. */
async function strandedClaim(store: OpenStore["store"]): Promise<Claim> {
  const [like] = await store.list({
    ...noFilter,
    limit: 1,
    after: null,
  });
  if (like === undefined) throw new Error("there is no operation to be like");
  return {
    ...like,
    key: "f".repeat(64),
    arguments: "{}",
    wireKey: "f".repeat(64),
    acquisitionId: "stranded",
    leaseMs: 1000,
    arm: true,
    quietMs: 1000,
    detail: "{}",
  };
}
