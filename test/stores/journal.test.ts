/**
 * The journal: append-only by the database's own hand, chained, and never apart from the row it
 * tells of.
 */
import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { type JournalLine, findChainFault } from "../../src/index.ts";
import { type OpenStore, describeStores } from "../support/stores.ts";
import { linesOf, operationIn, stored, withIncident } from "../support/worker-operations.ts";
import { armParams, claimParams, completeParams, fencedBy } from "../support/worker-params.ts";

describeStores("the journal", (suite) => {
  it.each([
    "update :schema.journal set detail = '{}'",
    "update :schema.journal set hash = hash where seq = 1",
    "delete from :schema.journal",
    "delete from :schema.journal where seq = 2",
  ])("refuses %s", async (change) => {
    const opened = await suite.open();
    await operationIn(opened.store, "k", "DONE");
    const before = await stored(opened);
    await expect(opened.sql(change)).rejects.toThrow("append-only");
    expect(await stored(opened)).toEqual(before);
    expect(findChainFault(await linesOf(opened.store, "k"))).toBeUndefined();
  });

  it("can't be emptied or overwritten by the side doors of the database either", async () => {
    const opened = await suite.open();
    await operationIn(opened.store, "k", "DONE");
    const before = await linesOf(opened.store);
    const sideDoor =
      suite.kind === "postgres"
        ? "truncate :schema.journal"
        : `insert or replace into :schema.journal
            select id, tenant, key, seq, at_ms, event, status, token, attempts, '{}' as detail, hash
            from :schema.journal where seq = 3`;
    await expect(opened.sql(sideDoor)).rejects.toThrow("append-only");
    expect(await linesOf(opened.store)).toEqual(before);
  });

  it.each<[column: keyof JournalLine, sql: string]>([
    ["atMs", "at_ms = at_ms + 1"],
    ["event", "event = 'operation.failed'"],
    ["status", "status = 'FAILED'"],
    ["token", "token = token + 1"],
    ["attempts", "attempts = attempts + 1"],
    ["detail", `detail = '{"result":"forged"}'`],
    ["hash", "hash = replace(hash, substr(hash, 1, 1), 'x')"],
  ])("shows where %s was altered by somebody who owns the database", async (_, change) => {
    const opened = await suite.open();
    await operationIn(opened.store, "k", "DONE");
    await operationIn(opened.store, "other", "DONE");
    await breakOpen(opened);
    await opened.sql(`update :schema.journal set ${change} where key = 'k' and seq = 2`);
    const fault = findChainFault(await linesOf(opened.store, "k"));
    expect(fault).toEqual({ seq: 2, reason: "the line was altered" });
    expect(findChainFault(await linesOf(opened.store, "other"))).toBeUndefined();
  });

  it("shows where a line was taken out, put in, or moved to another operation", async () => {
    const opened = await suite.open();
    for (const key of ["first", "middle", "all"]) await operationIn(opened.store, key, "DONE");
    await breakOpen(opened);
    const faultOf = async (key: string) => findChainFault(await linesOf(opened.store, key));
    await opened.sql("delete from :schema.journal where key = 'first' and seq = 1");
    expect(await faultOf("first")).toEqual({ seq: 1, reason: "the line is missing" });
    await opened.sql("delete from :schema.journal where key = 'middle' and seq = 2");
    expect(await faultOf("middle")).toEqual({ seq: 2, reason: "the line is missing" });
    await opened.sql("update :schema.journal set key = 'renamed' where key = 'all'");
    expect(await faultOf("renamed")).toEqual({ seq: 1, reason: "the line was altered" });
    expect(await faultOf("all")).toEqual({ seq: 0, reason: "no line is left" });
  });
});

describeStores("a row and its journal line", (suite) => {
  it("are written together or not at all: a refused line undoes the row", async () => {
    const opened = await suite.open();
    const { store } = opened;
    const owner = await operationIn(store, "k", "IN_PROGRESS");
    await refuse(opened, "journal", "new.detail like '%refused%'");
    const before = await stored(opened);
    const detail = '{"refused":true}';
    await expect(store.claim(claimParams("new", { detail }))).rejects.toThrow("refused");
    await expect(store.claim(claimParams("k", { detail }))).rejects.toThrow("refused");
    await expect(store.complete(completeParams("k", { detail }))).rejects.toThrow("refused");
    await expect(store.arm(armParams(owner, { detail }))).rejects.toThrow("refused");
    const incident = { tenant: "acme", key: "k", incident: "two", detail };
    await expect(store.recordIncident(incident)).rejects.toThrow("refused");
    expect(await stored(opened)).toEqual(before);
  });

  it("are written together or not at all: a refused row leaves no line", async () => {
    const opened = await suite.open();
    const { store } = opened;
    const owner = await operationIn(store, "k", "IN_PROGRESS");
    await withIncident(store, await operationIn(store, "other", "DONE"));
    const before = await stored(opened);
    const wrong = { resultKind: "of no kind" as "json" };
    await expect(store.complete(completeParams("k", wrong))).rejects.toThrow(/check/i);
    await expect(store.claim(claimParams("", {}))).rejects.toThrow(/check/i);
    const noLease = { ...fencedBy(owner), leaseMs: Number.NaN, detail: "{}" };
    await expect(store.renew(noLease)).rejects.toThrow(/null|NaN/i);
    expect(await stored(opened)).toEqual(before);
    expect(findChainFault(await linesOf(store, "k"))).toBeUndefined();
  });
});

/** What an owner of the database can do: takes the triggers away that guard the journal. */
async function breakOpen(opened: OpenStore): Promise<void> {
  if (opened.kind === "postgres") {
    await opened.sql("alter table :schema.journal disable trigger all");
    return;
  }
  await opened.sql("drop trigger nevertwice_journal_no_update");
  await opened.sql("drop trigger nevertwice_journal_no_delete");
}

/** Makes the database refuse rows of a table, as a full disk or a broken rule may. */
async function refuse(opened: OpenStore, table: string, when: string): Promise<void> {
  if (opened.kind === "sqlite") {
    const database = new Database(opened.location);
    database.exec(
      `create trigger refusing before insert on nevertwice_${table} when ${when}
       begin select raise(abort, 'refused by the test'); end`,
    );
    database.close();
    return;
  }
  await opened.sql(
    `create function :schema.refuse() returns trigger language plpgsql
     as $$ begin raise exception 'refused by the test'; end $$`,
  );
  await opened.sql(
    `create trigger refusing before insert on :schema.${table} for each row when (${when})
     execute function :schema.refuse()`,
  );
}
