/**
 * How the command line finds, opens and refuses a store, and what it says when it can't.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, beforeAll, expect, inject, it, onTestFinished } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { createDatabase } from "../support/postgres-database.ts";
import { describeStores } from "../support/stores.ts";
import { buildPackage } from "./built-package.ts";
import { errorOf, fillStore, runCli, runJson, startCli, storeArgs } from "./run-cli.ts";

/** Nobody listens there; one that was free a moment ago may be taken by now. */
const closedPort = 1;

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "nevertwice-stores-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it("says which file is missing, is no database, or is a folder, and creates none", async () => {
  const missing = join(folder, "missing.sqlite");
  const noDatabase = join(folder, "notes.txt");
  writeFileSync(
    noDatabase,
    "these are no operations, though long enough to be mistaken for some\n".repeat(20),
  );
  const [gone, foreign, directory, nowhere] = await Promise.all([
    runJson(["operations", "list", "--store", missing]),
    runJson(["doctor", "--store", noDatabase]),
    runJson(["audit", "verify", "--store", folder]),
    runJson(["migrate", "--store", join(folder, "none", "new.sqlite")]),
  ]);
  expect([gone, foreign, directory, nowhere].map(({ exitCode }) => exitCode)).toEqual([3, 3, 3, 3]);
  expect(errorOf(gone)).toEqual({
    code: "STORE_UNAVAILABLE",
    message: `There is no file ${missing}. Check --store, or make a new database with \`nevertwice migrate\`.`,
    exitCode: 3,
  });
  expect(errorOf(foreign)["message"]).toContain("file is not a database");
  expect(errorOf(directory)["message"]).toBe(`${folder} is not a file.`);
  expect(errorOf(nowhere)["message"]).toBe(`There is no folder ${join(folder, "none")}.`);
});

it("says that a server can't be reached, and never prints its password", async () => {
  const url = `postgres://app:s3cret@127.0.0.1:${closedPort}/shop`;
  const [refused, forPeople] = await Promise.all([
    runJson(["doctor", "--store", url]),
    runCli(["operations", "list", "--debug"], { env: { NEVERTWICE_STORE: url } }),
  ]);
  expect(errorOf(refused)).toEqual({
    code: "STORE_UNAVAILABLE",
    message:
      `The store postgres://app:***@127.0.0.1:${closedPort}/shop can't be opened: connect ECONNREFUSED 127.0.0.1:${closedPort}. ` +
      "Check --store and that the database is up.",
    exitCode: 3,
  });
  expect(forPeople.exitCode).toBe(3);
  expect(forPeople.stderr).toContain("caused by");
  expect(forPeople.stderr + refused.stderr).not.toContain("s3cret");
});

it.skipIf(inject("postgresUrl") === null)("says that a database does not exist", async () => {
  const url = new URL(inject("postgresUrl") ?? "");
  url.pathname = "/no_such_database";
  const ran = await runJson(["doctor", "--store", url.href]);
  expect([ran.exitCode, errorOf(ran)["code"]]).toEqual([3, "STORE_UNAVAILABLE"]);
  expect(errorOf(ran)["message"]).toContain('database "no_such_database" does not exist');
});

it("without a driver it says which, and the line that installs it", async () => {
  const { main, remove } = buildPackage({ withDrivers: false });
  onTestFinished(remove);
  const [sqlite, postgres, demo, help] = await Promise.all([
    runJson(["migrate", "--store", join(folder, "x.sqlite")], { main }),
    runJson(["doctor", "--store", "postgres://app@127.0.0.1:1/shop"], { main }),
    runCli(["demo"], { main }),
    runCli(["--help"], { main }),
  ]);
  expect([sqlite, postgres, demo, help].map(({ exitCode }) => exitCode)).toEqual([3, 3, 3, 0]);
  expect(errorOf(sqlite)).toMatchObject({
    code: "DRIVER_MISSING",
    details: { driver: "better-sqlite3", install: "npm install better-sqlite3@12" },
  });
  expect(errorOf(postgres)["message"]).toBe(
    "The driver pg is not installed. Install it beside nevertwice: npm install pg",
  );
  expect(demo.stderr).toContain("npm install better-sqlite3@12 (DRIVER_MISSING)");
});

describeStores("the schema", (suite) => {
  it("that is missing or too new is refused with its own exit code, by doctor as well", async () => {
    const opened = await suite.open();
    await fillStore(opened.store);
    await opened.sql(
      `insert into :schema.migrations values (99, '0099-later', ${suite.kind === "sqlite" ? 1 : true})`,
    );
    const [tooNew, doctor, migrate] = await Promise.all([
      runJson(["operations", "list", ...storeArgs(opened)]),
      runJson(["doctor", ...storeArgs(opened)]),
      runJson(["migrate", "--print", ...storeArgs(opened)]),
    ]);
    expect([tooNew, doctor, migrate].map(({ exitCode }) => exitCode)).toEqual([4, 4, 4]);
    expect(errorOf(tooNew)["code"]).toBe("SCHEMA_TOO_NEW");
    expect(doctor.document).toMatchObject({ ok: false, schemaError: "SCHEMA_TOO_NEW" });

    await opened.sql("delete from :schema.migrations");
    const outdated = await runJson(["review", "list", ...storeArgs(opened)]);
    expect([outdated.exitCode, errorOf(outdated)["code"]]).toEqual([4, "SCHEMA_OUTDATED"]);
    expect(errorOf(outdated)["message"]).toContain("Run `nevertwice migrate`");
  });
});

it("migrate makes a file or a schema once, and --print gives a DBA the SQL that leaves the same", async () => {
  const [made, printed] = [join(folder, "made.sqlite"), join(folder, "printed.sqlite")];
  const [first, sql] = await Promise.all([
    runJson(["migrate", "--store", made]),
    runCli(["migrate", "--print", "--store", printed]),
  ]);
  expect(first.document).toEqual({
    store: made,
    applied: ["0001-ledger", "0002-effects", "0003-late-looks", "0004-dead-letters"],
    schemaVersion: 4,
  });
  const database = new Database(printed);
  database.exec(sql.stdout);
  expect(schemaOfFile(database)).toEqual(schemaOfFile(new Database(made, { readonly: true })));
  database.close();
  const [again, after, doctor] = await Promise.all([
    runCli(["migrate", "--store", made]),
    runJson(["migrate", "--store", printed]),
    runJson(["migrate", "--print", "--store", made]),
  ]);
  expect(again.stdout.replaceAll("\n", " ")).toContain("has schema 4 already");
  expect(after.document).toMatchObject({ applied: [] });
  expect(doctor.document).toEqual({ sql: "-- Nothing is missing: the schema is at 4." });
});

function schemaOfFile(database: Database.Database): unknown[] {
  return [
    database.prepare("select type, name, sql from sqlite_master order by type, name").all(),
    database.prepare("select * from nevertwice_migrations").all(),
  ];
}

it.skipIf(inject("postgresUrl") === null)("migrate does the same on PostgreSQL", async () => {
  const database = await createDatabase(inject("postgresUrl") ?? "");
  const { Client } = await import("pg");
  const client = new Client({ connectionString: database.url });
  await client.connect();
  try {
    const migrate = (...args: string[]) => runJson(["migrate", "--store", database.url, ...args]);
    const [made, printed] = await Promise.all([
      migrate(),
      migrate("--print", "--schema", "by_hand"),
    ]);
    expect(made.document).toMatchObject({
      schema: "nevertwice",
      applied: ["0001-ledger", "0002-effects", "0003-late-looks", "0004-dead-letters"],
    });
    await client.query((printed.document as { sql: string }).sql);
    const described = async (schema: string): Promise<unknown[]> => {
      const sql =
        "select table_name, column_name, data_type, is_nullable, column_default from information_schema.columns where table_schema = $1 order by 1, 2";
      const columns = await client.query(sql, [schema]);
      const triggers = await client.query(
        "select event_object_table, trigger_name, event_manipulation from information_schema.triggers where trigger_schema = $1 order by 1, 2, 3",
        [schema],
      );
      const versions = await client.query(`select * from ${schema}.migrations`);
      return [columns.rows, triggers.rows, versions.rows];
    };
    expect(await described("by_hand")).toEqual(await described("nevertwice"));
    const [after, wrong] = await Promise.all([
      migrate("--schema", "by_hand"),
      migrate("--schema", "No"),
    ]);
    expect(after.document).toMatchObject({ applied: [], schema: "by_hand" });
    expect([wrong.exitCode, errorOf(wrong)["code"]]).toEqual([2, "CONFIGURATION_INVALID"]);
  } finally {
    await client.end();
    await database.drop();
  }
});

it("a wrong command line is told apart from every other trouble", async () => {
  const file = join(folder, "made.sqlite");
  const lines: readonly (readonly string[])[] = [
    [],
    ["operations", "list"],
    ["operations", "list", "--store", "mysql://db/shop"],
    ["operations", "list", "--store", file, "--schema", "nevertwice"],
    ["operations", "list", "--store", file, "--status", "DUNE"],
    ["operations", "list", "--store", file, "--after", "yesterday"],
    ["doctor", "--store", file, "--stale-after", "soon"],
    ["purge", "--store", file, "--everything"],
  ];
  const ran = await Promise.all(lines.map((line) => runJson(line)));
  expect(ran.map(({ exitCode }) => exitCode)).toEqual(lines.map(() => 2));
  expect(ran.map((each) => errorOf(each)["code"])).toEqual(lines.map(() => "USAGE"));
});

it("--version, and --help with examples and exit codes", async () => {
  const [version, help, part] = await Promise.all([
    runCli(["--version"]),
    runCli(["review", "resolve", "--help"]),
    runCli([]),
  ]);
  expect(version).toEqual({ exitCode: 0, stdout: `${packageJson.version}\n`, stderr: "" });
  expect(help.exitCode).toBe(0);
  expect(help.stdout).toMatch(/Examples:\n {2}\$ nevertwice review resolve/);
  expect(help.stdout).toMatch(/Exit codes:\n {3}0 {2}done/);
  expect(part.exitCode).toBe(2);
  expect(part.stderr).toContain("Usage: nevertwice");
});

it("a reader that has seen enough is no error", async () => {
  const child = startCli(["--help"]);
  child.stdout?.destroy();
  let stderr = "";
  child.stderr?.on("data", (chunk: Buffer) => (stderr += chunk.toString("utf8")));
  const exitCode = await new Promise((resolve) => child.once("close", resolve));
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
});
