/**
 * The check in docs/guides/check-your-tools.md runs as it stands, and its table is the code's.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { catalogue } from "../../src/testing/check-tool/index.ts";
import { type ToolCheck, checkTool, expectTool } from "../../src/testing/index.ts";
import { programFolder } from "../support/program-folder.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const guide = readFileSync(join(root, "docs/guides/check-your-tools.md"), "utf8");

it("the guide's tool passes the guide's check", async () => {
  const code = /```ts\n([\s\S]*?)```/.exec(guide)?.[1] ?? "";
  const folder = programFolder("check-tool");
  try {
    const runnable = code
      .replace('"nevertwice/testing"', JSON.stringify(join(root, "src/testing/index.ts")))
      .replace('"nevertwice"', JSON.stringify(join(root, "src/index.ts")));
    writeFileSync(join(folder, "tools.check.ts"), runnable);
    const { checks } = (await import(pathToFileURL(join(folder, "tools.check.ts")).href)) as {
      checks: readonly ToolCheck[];
    };
    expect(checks).toHaveLength(1);
    for (const { tool, close, ...options } of checks) {
      expectTool(await checkTool(tool, options));
      await close?.();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}, 60_000);

it("the guide lists every check as the code has it", () => {
  const rows = guide
    .split("\n")
    .filter((line) => /^\| `[a-z0-9-]+` +\| (fault|claim) /.test(line))
    .map((line) => line.split("|").map((cell) => cell.trim()))
    .map(([, name, part, about, expected]) => [name?.replaceAll("`", ""), part, about, expected]);
  expect(rows).toEqual(
    Object.entries(catalogue).map(([name, { part, about, expected }]) => [
      name,
      part,
      about,
      expected,
    ]),
  );
});
