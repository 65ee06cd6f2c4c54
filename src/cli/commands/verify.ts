/**
 * `nevertwice verify`: runs everything that is known to go wrong against the user's own tools.
 *
 * @module
 */
import type { Command } from "commander";
import {
  type CheckName,
  type CheckReport,
  type CheckResult,
  checkNames,
  effectsText,
  summary,
  toldText,
  verdictText,
} from "../../testing/check-tool/index.ts";
import { type GlobalOptions, helpEnd, outputFor } from "../command.ts";
import { CliError, exitCodes } from "../exit-codes.ts";
import type { Colours, Output } from "../output.ts";
import { runChecks } from "../verify/run-checks.ts";

interface VerifyOptions extends GlobalOptions {
  readonly tool?: string;
  readonly only?: readonly CheckName[];
  readonly skip?: readonly CheckName[];
}

/** Adds the command. */
export function addVerify(program: Command): void {
  program
    .command("verify")
    .argument(
      "<file>",
      "exports `checks`: a list of `defineCheck({ tool, example, countEffects … })`",
    )
    .description("run the faults of agents, workers and networks against your own tools")
    .option("--tool <name>", "only this tool of the file")
    .option("--only <check>", "only this check, and the baseline; may be repeated", addName)
    .option("--skip <check>", "not this check; may be repeated", addName)
    .addHelpText(
      "after",
      `
It makes real effects at whatever the tools talk to: a sandbox or a fake, never production. The guard's
store is the one that the check opens; else a SQLite file (or with --store postgres://… a schema of its
own), which is removed afterwards. NEVERTWICE_STORE is not used.

Checks:
${checkList()}
${helpEnd([
  "verify ./tools.ts",
  "verify ./tools.ts --tool issue_refund --only worker-dies --only look-up-finds",
  "verify ./tools.js --store postgres://postgres@localhost/postgres --json",
])}`,
    )
    .action((file: string, _options: unknown, command: Command) => verify(file, command));
}

function checkList(): string {
  const lines: string[] = [""];
  for (const name of checkNames) {
    const last = lines.at(-1) ?? "";
    if (last.length + name.length > 90) lines.push(name);
    else lines[lines.length - 1] = last === "" ? name : `${last}, ${name}`;
  }
  return lines.map((line) => `  ${line}`).join("\n");
}

function addName(text: string, before: readonly CheckName[] = []): CheckName[] {
  const name = checkNames.find((known) => known === text);
  if (name !== undefined) return [...before, name];
  throw new CliError("USAGE", `There is no check ${text}; --help lists them.`);
}

async function verify(file: string, command: Command): Promise<void> {
  const options = command.optsWithGlobals<VerifyOptions>();
  const output = outputFor(options);
  if (options.schema !== undefined) {
    throw new CliError("USAGE", "The check makes a schema of its own; --schema is not for it.");
  }
  // A store named for all commands holds real operations: it must be asked for by name.
  const store =
    command.getOptionValueSourceWithGlobals("store") === "env" ? undefined : options.store;
  const { tool, only, skip } = options;
  try {
    const reports = await runChecks({ file, tool, store, only, skip }, output);
    const ok = reports.every((report) => report.ok);
    if (!ok) process.exitCode = exitCodes.found;
    if (output.json) output.document({ ok, tools: reports });
    else for (const report of reports) printReport(output, report);
  } finally {
    leaveSoon();
  }
}

/** What the checked file has left open (a pool, a server) doesn't keep the command from ending. */
function leaveSoon(): void {
  setTimeout(() => process.exit(), 1000).unref();
}

function printReport(output: Output, report: CheckReport): void {
  const { bold, green, red } = output.colours;
  output.text(bold(`${report.tool}: ${summary(report)}`));
  output.line();
  output.table(
    [
      { head: "Verdict", paint: paintVerdict },
      { head: "Check" },
      { head: "Effects" },
      { head: "Callers were told", narrow: "wrap" },
    ],
    report.checks.map((check) => [
      verdictText(check.verdict),
      check.name,
      effectsText(check),
      toldText(check.told),
    ]),
  );
  for (const verdict of ["not-checkable", "advice", "fail"] as const) {
    for (const check of report.checks.filter((one) => one.verdict === verdict)) {
      printDetails(output, check);
    }
  }
  output.line();
  output.line(report.ok ? green("No check failed.") : red("The tool can be made to act wrongly."));
  output.line();
}

function paintVerdict(cell: string, { green, red, yellow, dim }: Colours): string {
  if (cell.startsWith("FAIL")) return red(cell);
  if (cell.startsWith("pass")) return green(cell);
  return cell.startsWith("advice") ? yellow(cell) : dim(cell);
}

function printDetails(output: Output, { verdict, name, fault, found, advice }: CheckResult): void {
  output.line();
  output.line(paintVerdict(`${verdictText(verdict)}: ${name}`, output.colours));
  output.facts([
    ["when", fault],
    ["found", found],
    ["change", advice],
  ]);
}
