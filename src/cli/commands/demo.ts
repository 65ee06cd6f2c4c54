/**
 * `nevertwice demo`: the opening story with real processes.
 *
 * @module
 */
import { type Command, InvalidArgumentError } from "commander";
import { type GlobalOptions, helpEnd, outputFor } from "../command.ts";
import { CliError, exitCodes } from "../exit-codes.ts";

interface DemoOptions extends GlobalOptions {
  readonly speed: number;
}

/** Adds the command. */
export function addDemo(program: Command): void {
  program
    .command("demo")
    .description("play the opening story with real processes: three attempts, one refund")
    .option("--speed <factor>", "divides the pauses for reading, e.g. 4", parseSpeed, 1)
    .addHelpText(
      "after",
      `
The demo makes a store of its own and removes it afterwards: a SQLite file (--store sqlite, the
default) or a schema in the PostgreSQL that --store names. NEVERTWICE_STORE is not used.
${helpEnd(["demo", "demo --speed 4", "demo --store postgres://postgres@localhost/postgres --json"])}`,
    )
    .action((_options: unknown, command: Command) => demo(command));
}

async function demo(command: Command): Promise<void> {
  const options = command.optsWithGlobals<DemoOptions>();
  const output = outputFor(options);
  if (options.schema !== undefined) {
    throw new CliError("USAGE", "The demo makes a schema of its own; --schema is not for it.");
  }
  // A store named for all commands holds real operations: the demo must be asked for by name.
  const given =
    command.getOptionValueSourceWithGlobals("store") === "env" ? undefined : options.store;
  // Only here, so that other commands start without provider and guard.
  const { runDemo } = await import("../demo/run-demo.ts");
  const report = await runDemo({ store: given ?? "sqlite", speed: options.speed }, output);
  if (!report.ok) process.exitCode = exitCodes.found;
  if (output.json) return output.document(report);
  if (report.fault !== null) process.stderr.write(`nevertwice: ${report.fault} (DEMO_FAILED)\n`);
}

function parseSpeed(text: string): number {
  const speed = Number(text);
  if (Number.isFinite(speed) && speed > 0) return speed;
  throw new InvalidArgumentError("It must be a number above zero.");
}
