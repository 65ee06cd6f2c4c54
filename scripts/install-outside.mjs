/**
 * Installs the software of others that tests MCP servers (test/gateway/outside), exactly as its lock
 * file says, into a cache outside this folder, and prints where: NEVERTWICE_OUTSIDE for the tests. It
 * needs a Node of its own, which comes with it, for Linux on x64.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const wanted = fileURLToPath(new URL("../test/gateway/outside/", import.meta.url));
const files = ["package.json", "package-lock.json"];
const digest = createHash("sha256");
for (const file of files) digest.update(readFileSync(join(wanted, file)));
const cache = process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache");
const folder = join(cache, `nevertwice/outside-${digest.digest("hex").slice(0, 16)}`);
const mark = join(folder, "complete");
if (!existsSync(mark)) {
  mkdirSync(folder, { recursive: true });
  for (const file of files) copyFileSync(join(wanted, file), join(folder, file));
  const options = ["--ignore-scripts", "--no-audit", "--no-fund"];
  execFileSync("npm", ["ci", ...options], { cwd: folder, stdio: ["ignore", 2, 2] });
  writeFileSync(mark, "");
}
process.stdout.write(`${folder}\n`);
