/**
 * `nevertwice inspect`: looks at the tools of MCP servers, drafts policies and pins definitions.
 *
 * @module
 */
import type { Command } from "commander";
import { stringify } from "yaml";
import type { JsonObject } from "../../base/plain-json.ts";
import type { UpstreamSpec } from "../../gateway/config/gateway-config.ts";
import type { InspectedTool } from "../../gateway/inspect.ts";
import type { Probed } from "../../gateway/probe.ts";
import { type GlobalOptions, helpEnd, outputFor } from "../command.ts";
import { CliError, exitCodes } from "../exit-codes.ts";
import { loadGatewayPart } from "../gateway-parts.ts";
import type { Output } from "../output.ts";
import { parseHeader, parseObject, reached, specOf } from "../server-spec.ts";
import { packageVersion } from "../package-version.ts";
import { counted } from "../text.ts";

interface InspectOptions extends GlobalOptions {
  readonly config?: string;
  readonly url?: string;
  readonly header?: Readonly<Record<string, string>>;
  readonly name: string;
  readonly pin?: boolean;
  readonly probe?: string;
  readonly args?: JsonObject;
  readonly observe?: string;
  readonly observeArgs?: JsonObject;
}

/** Adds the command. */
export function addInspect(program: Command): void {
  program
    .command("inspect")
    .argument("[command...]", "a server's command, behind --")
    .description("look at the tools of MCP servers, draft their policies, pin their definitions")
    .option("--config <file>", "look at the servers of this configuration")
    .option("--url <url>", "look at the server at this URL")
    .option("--header <header>", 'with --url: "Name: value", more than once', parseHeader)
    .option("--name <name>", "what to call the server in a draft", "server")
    .option("--pin", "with --config: pin every definition as it is now")
    .option("--probe <tool>", "call this tool twice, and look at the state: a test server only")
    .option("--args <json>", "with --probe: its arguments", parseObject)
    .option("--observe <tool>", "with --probe: the tool that shows the state")
    .option("--observe-args <json>", "with --probe: its arguments", parseObject)
    .addHelpText(
      "after",
      helpEnd([
        "inspect -- npx -y @modelcontextprotocol/server-filesystem .",
        "inspect --config nevertwice.yaml --pin",
        'inspect --probe add_note --args \'{"text":"x"}\' --observe list_notes -- node notes.mjs',
      ]),
    )
    .action(async (command: readonly string[], _options: object, self: Command) => {
      await run(command, self.optsWithGlobals());
    });
}

async function run(command: readonly string[], options: InspectOptions): Promise<void> {
  const ways = [command.length > 0, options.url !== undefined, options.config !== undefined];
  if (ways.filter(Boolean).length !== 1)
    throw new CliError(
      "USAGE",
      "Name one thing to look at: a command behind --, --url or --config.",
    );
  if (options.pin === true && options.config === undefined)
    throw new CliError("USAGE", "--pin needs --config: the lock file stands beside it.");
  if (options.config !== undefined) return inspectConfig(options.config, options);
  const spec = specOf(command, options);
  if (options.probe !== undefined) return probe(spec, options.probe, options);
  const { inspectServer } = await loadGatewayPart(() => import("../../gateway/inspect.ts"));
  const tools = await reached(spec.name, () => inspectServer(spec, packageVersion()));
  const output = outputFor(options);
  if (output.json) return output.document({ tools: tools.map(asDocument) });
  printTools(output, tools);
  printDraft(output, tools);
}

async function inspectConfig(file: string, options: InspectOptions): Promise<void> {
  const { loadConfig } = await loadGatewayPart(() => import("../../gateway/config/load-config.ts"));
  const { inspectServer } = await loadGatewayPart(() => import("../../gateway/inspect.ts"));
  const { lockFileOf, readPins, writePins } = await import("../../gateway/pins.ts");
  const config = loadConfig(file, process.env);
  const lockFile = lockFileOf(config);
  // A lock file that can't be read is what --pin mends.
  const pins = options.pin === true ? new Map<string, string>() : readPins(lockFile);
  const tools: InspectedTool[] = [];
  for (const [name, spec] of config.upstreams) {
    const look = (): Promise<readonly InspectedTool[]> =>
      inspectServer(spec, packageVersion(), config.policies, pins);
    tools.push(...(await reached(name, look)));
  }
  if (options.pin === true)
    writePins(lockFile, new Map(tools.map(({ name, hash }) => [name, hash])));
  const output = outputFor(options);
  const open = tools.filter(({ pin, hasPolicy }) => hasPolicy && pin !== "pinned");
  if (output.json) {
    output.document({ tools: tools.map(asDocument), pinned: options.pin === true });
  } else {
    printTools(output, tools);
    printDraft(
      output,
      tools.filter(({ hasPolicy }) => !hasPolicy),
    );
    output.line();
    if (options.pin === true)
      output.text(`Pinned ${counted(tools.length, "definition")} in ${lockFile}.`);
    else if (open.length > 0)
      output.text(
        `${counted(open.length, "tool")} with a policy, but not pinned as listed here: look, then --pin.`,
      );
  }
  if (options.pin !== true && open.length > 0) process.exitCode = exitCodes.found;
}

async function probe(spec: UpstreamSpec, tool: string, options: InspectOptions): Promise<void> {
  const { observe } = options;
  if (observe === undefined)
    throw new CliError("USAGE", "--probe needs --observe: the tool that shows the state.");
  const { probeTool } = await loadGatewayPart(() => import("../../gateway/probe.ts"));
  const call = { tool, arguments: options.args ?? {} };
  const look = { tool: observe, arguments: options.observeArgs ?? {} };
  const probed = await reached(spec.name, () => probeTool(spec, packageVersion(), call, look));
  const output = outputFor(options);
  if (output.json) output.document(probed);
  else printProbed(output, probed);
  if (probed.lies.length > 0) process.exitCode = exitCodes.found;
}

function asDocument(tool: InspectedTool): Readonly<Record<string, unknown>> {
  const { name, kind, hasPolicy, hints, remarks, pin, hash, draft } = tool;
  return { name, kind, hasPolicy, hints, remarks, pin, hash, draft };
}

function hintsText({ hints }: InspectedTool): string {
  const said = Object.entries(hints).filter(([name]) => name.endsWith("Hint"));
  const texts = said.map(([name, value]) => `${value === true ? "" : "not "}${name.slice(0, -4)}`);
  return texts.length === 0 ? "none" : texts.join(", ");
}

function printTools(output: Output, tools: readonly InspectedTool[]): void {
  output.table(
    [
      { head: "Tool" },
      { head: "Kind" },
      { head: "Hints", narrow: "wrap" },
      { head: "Definition" },
      { head: "Remarks", narrow: "wrap" },
    ],
    tools.map((tool) => [
      tool.name,
      tool.hasPolicy ? tool.kind : `${tool.kind}?`,
      hintsText(tool),
      tool.pin,
      tool.remarks.join("; "),
    ]),
  );
}

function printDraft(output: Output, tools: readonly InspectedTool[]): void {
  if (tools.length === 0) return;
  const draft = Object.fromEntries(tools.map((tool) => [tool.name, tool.draft]));
  output.line();
  output.text(
    "A draft of policies, to be read before it is used: is each intent what the business wants done once?",
  );
  output.line();
  for (const line of stringify({ tools: draft }, { nullStr: "" }).trimEnd().split("\n"))
    output.line(line);
}

const observations = {
  reads: "the state is the same after two calls",
  converges: "the first call changed the state, the second one changed nothing more",
  repeats: "the second call changed the state again",
} as const;

function printProbed(output: Output, probed: Probed): void {
  output.text(`${probed.tool}: ${observations[probed.observed]}.`);
  if (probed.refused) output.text("Both calls reported an error, so this says little.");
  for (const lie of probed.lies) output.text(`Contradiction: ${lie}.`);
}
