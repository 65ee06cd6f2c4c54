/**
 * The two dialects say the same: the same statements with the same parameters under the same first
 * line, each of them used, and the generated modules up to date.
 */
import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import * as postgres from "../../src/stores/postgres/sql.generated.ts";
import * as sqlite from "../../src/stores/sqlite/sql.generated.ts";
import { createDatabase } from "../support/postgres-database.ts";
import { openPostgres, openSqlite } from "../support/stores.ts";

const stores = new URL("../../src/stores/", import.meta.url);

function textOf(path: string): string {
  return readFileSync(new URL(path, stores), "utf8");
}

function namesIn(folder: string): string[] {
  return readdirSync(new URL(folder, stores))
    .map((file) => file.replace(/\.sql$/, ""))
    .toSorted();
}

const names = namesIn("postgres/sql/");

describe("the dialects", () => {
  it("have the same statements", () => {
    expect(namesIn("sqlite/sql/")).toEqual(names);
    expect(names.length).toBeGreaterThan(15);
  });

  it("have the same migrations", () => {
    expect(namesIn("sqlite/migrations/")).toEqual(namesIn("postgres/migrations/"));
    const known = ({ version, name, breaking }: (typeof sqlite.migrations)[number]) =>
      `${version} ${name} ${breaking}`;
    expect(sqlite.migrations.map(known)).toEqual(
      postgres.migrations.map(({ version, name, breaking }) => `${version} ${name} ${breaking}`),
    );
  });

  it.each(names)("%s has the same parameters and begins with the same line", (name) => {
    const [ours, theirs] = ["postgres", "sqlite"].map((dialect) => {
      const lines = textOf(`${dialect}/sql/${name}.sql`).split("\n");
      const [first] = lines;
      return { first, params: lines.filter((line) => line.startsWith("-- Params: ")) };
    });
    expect(ours).toEqual(theirs);
    expect(ours?.first).toMatch(/^-- [A-Z]/);
    expect(ours?.params).toHaveLength(1);
  });

  it.each(names)("%s names in its list just the parameters that it uses", (name) => {
    for (const [dialect, { statements }] of Object.entries({ postgres, sqlite })) {
      const { params, text } = statements[name as keyof typeof statements];
      const used = [...text.matchAll(/(?<![\w:]):(\w+)/g)].map((match) => match[1]);
      const expected = new Set(used.filter((param) => param !== "schema" && param !== "now"));
      expect({ dialect, params: new Set<string>(params) }).toEqual({ dialect, params: expected });
    }
  });

  it.each(names)("%s is used by the stores", (name) => {
    const source = ["sql-store", "sql-events", "sql-late-looks", "sql-runs", "sql-targets"]
      .map((file) => textOf(`shared/${file}.ts`))
      .join("");
    const known = textOf("shared/statement.ts");
    expect(known).toContain(`| "${name}"`);
    expect(source).toMatch(new RegExp(`(run|#run\\w*|coalesce|one|many|\\w+Of)\\(\\s*"${name}"`));
  });
});

describe.skipIf(inject("postgresUrl") === null)("the tables", () => {
  it("have the same columns, of which the same may be null", async () => {
    const database = await createDatabase(inject("postgresUrl") ?? "");
    const [ours, theirs] = [await openPostgres(database.url), await openSqlite()];
    onTestFinished(async () => {
      await ours.close();
      await theirs.close();
      await database.drop();
    });
    for (const table of ["operations", "journal"]) {
      const columns = await ours.sql(
        `select column_name as name, is_nullable = 'NO' as required from information_schema.columns
         where table_schema = '${ours.schema}' and table_name = '${table}' order by column_name`,
      );
      const others = await theirs.sql(
        `select name, "notnull" = 1 as required from pragma_table_info('nevertwice_${table}')
         where name <> 'id' order by name`,
      );
      expect(columns).toEqual(
        others.map(({ name, required }) => ({ name, required: required === 1 })),
      );
      expect(columns.length).toBeGreaterThan(8);
    }
  });
});

describe("the generated modules", () => {
  it("are up to date", () => {
    const loader = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
    const script = fileURLToPath(new URL("../../scripts/build-sql.ts", import.meta.url));
    const run = spawnSync(process.execPath, ["--import", loader, script, "--check"], {
      encoding: "utf8",
    });
    expect([run.status, run.stderr]).toEqual([0, ""]);
  });
});
