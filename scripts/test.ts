/**
 * Runs vitest with the given arguments and its exit code, then prints `N passed, N failed, N skipped`
 * alone on a line, so that a run which tested nothing can't look green.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
}

const directory = mkdtempSync(join(tmpdir(), "nevertwice-report-"));
try {
  const file = join(directory, "report.json");
  const exitCode = await runVitest(file, process.argv.slice(2));
  process.exitCode = summarise(readReport(file), exitCode);
} finally {
  rmSync(directory, { recursive: true, force: true });
}

function runVitest(file: string, args: readonly string[]): Promise<number> {
  const manifest = createRequire(import.meta.url).resolve("vitest/package.json");
  const vitest = join(dirname(manifest), "vitest.mjs");
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${file}`];
  const child = spawn(process.execPath, [vitest, "run", ...reporters, ...args], {
    stdio: "inherit",
  });
  process.on("SIGTERM", () => child.kill("SIGTERM"));
  process.on("SIGINT", () => {}); // A terminal sends it to vitest too: wait for its clean-up.
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => resolve(code ?? 1));
  });
}

function readReport(file: string): Report | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Report;
  } catch {
    return undefined;
  }
}

function summarise(report: Report | undefined, exitCode: number): number {
  if (report === undefined) {
    process.stderr.write("\nERROR: vitest left no report, so nothing is known to be tested.\n");
    return exitCode || 1;
  }
  const { numPassedTests: passed, numFailedTests: failed } = report;
  const skipped = report.numPendingTests + report.numTodoTests;
  const nothingRan = passed + failed === 0;
  if (nothingRan) process.stderr.write("\nERROR: no test ran.\n");
  else if (exitCode !== 0 && failed === 0) {
    process.stderr.write(
      `\nERROR: no test failed but vitest ended with ${exitCode} (coverage, types, set-up?).\n`,
    );
  }
  process.stdout.write(`\n${passed} passed, ${failed} failed, ${skipped} skipped\n`);
  return exitCode || (nothingRan ? 1 : 0);
}
