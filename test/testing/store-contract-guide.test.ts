/**
 * docs/guides/store-contract.md: its table is the array, and its code runs as it stands.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { storeContract } from "../../src/testing/index.ts";

const guide = readFileSync(new URL("../../docs/guides/store-contract.md", import.meta.url), "utf8");

it("the guide's table holds the cases, in order", () => {
  const rows = guide
    .split("\n")
    .filter((line) => /^\| R\d/.test(line))
    .map((line) => line.split(" | ").map((cell) => cell.replaceAll(/^\||\|$/g, "").trim()));
  expect(rows).toEqual(
    storeContract.map(({ rule, name, fault, needsClock }) => [
      rule,
      name,
      fault,
      needsClock ? "yes" : "",
    ]),
  );
});

it("the guide's code runs the contract with node:test", () => {
  const code = /```ts\n([\s\S]*?)```/.exec(guide)?.[1] ?? "";
  const directory = mkdtempSync(join(tmpdir(), "nevertwice-guide-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const here = (path: string): string => new URL(path, import.meta.url).href;
  const file = join(directory, "contract.test.mts");
  const source = code
    .replace('"nevertwice/testing"', `"${here("../../src/testing/index.ts")}"`)
    .replace("./my-store.ts", "./my-store.mts");
  writeFileSync(file, source);
  writeFileSync(
    join(directory, "my-store.mts"),
    `import { MemoryStore } from "${here("memory-store.ts")}";
    import { MemoryDatabase } from "${here("memory-table.ts")}";
    export class MyDatabase {
      static create = async () => new MyDatabase();
      database = new MemoryDatabase();
      connect = async () => this.database;
      drop = async () => {};
    }
    export class MyStore extends MemoryStore {
      constructor(database, { clock }) { super(database); this.clock = clock; }
      now() { return this.clock(); }
    }`,
  );
  const loader = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
  const args = ["--import", loader, "--test", "--test-reporter", "tap", file];
  // Inside a run of its own node:test would only report to the outer one.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const run = spawnSync(process.execPath, args, { encoding: "utf8", env });
  expect(run.stdout).toContain(`# pass ${storeContract.length}\n`);
  expect(run.stdout).toContain("# fail 0\n");
  expect(run.status).toBe(0);
}, 120_000);
