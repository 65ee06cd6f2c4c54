/**
 * The example of the gateway runs as its page says.
 */
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { expect, it } from "vitest";

it("examples/mcp-gateway edits a file once, and prints what its page shows", () => {
  const folder = new URL("../../examples/mcp-gateway/", import.meta.url);
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
  const script = fileURLToPath(new URL("run.ts", folder));
  const printed = execFileSync(process.execPath, ["--import", tsx, script], { encoding: "utf8" });
  const steady = printed
    .replaceAll(/Key [0-9a-f]{64}\./g, "Key …")
    .replaceAll(/first sent \S+Z\./g, "first sent …");
  const page = readFileSync(new URL("README.md", folder), "utf8");
  expect(/```\n([\s\S]*?)```/.exec(page.replace(/```sh[\s\S]*?```/, ""))?.[1]).toBe(steady);
});
