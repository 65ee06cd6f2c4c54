/**
 * `nevertwice chaos`: a proxy that breaks calls to an MCP server in the ways that clients and networks
 * do. With a tool to call, it is its own client and counts the effects; without, it stands for others.
 *
 * @module
 */
import { type Command, InvalidArgumentError, Option } from "commander";
import type { JsonObject } from "../../base/plain-json.ts";
import type { CountSource } from "../../gateway/chaos/count-effects.ts";
import { type FaultName, faultNames } from "../../gateway/chaos/faults.ts";
import type { ChaosResult } from "../../gateway/chaos/run-chaos.ts";
import { type GlobalOptions, helpEnd, outputFor, parseCount } from "../command.ts";
import { CliError, exitCodes } from "../exit-codes.ts";
import { loadGatewayPart } from "../gateway-parts.ts";
import type { Output } from "../output.ts";
import { packageVersion } from "../package-version.ts";
import { parseHeader, parseObject, reached, specOf } from "../server-spec.ts";
import { counted } from "../text.ts";
import { standBetween } from "./chaos-standing.ts";

/** Options of the command. */
export interface ChaosOptions extends GlobalOptions {
  readonly url?: string;
  readonly header?: Readonly<Record<string, string>>;
  readonly tool?: string;
  readonly args: JsonObject;
  readonly meta: JsonObject;
  readonly probeTool?: string;
  readonly probeArgs: JsonObject;
  readonly countPath: string;
  readonly probeCommand?: string;
  readonly settleMs: number;
  readonly faults?: readonly FaultName[];
  readonly rounds: number;
  readonly seed?: number;
  readonly timeoutMs: number;
  readonly patienceMs: number;
  readonly listen?: number;
  readonly rate: number;
  readonly holdMs: number;
}

/** Adds the command. */
export function addChaos(program: Command): void {
  const command = program
    .command("chaos")
    .argument("[command...]", "a server's or gateway's command, behind --")
    .description("break calls to an MCP server, and count the effects: a test server only")
    .option("--url <url>", "the server at this URL")
    .option("--header <header>", 'with --url: "Name: value", more than once', parseHeader)
    .option("--faults <names>", "only these, with commas between", parseFaults)
    .option(
      "--seed <number>",
      "decides the order of the faults, or which call meets one",
      parseWhole,
    );
  addOneShotOptions(command);
  addStandingOptions(command);
  command
    .addHelpText(
      "after",
      helpEnd([
        `chaos --tool add_note --args '{"text":"{run}"}' --probe-tool list_notes --count-path /notes -- node notes.mjs`,
        "chaos --url http://127.0.0.1:8420/mcp --tool add_note --args '{\"text\":\"{run}\"}' --probe-command 'wc -l < notes.txt'",
        "chaos --listen 8421 --url http://127.0.0.1:8420/mcp --seed 7",
        "chaos --seed 7 -- node notes.mjs",
        "chaos --seed 7 --url http://127.0.0.1:8420/mcp",
      ]),
    )
    .action(async (words: readonly string[], _options: object, self: Command) => {
      await run(words, self.optsWithGlobals());
    });
}

function addOneShotOptions(command: Command): void {
  command
    .option("--tool <name>", "call this tool once for each fault, and count the effects")
    .option("--args <json>", "its arguments; {run} makes each call one of its own", parseObject, {})
    .option("--meta <json>", "_meta of the call; {run} as above", parseObject, {})
    .option("--probe-tool <name>", "the tool that shows the effects")
    .option("--probe-args <json>", "its arguments", parseObject, {})
    .option(
      "--count-path <pointer>",
      "where in its result the count or the list stands",
      parsePointer,
      "",
    )
    .option("--probe-command <command>", "instead: a shell command that prints the count")
    .option("--settle-ms <ms>", "two equal counts this far apart are the count", parseCount, 200)
    .option("--rounds <number>", "how often each fault is played", parseCount, 1)
    .option("--timeout-ms <ms>", "how long a lost or late reply is waited for", parseCount, 1000)
    .option("--patience-ms <ms>", "how long a call is repeated", parseCount, 30_000);
}

function addStandingOptions(command: Command): void {
  command
    .addOption(
      new Option(
        "--listen <port>",
        "without --tool: stand at this port for any client, 0 is a free one; else on standard input and output",
      ).argParser(parseWhole),
    )
    .option(
      "--rate <share>",
      "without --tool: the share of calls that meet a fault",
      parseShare,
      0.5,
    )
    .option("--hold-ms <ms>", "without --tool: how long a late reply is held", parseCount, 65_000);
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

function parseWhole(text: string): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && number <= 0xffff_ffff) return number;
  throw new InvalidArgumentError("It must be a whole number.");
}

function parseShare(text: string): number {
  const share = Number(text);
  if (text.trim() !== "" && share >= 0 && share <= 1) return share;
  throw new InvalidArgumentError("It must be a number from 0 to 1.");
}

async function run(command: readonly string[], options: ChaosOptions): Promise<void> {
  if (command.length > 0 === (options.url !== undefined))
    throw new CliError("USAGE", "Name one server: a command behind --, or --url.");
  const spec = specOf(command, { ...options, name: "server" });
  if (options.tool === undefined) return standBetween(spec, options);
  if (options.listen !== undefined)
    throw new CliError(
      "USAGE",
      "--tool makes the calls itself, and --listen waits for others: use one.",
    );
  const { args, meta, tool, faults = faultNames } = options;
  const count = countSourceOf(options);
  const { runChaos, namesRun } = await loadGatewayPart(
    () => import("../../gateway/chaos/run-chaos.ts"),
  );
  if (!namesRun(args, meta))
    throw new CliError(
      "USAGE",
      "Put {run} into a text of --args or --meta: each fault needs an intent of its own.",
    );
  const { seed, settleMs, rounds, timeoutMs, patienceMs } = options;
  const plan = {
    tool,
    arguments: args,
    meta,
    count,
    seed,
    settleMs,
    rounds,
    timeoutMs,
    patienceMs,
  };
  const version = packageVersion();
  const results = await reached("under test", () => runChaos({ ...plan, spec, faults, version }));
  const bad = results.filter(({ verdict }) => verdict === "doubled" || verdict === "lost");
  const output = outputFor(options);
  if (output.json)
    output.document({
      tool,
      ok: bad.length === 0,
      seed: seed ?? null,
      totals: totalsOf(results),
      results,
    });
  else print(output, results, bad);
  if (bad.length > 0) process.exitCode = exitCodes.found;
}

function countSourceOf(options: ChaosOptions): CountSource {
  const { probeTool, probeArgs, countPath, probeCommand } = options;
  if (probeTool !== undefined && probeCommand === undefined)
    return { by: "tool", tool: probeTool, arguments: probeArgs, pointer: countPath };
  if (probeCommand !== undefined && probeTool === undefined)
    return { by: "command", command: probeCommand };
  throw new CliError("USAGE", "Say how effects are counted: --probe-tool or --probe-command.");
}

/** Calls that were meant, what became of them, and nothing else. */
function totalsOf(results: readonly ChaosResult[]): Readonly<Record<string, number>> {
  const played = results.filter(({ verdict }) => verdict !== "skipped");
  const having = (wanted: ChaosResult["verdict"]): number =>
    played.filter(({ verdict }) => verdict === wanted).length;
  return {
    calls: played.length,
    effects: played.reduce((sum, { effects }) => sum + (effects ?? 0), 0),
    held: played.reduce((sum, { held }) => sum + held, 0),
    once: having("once"),
    doubled: having("doubled"),
    lost: having("lost"),
  };
}

function print(output: Output, results: readonly ChaosResult[], bad: readonly ChaosResult[]): void {
  output.table(
    [
      { head: "Fault" },
      { head: "What happens", narrow: "wrap" },
      { head: "Sent", align: "right" },
      { head: "Effects", align: "right" },
      { head: "Held", align: "right" },
      { head: "Verdict" },
      { head: "Told", narrow: "wrap" },
    ],
    results.map(({ fault, story, sent, effects, held, verdict, told }) => [
      fault,
      story,
      ...(effects === null ? ["", "", ""] : [String(sent), String(effects), String(held)]),
      verdict,
      told,
    ]),
  );
  output.line();
  const held = results.filter(({ verdict }) => verdict === "held");
  output.text(
    bad.length > 0
      ? `${counted(bad.length, "call")} of ${results.length} left no effect, or more than one.`
      : held.length > 0
        ? `No call took effect twice, and none was lost; ${counted(held.length, "call")} waits for a person.`
        : "Each call that was played took effect once.",
  );
}
