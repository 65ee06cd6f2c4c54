/**
 * The gateway as a process: signals, reload, and an orderly end.
 *
 * @module
 */
import { errorText } from "../base/errors.ts";
import type { Store } from "../ledger/store.ts";
import type { GatewayConfig } from "./config/gateway-config.ts";
import { type Gateway, startGateway } from "./gateway.ts";
import type { Logger } from "./log.ts";
import { lockFileOf, readPins } from "./pins.ts";
import { serveAgentsOnHttp } from "./serve-http.ts";
import { serveAgentOnStdio } from "./serve-stdio.ts";

/** Options of {@link runGateway}. */
export interface RunGatewayOptions {
  readonly config: GatewayConfig;
  /** Reads the configuration again. */
  readonly reload: () => GatewayConfig;
  readonly store: Store;
  readonly log: Logger;
  readonly version: string;
  /** Unsafe settings of the store that are accepted, by name. */
  readonly accept: readonly string[];
}

/** Runs until a signal ends it, or the agent on standard input goes away. */
export async function runGateway(options: RunGatewayOptions): Promise<void> {
  const { config, store, log, version, accept } = options;
  const gateway = await startGateway({
    config,
    readPins: () => readPins(lockFileOf(config)),
    store,
    log,
    version,
    guard: { accept },
  });
  const reload = (): void => void reloadQuietly(gateway, options);
  process.on("SIGHUP", reload);
  try {
    await serve(gateway, options);
  } finally {
    process.off("SIGHUP", reload);
    // A port that is taken, too: servers that go on would keep the process from ending.
    await gateway.close();
  }
}

async function serve(gateway: Gateway, options: RunGatewayOptions): Promise<void> {
  const { config, log, version } = options;
  const signalled = signalOf(["SIGTERM", "SIGINT"]);
  const service =
    config.http === undefined
      ? serveAgentOnStdio(gateway, version, log)
      : await serveAgentsOnHttp(gateway, config.http, version, log);
  log.info("url" in service ? { url: service.url } : { stdio: true }, "listening");
  const ended = "ended" in service ? [service.ended.then(() => "the agent went away")] : [];
  const reason = await Promise.race([signalled, ...ended]);
  log.info({ reason }, "ending");
  // First what is under way is settled and answered; only then the line to the agents is cut.
  await gateway.close();
  await service.close();
  log.info("ended");
}

function signalOf(names: readonly NodeJS.Signals[]): Promise<string> {
  return new Promise((resolve) => {
    for (const name of names) process.once(name, () => resolve(name));
  });
}

/** A configuration that can't be used changes nothing. */
async function reloadQuietly(gateway: Gateway, options: RunGatewayOptions): Promise<void> {
  const { log } = options;
  try {
    await gateway.reload(options.reload());
    log.info("configuration taken up");
  } catch (error) {
    log.error(
      { reason: errorText(error) },
      "the new configuration can't be used; the old one stays",
    );
  }
}
