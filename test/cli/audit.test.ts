/**
 * `audit export` and `audit verify`: what is sound passes, and every tampering is found and placed.
 */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, afterAll, expect, it } from "vitest";
import { findChainFault } from "../../src/index.ts";
import { formatEntry, journalOf, parseEntry } from "../../src/cli/audit/entry.ts";
import { readEntries } from "../../src/cli/audit/read-entries.ts";
import { verifyEntry } from "../../src/cli/audit/verify.ts";
import { type OpenStore, describeStores } from "../support/stores.ts";
import { errorOf, fillStore, refund, runCli, runJson, storeArgs } from "./run-cli.ts";

interface Verified {
  ok: boolean;
  operations: number;
  lines: number;
  faults: {
    tenant: string;
    key: string;
    check: string;
    seq: number | null;
    fileLine: number | null;
  }[];
}

const everything = { tenant: null, key: null };

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "nevertwice-audit-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Takes away what keeps the journal append-only, as somebody with the database's password can. */
async function unlockJournal(opened: OpenStore): Promise<void> {
  if (opened.kind === "postgres") {
    await opened.sql("alter table :schema.journal disable trigger all");
    return;
  }
  await opened.sql("drop trigger :schema.journal_no_update");
  await opened.sql("drop trigger :schema.journal_no_delete");
}

/** Every fault in the store, as `tenant check@line`, without a process. */
async function faultsIn(opened: OpenStore): Promise<string[]> {
  const faults: string[] = [];
  for await (const entry of readEntries(opened.store, everything)) {
    for (const result of verifyEntry(entry)) {
      if (result.found === "fault") faults.push(`${result.check}@${result.seq ?? "-"}`);
    }
  }
  return faults.toSorted();
}

describeStores("audit", (suite) => {
  it("a sound store passes, and so does its export; both say what was checked", async () => {
    const opened = await suite.open();
    const keys = await fillStore(opened.store);
    await refund(opened.store, "1", "works", { tenant: "globex" });
    const file = join(folder, `${suite.kind}.jsonl`);
    const [exported, part, inStore] = await Promise.all([
      runJson(["audit", "export", "--out", file, ...storeArgs(opened)]),
      runCli(["audit", "export", "--key", keys.done.slice(0, 8), ...storeArgs(opened)]),
      runJson(["audit", "verify", ...storeArgs(opened)]),
    ]);
    const [inFile, forPeople, again] = await Promise.all([
      runJson(["audit", "verify", "--in", file]),
      runCli(["audit", "verify", "--in", "-"], { input: readFileSync(file, "utf8") }),
      runJson(["audit", "export", "--out", file, ...storeArgs(opened)]),
    ]);
    expect(exported.document).toMatchObject({ file, operations: 5 });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const [storeReport, fileReport] = [inStore.document as Verified, inFile.document as Verified];
    expect(storeReport).toMatchObject({ ok: true, operations: 5, faults: [] });
    expect({ ...fileReport, source: "" }).toEqual({ ...storeReport, source: "" });
    expect([inStore.exitCode, inFile.exitCode, forPeople.exitCode]).toEqual([0, 0, 0]);
    expect(forPeople.stdout).toContain("No fault was found.");
    expect(forPeople.stdout).toMatch(/^outcome +3 +0 +2 {2}not settled$/m);
    expect([again.exitCode, errorOf(again)["message"]]).toEqual([
      2,
      `${file} exists already, and an audit file is never overwritten.`,
    ]);

    const entries = readFileSync(file, "utf8").trimEnd().split("\n").map(parseEntry);
    expect(entries.map(({ key }) => key)).toContain(keys.review);
    for (const entry of entries) expect(findChainFault(journalOf(entry))).toBeUndefined();
    expect(part.stdout.trimEnd().split("\n")).toHaveLength(1);
    expect(parseEntry(part.stdout).key).toBe(keys.done);
  });

  it("an export is read page by page, whatever the number of lines", async () => {
    const opened = await suite.open();
    const keys = await Promise.all(
      ["1", "2", "3"].map((order) => refund(opened.store, order, "works")),
    );
    const [key = ""] = keys;
    for (const seen of [1, 2, 3, 4, 5]) {
      await opened.store.recordIncident({
        tenant: "acme",
        key,
        incident: `seen ${seen}`,
        detail: "{}",
      });
    }
    for (const linesPerPage of [1, 2, 3, 4, 8, 14, 15]) {
      const found: string[] = [];
      for await (const entry of readEntries(opened.store, everything, linesPerPage)) {
        found.push(`${entry.key} ${entry.journal.map(({ seq }) => seq).join()}`);
      }
      expect(found, `${linesPerPage} lines a page`).toEqual(
        keys.toSorted().map((each) => `${each} 1,2,3${each === key ? ",4,5,6,7,8" : ""}`),
      );
    }
  });

  it("verify finds a tampered row and a tampered line, and says where", async () => {
    const opened = await suite.open();
    const keys = await fillStore(opened.store);
    await opened.sql(
      `update :schema.operations set result = '{"id":"re_1"}' where key = '${keys.done}'`,
    );
    await unlockJournal(opened);
    await opened.sql(
      `update :schema.journal set detail = '{"reason":"no answer"}' where key = '${keys.unknown}' and seq = 3`,
    );
    const [machine, person] = await Promise.all([
      runJson(["audit", "verify", ...storeArgs(opened)]),
      runCli(["audit", "verify", ...storeArgs(opened)]),
    ]);
    const report = machine.document as Verified;
    expect(report.ok).toBe(false);
    expect(report.faults.toSorted((a, b) => (a.seq ?? 0) - (b.seq ?? 0) || 1)).toHaveLength(2);
    expect(report.faults).toContainEqual({
      tenant: "acme",
      key: keys.done,
      check: "outcome",
      seq: 3,
      fileLine: null,
      reason: "the row has another result than the line that settled it",
    });
    expect(report.faults).toContainEqual({
      tenant: "acme",
      key: keys.unknown,
      check: "chain",
      seq: 3,
      fileLine: null,
      reason: "the line was altered",
    });
    expect([machine.exitCode, person.exitCode]).toEqual([1, 1]);
    expect(person.stdout).toContain("2 faults:");
    expect(person.stdout).toMatch(
      new RegExp(`^acme +${keys.unknown.slice(0, 12)} +chain +3 {2}the line was altered$`, "m"),
    );
    expect(person.stdout.split("\n").filter((line) => line.length > 80)).toEqual([]);
  });

  const tamperings: readonly (readonly [title: string, sql: string, faults: readonly string[]])[] =
    [
      ["a status", "update :schema.operations set status = 'FAILED'", ["last line@3", "outcome@-"]],
      ["a count of attempts", "update :schema.operations set attempts = 2", ["last line@3"]],
      ["a token", "update :schema.operations set token = token + 1", ["last line@3"]],
      [
        "an intent",
        "update :schema.operations set intent = replace(intent, '8812', '8819')",
        ["key@-"],
      ],
      [
        "a fingerprint",
        "update :schema.operations set fingerprint = 'jcs-sha256/1:0'",
        ["fingerprint@1"],
      ],
      [
        "the spelling of the arguments",
        "update :schema.operations set arguments = replace(arguments, ':', ': ')",
        ["arguments@-"],
      ],
      ["a wire key", "update :schema.operations set wire_key = 'another'", ["wire key@2"]],
      [
        "a deleted last line",
        "delete from :schema.journal where seq = 3",
        ["last line@2", "line count@-", "outcome@-"],
      ],
      [
        "a deleted line in the middle",
        "delete from :schema.journal where seq = 2",
        ["chain@2", "line count@-"],
      ],
      ["a deleted row", "delete from :schema.operations", ["row@-"]],
      [
        "a deleted journal",
        "delete from :schema.journal",
        ["chain@0", "fingerprint@1", "last line@-", "line count@-", "outcome@-"],
      ],
      [
        "a forged line, its own hash left",
        "update :schema.journal set at_ms = at_ms + 1 where seq = 2",
        ["chain@2"],
      ],
    ];

  it.each(tamperings)("finds %s", async (_title, sql, faults) => {
    const opened = await suite.open();
    await refund(opened.store, "8812", "works");
    expect(await faultsIn(opened)).toEqual([]);
    await unlockJournal(opened);
    await opened.sql(sql);
    expect(await faultsIn(opened)).toEqual(faults);
  });
});

it("a tampered, a cut and a foreign line of an export are found, each with its number", async () => {
  const { openSqlite } = await import("../support/stores.ts");
  const opened = await openSqlite();
  await fillStore(opened.store);
  const lines: string[] = [];
  for await (const entry of readEntries(opened.store, everything)) lines.push(formatEntry(entry));
  await opened.close();
  const done = lines.findIndex((line) => line.includes('"status":"DONE","attempts"'));
  const tampered = lines.with(done, lines[done]?.replaceAll("re_8812", "re_9999") ?? "");
  const file = join(folder, "tampered.jsonl");
  const cut = tampered[0]?.slice(0, 300) ?? "";
  writeFileSync(file, [...tampered, '{"v":2}', cut].join("\n"));
  const ran = await runJson(["audit", "verify", "--in", file]);
  const { faults, operations } = ran.document as Verified;
  expect(operations).toBe(4);
  expect(faults.map(({ check, fileLine }) => `${check}@${fileLine}`)).toEqual([
    `chain@${done + 1}`,
    `outcome@${done + 1}`,
    "format@5",
    "format@6",
  ]);
  expect(ran.exitCode).toBe(1);
  const missing = await runJson(["audit", "verify", "--in", join(folder, "none.jsonl")]);
  expect([missing.exitCode, errorOf(missing)["code"]]).toEqual([2, "FILE"]);
});
