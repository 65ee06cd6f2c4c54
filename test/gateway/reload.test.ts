/**
 * Reload: a configuration that can't be used changes nothing, and a server that goes is closed, whatever
 * it still owes an answer.
 */
import { join } from "node:path";
import { pino } from "pino";
import { expect, it, onTestFinished } from "vitest";
import { type Guard, type GuardOptions, NeverTwiceError, createGuard } from "../../src/index.ts";
import { readConfig } from "../../src/gateway/config/load-config.ts";
import { type GatewayConfig } from "../../src/gateway/config/gateway-config.ts";
import { type Gateway, startGateway } from "../../src/gateway/gateway.ts";
import type { Pins } from "../../src/gateway/pins.ts";
import { sqliteSuite } from "../support/stores.ts";
import { createGatewayWorld, refundPins, toldBy } from "./support/gateway-world.ts";
import { folder } from "./support/suite-world.ts";
import { refundServer } from "./support/servers.ts";

/** The same configuration with another environment for the server, which is another process. */
function withAnotherServer(config: GatewayConfig): GatewayConfig {
  const [[name, spec] = []] = config.upstreams;
  if (spec?.kind !== "command" || name === undefined) throw new Error("the server is a command");
  const changed = { ...spec, env: { ...spec.env, REPLY_AFTER_MS: "1" } };
  return { ...config, upstreams: new Map([[name, changed]]) };
}

interface Trouble {
  pins: boolean;
  /** Whether the next guards can't be made, one after another. */
  guards: boolean[];
}

/** A gateway whose lock file and store can be out of order. */
async function createTroubledGateway(): Promise<{ gateway: Gateway; trouble: Trouble }> {
  const place = folder();
  const text = `
context: { tenant: { value: acme } }
upstreams:
  shop: { command: "${process.execPath}", args: ["${refundServer()}"], env: { LEDGER_FOLDER: "${place}" } }
tools:
  shop/list_refunds: { kind: read-only }`;
  const pins = await refundPins();
  const trouble: Trouble = { pins: false, guards: [] };
  const refuse = (): never => {
    throw new NeverTwiceError("CONFIGURATION_INVALID", "out of order");
  };
  const { store } = await sqliteSuite.open();
  const gateway = await startGateway({
    config: readConfig(join(place, "nevertwice.yaml"), text, {}),
    readPins: (): Pins => (trouble.pins ? refuse() : pins),
    store,
    log: pino({ level: "silent" }),
    version: "0",
    createGuard: async (options: GuardOptions): Promise<Guard> =>
      trouble.guards.shift() === true ? refuse() : createGuard(options),
  });
  onTestFinished(() => gateway.close());
  return { gateway, trouble };
}

it.each([
  ["a lock file that can't be read", { pins: true }],
  ["a store that can't be used", { guards: [true] }],
])("a reload with %s is refused, and changes nothing", async (_what, wrong) => {
  const { gateway, trouble } = await createTroubledGateway();
  const { config, catalogue } = gateway;
  Object.assign(trouble, wrong);
  await expect(gateway.reload(withAnotherServer(config))).rejects.toThrow("out of order");
  expect(gateway.config).toBe(config);
  expect(gateway.catalogue).toBe(catalogue);
  expect(catalogue.entries.get("list_refunds")?.upstream.state).toBe("up");
  trouble.pins = false;
  await gateway.reload(withAnotherServer(config));
  expect(gateway.config).not.toBe(config);
});

it("tools that could not be taken up are tried again", async () => {
  const { gateway, trouble } = await createTroubledGateway();
  const verdict = () => gateway.catalogue.entries.get("issue_refund")?.verdict;
  trouble.guards = [false, true];
  await gateway.reload({ ...gateway.config, unlisted: "pass" });
  expect(verdict()).toBe("refused");
  await expect.poll(verdict, { timeout: 5000 }).toBe("pass");
});

it("a server that never answers is closed when it goes, and keeps nobody from ending", async () => {
  const world = await createGatewayWorld(sqliteSuite, { timeout: "1s" });
  world.set("hang");
  expect(toldBy(await world.refund())).toBe("OUTCOME_UNKNOWN");
  await world.gateway.reload(withAnotherServer(world.gateway.config));
  expect(world.gateway.servers).toEqual({ shop: "up" });
  const ended = world.gateway.close().then(() => "ended");
  const late = new Promise((resolve) => setTimeout(() => resolve("still running"), 30_000));
  expect(await Promise.race([ended, late])).toBe("ended");
});
