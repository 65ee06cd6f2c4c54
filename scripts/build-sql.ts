/**
 * Writes `src/stores/<dialect>/sql.generated.ts` from the .sql files, so that the package reads no
 * files at run time. With `--check` it writes nothing and fails when a module is out of date.
 */
import { readFileSync, readdirSync, writeFileSync } from "node:fs";

const stores = new URL("../src/stores/", import.meta.url);
const check = process.argv.includes("--check");

for (const dialect of ["postgres", "sqlite"]) {
  const target = new URL(`${dialect}/sql.generated.ts`, stores);
  const text = moduleOf(dialect);
  if (!check) writeFileSync(target, text);
  else if (readFileSync(target, "utf8") !== text) {
    console.error(`${dialect}/sql.generated.ts is out of date: run npm run sql`);
    process.exitCode = 1;
  }
}

function moduleOf(dialect: string): string {
  const statements = filesOf(`${dialect}/sql/`).map(([name, text]) => {
    const params = /^-- Params: (.*)$/m.exec(text)?.[1] ?? "";
    const names = params
      .replaceAll(/\([^)]*\)/g, "")
      .split(",")
      .map((param) => param.trim());
    const known = names.filter((param) => param !== "" && param !== "none");
    return `  ${JSON.stringify(name)}: ${JSON.stringify({ params: known, text: withoutComments(text) })},\n`;
  });
  const migrations = filesOf(`${dialect}/migrations/`).map(([name, text]) => {
    const version = Number(name.slice(0, 4));
    const breaking = text.startsWith("--! breaking");
    return `  ${JSON.stringify({ version, name, breaking, text })},\n`;
  });
  return (
    `// Written by scripts/build-sql.ts from sql/ and migrations/. Don't edit.\n` +
    `export const statements = {\n${statements.join("")}} as const;\n\n` +
    `export const migrations = [\n${migrations.join("")}] as const;\n`
  );
}

function filesOf(folder: string): [string, string][] {
  const names = readdirSync(new URL(folder, stores))
    .filter((name) => name.endsWith(".sql"))
    .toSorted();
  return names.map((name) => [
    name.slice(0, -4),
    readFileSync(new URL(`${folder}${name}`, stores), "utf8"),
  ]);
}

function withoutComments(text: string): string {
  return text
    .split("\n")
    .filter((line) => !line.trim().startsWith("--"))
    .join("\n")
    .trim();
}
