/**
 * `nevertwice chaos`: breaks calls to an MCP server in the ways that clients and networks do, and
 * counts the effects.
 *
 * @module
 */
import { type Command, InvalidArgumentError } from "commander";
import type { JsonObject } from "../../base/plain-json.ts";
import type { CountSource } from "../../gateway/chaos/count-effects.ts";
import type { ChaosResult } from "../../gateway/chaos/run-chaos.ts";
import { type FaultName, faultNames } from "../../gateway/chaos/faults.ts";
import { type GlobalOptions, helpEnd, outputFor, parseCount } from "../command.ts";
import { CliError, exitCodes } from "../exit-codes.ts";
import { loadGatewayPart } from "../gateway-parts.ts";
import type { Output } from "../output.ts";
import { packageVersion } from "../package-version.ts";
import { parseObject, reached, specOf } from "../server-spec.ts";
import { counted } from "../text.ts";

interface ChaosOptions extends GlobalOptions {
  readonly url?: string;
  readonly tool: string;
  readonly args: JsonObject;
  readonly meta: JsonObject;
  readonly probeTool?: string;
  readonly probeArgs: JsonObject;
  readonly countPath: string;
  readonly countCommand?: string;
  readonly settleMs: number;
  readonly faults: readonly FaultName[];
}

/** Adds the command. */
export function addChaos(program: Command): void {
  program
    .command("chaos")
    .argument("[command...]", "a server's or gateway's command, behind --")
    .description("break calls to an MCP server, and count the effects: a test server only")
    .option("--url <url>", "the server at this URL")
    .requiredOption("--tool <name>", "the tool to call")
    .option(
      "--args <json>",
      "its arguments; {run} makes each fault a call of its own",
      parseObject,
      {},
    )
    .option("--meta <json>", "_meta of the call; {run} as above", parseObject, {})
    .option("--probe-tool <name>", "the tool that shows the effects")
    .option("--probe-args <json>", "its arguments", parseObject, {})
    .option(
      "--count-path <pointer>",
      "where in its result the count or the list stands",
      parsePointer,
      "",
    )
    .option("--count-command <command>", "instead: a shell command that prints the count")
    .option("--settle-ms <ms>", "two equal counts this far apart are the count", parseCount, 200)
    .option("--faults <names>", "only these, with commas between", parseFaults, faultNames)
    .addHelpText(
      "after",
      helpEnd([
        `chaos --tool add_note --args '{"text":"{run}"}' --probe-tool list_notes --count-path /notes -- node notes.mjs`,
        "chaos --url http://127.0.0.1:8420/mcp --tool add_note --args '{\"text\":\"{run}\"}' --count-command 'wc -l < notes.txt'",
      ]),
    )
    .action(async (command: readonly string[], _options: object, self: Command) => {
      await run(command, self.optsWithGlobals());
    });
}

function parsePointer(text: string): string {
  if (/^(\/([^~]|~[01])*)?$/.test(text)) return text;
  throw new InvalidArgumentError("It must be a JSON pointer, such as /notes.");
}

function parseFaults(text: string): readonly FaultName[] {
  const names = text.split(",");
  const known = faultNames.filter((name) => names.includes(name));
  if (known.length === names.length) return known;
  throw new InvalidArgumentError(`They are ${faultNames.join(", ")}.`);
}

async function run(command: readonly string[], options: ChaosOptions): Promise<void> {
  if (command.length > 0 === (options.url !== undefined))
    throw new CliError("USAGE", "Name one server: a command behind --, or --url.");
  const count = countSourceOf(options);
  const { runChaos, namesRun } = await loadGatewayPart(
    () => import("../../gateway/chaos/run-chaos.ts"),
  );
  const { tool, args, meta, settleMs, faults } = options;
  if (!namesRun(args, meta))
    throw new CliError(
      "USAGE",
      "Put {run} into a text of --args or --meta: each fault needs an intent of its own.",
    );
  const spec = specOf(command, { ...options, name: "server" });
  const plan = {
    spec,
    version: packageVersion(),
    tool,
    arguments: args,
    meta,
    count,
    settleMs,
    faults,
  };
  const results = await reached("under test", () => runChaos(plan));
  const bad = results.filter(({ verdict }) => verdict === "doubled" || verdict === "lost");
  const output = outputFor(options);
  if (output.json) output.document({ tool, ok: bad.length === 0, results });
  else print(output, results, bad);
  if (bad.length > 0) process.exitCode = exitCodes.found;
}

function countSourceOf(options: ChaosOptions): CountSource {
  const { probeTool, probeArgs, countPath, countCommand } = options;
  if (probeTool !== undefined && countCommand === undefined)
    return { by: "tool", tool: probeTool, arguments: probeArgs, pointer: countPath };
  if (countCommand !== undefined && probeTool === undefined)
    return { by: "command", command: countCommand };
  throw new CliError("USAGE", "Say how effects are counted: --probe-tool or --count-command.");
}

function print(output: Output, results: readonly ChaosResult[], bad: readonly ChaosResult[]): void {
  output.table(
    [
      { head: "Fault" },
      { head: "What happens", narrow: "wrap" },
      { head: "Effects", align: "right" },
      { head: "Verdict" },
      { head: "Told", narrow: "wrap" },
    ],
    results.map(({ fault, story, effects, verdict, told }) => [
      fault,
      story,
      effects === null ? "" : String(effects),
      verdict,
      told.join(", "),
    ]),
  );
  output.line();
  output.text(
    bad.length === 0
      ? "Each call that was played took effect once."
      : `${counted(bad.length, "fault")} of ${results.length} didn't leave one effect.`,
  );
}
