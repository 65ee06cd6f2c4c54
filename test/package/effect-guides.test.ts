/**
 * The programs of the guides about effects run as they stand and print what the guides say.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));
const doors: Readonly<Record<string, string>> = {
  nevertwice: "src/index.ts",
  "nevertwice/sqlite": "src/stores/sqlite/index.ts",
  "nevertwice/mcp": "src/edges/mcp/index.ts",
};

/** Runs a guide's only program from its text, on the source in place of the package. */
function runGuide(name: string): string {
  const guide = readFileSync(join(root, "docs/guides", `${name}.md`), "utf8");
  const [program] = [...guide.matchAll(/```ts\n([\s\S]*?)```/g)].map((match) => match[1] ?? "");
  if (program === undefined) throw new Error(`${name}.md has no program`);
  const text = program.replaceAll(/from "(nevertwice[^"]*)"/g, (_, door: string) => {
    const path = doors[door];
    if (path === undefined) throw new Error(`no such door: ${door}`);
    return `from ${JSON.stringify(join(root, path))}`;
  });
  const directory = mkdtempSync(join(tmpdir(), "nevertwice-guide-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  symlinkSync(join(root, "node_modules"), join(directory, "node_modules"));
  writeFileSync(join(directory, "program.mts"), text);
  const tsx = join(root, "node_modules/tsx/dist/cli.mjs");
  const ended = spawnSync(process.execPath, [tsx, "program.mts"], {
    cwd: directory,
    encoding: "utf8",
  });
  expect(ended.stderr).toBe("");
  return ended.stdout;
}

it("ensure.md", () => {
  expect(runGuide("ensure")).toBe("[ false, true ] { running: 'c1', rollouts: 1 }\n");
});

it("transact.md", () => {
  expect(runGuide("transact")).toBe("false true\n{ credits: 1 }\n");
});

it("compensation.md", () => {
  expect(runGuide("compensation")).toBe("false true [ 'book 8812', 'cancel bk_1' ]\n");
});

it("mcp-server.md", () => {
  expect(runGuide("mcp-server")).toBe("{ id: 're_1' } 1\n{ id: 're_1' } 1\n");
});
