/**
 * `nevertwice init`: a first configuration of the gateway, from what a server lists.
 *
 * @module
 */
import { existsSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { Command } from "commander";
import { type GlobalOptions, helpEnd, outputFor } from "../command.ts";
import { CliError } from "../exit-codes.ts";
import { loadGatewayPart } from "../gateway-parts.ts";
import { packageVersion } from "../package-version.ts";
import { counted } from "../text.ts";

interface InitOptions extends GlobalOptions {
  readonly config: string;
  readonly name: string;
  readonly tenant: string;
}

/** Adds the command. */
export function addInit(program: Command): void {
  program
    .command("init")
    .argument("[command...]", "a server's command, behind --; its tools are drafted and pinned")
    .description("write a first configuration of the gateway")
    .option("--config <file>", "where to write it", "nevertwice.yaml")
    .option("--name <name>", "what to call the server", "server")
    .option("--tenant <tenant>", "whose money, machines or orders these are", "default")
    .addHelpText("after", helpEnd(["init -- npx -y @modelcontextprotocol/server-filesystem ."]))
    .action(async (command: readonly string[], _options: object, self: Command) => {
      await run(command, self.optsWithGlobals());
    });
}

async function run(command: readonly string[], options: InitOptions): Promise<void> {
  const file = resolve(options.config);
  if (existsSync(file))
    throw new CliError("EXISTS", `${file} is there already and was left as it is.`);
  if (!existsSync(dirname(file)))
    throw new CliError("USAGE", `There is no folder ${dirname(file)}.`);
  const { firstConfig } = await loadGatewayPart(() => import("../../gateway/first-config.ts"));
  const { lockFileOf, writePins } = await import("../../gateway/pins.ts");
  const { text, pins } = await firstConfig({
    command,
    server: options.name,
    tenant: options.tenant,
    version: packageVersion(),
  }).catch((error: unknown) => {
    throw new CliError(
      "SERVER_UNREACHABLE",
      `The server can't be looked at: ${(error as Error).message}. Nothing was written.`,
    );
  });
  writeFileSync(file, text, { flag: "wx" });
  const lockFile = lockFileOf({ file });
  if (pins.size > 0) writePins(lockFile, pins);
  const output = outputFor(options);
  if (output.json) return output.document({ config: file, lockFile, tools: pins.size });
  output.text(
    `Wrote ${basename(file)} and pinned ${counted(pins.size, "tool")} in ${basename(lockFile)}.`,
  );
  output.text("Read each intent: is it what the business wants done once? Then:");
  output.line();
  output.line(
    `  $ nevertwice migrate --store ${join(dirname(options.config), "nevertwice.sqlite")}`,
  );
  output.line(`  $ nevertwice gateway --config ${options.config}`);
}
