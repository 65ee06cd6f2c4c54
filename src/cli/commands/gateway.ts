/**
 * `nevertwice gateway`: an MCP server that guards the tools of others.
 *
 * @module
 */
import { type Command, Option } from "commander";
import type { GatewayConfig } from "../../gateway/config/gateway-config.ts";
import { type GlobalOptions, helpEnd } from "../command.ts";
import { loadGatewayPart } from "../gateway-parts.ts";
import { withStore } from "../open-store.ts";
import { packageVersion } from "../package-version.ts";

interface GatewayCommandOptions extends GlobalOptions {
  readonly config: string;
  readonly stdio?: boolean;
  readonly logLevel: string;
  readonly accept?: readonly string[];
}

/** Adds the command. */
export function addGateway(program: Command): void {
  program
    .command("gateway")
    .description("stand between agents and MCP servers, and let each intent take effect once")
    .option("--config <file>", "the configuration", "nevertwice.yaml")
    .option("--stdio", "serve standard input and output, whatever the configuration says of http")
    .option("--accept <setting>", "accept an unsafe setting of the store; may be repeated", collect)
    .addOption(
      new Option("--log-level <level>", "how much to log on standard error")
        .choices(["debug", "info", "warn", "error", "silent"])
        .default("info"),
    )
    .addHelpText(
      "after",
      helpEnd(["gateway --config nevertwice.yaml", "gateway --stdio --log-level warn"]),
    )
    .action(async (_options: object, command: Command) => {
      await run(command.optsWithGlobals());
    });
}

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

async function run(options: GatewayCommandOptions): Promise<void> {
  const { loadConfig } = await loadGatewayPart(() => import("../../gateway/config/load-config.ts"));
  const { runGateway } = await loadGatewayPart(() => import("../../gateway/run-gateway.ts"));
  const { createLog } = await import("../../gateway/log.ts");
  const read = (): GatewayConfig => {
    const { http, ...config } = loadConfig(options.config, process.env);
    return options.stdio === true || http === undefined ? config : { ...config, http };
  };
  const config = read();
  const store = config.store ?? options.store;
  const schema = config.schema ?? options.schema;
  const opened = {
    ...(store === undefined ? {} : { store }),
    ...(schema === undefined ? {} : { schema }),
  };
  await withStore(opened, "ready", ({ store: ready }) =>
    runGateway({
      config,
      reload: read,
      store: ready,
      log: createLog(options.logLevel),
      version: packageVersion(),
      accept: options.accept ?? [],
    }),
  );
}
