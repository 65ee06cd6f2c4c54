/**
 * The standing proxy of `nevertwice chaos`: for any client, until it is ended.
 *
 * @module
 */
import { randomInt } from "node:crypto";
import { type FaultName, faultNames, playableFaults } from "../../gateway/chaos/faults.ts";
import { type FaultPlan, seededPlan } from "../../gateway/chaos/fault-plan.ts";
import type { UpstreamSpec } from "../../gateway/config/gateway-config.ts";
import { type GlobalOptions, outputFor } from "../command.ts";
import { CliError } from "../exit-codes.ts";
import { loadGatewayPart } from "../gateway-parts.ts";

/** Options of the standing proxy. */
export interface StandingChaosOptions extends GlobalOptions {
  readonly listen?: number;
  readonly faults?: readonly FaultName[];
  readonly seed?: number;
  readonly rate: number;
  readonly holdMs: number;
}

/**
 * Stands between clients and a server: at a port, or on standard input and output, which then carry
 * the protocol. Standard error says which call met which fault.
 */
export async function standBetween(
  spec: UpstreamSpec,
  options: StandingChaosOptions,
): Promise<void> {
  const { listen, holdMs, seed = randomInt(2 ** 31) } = options;
  const front = listen === undefined ? "stdio" : "http";
  const plan = told(planOf(spec, front, seed, options), options);
  const { listenWithFaults, serveStdioWithFaults } = await loadGatewayPart(
    () => import("../../gateway/chaos/open-proxy.ts"),
  );
  if (listen === undefined) {
    say(options, { seed }, `seed ${seed}`);
    return serveStdioWithFaults({ spec, plan, holdMs });
  }
  const proxy = await listenWithFaults({ spec, plan, holdMs }, listen).catch((error: unknown) => {
    throw new CliError(
      "USAGE",
      `Port ${listen} can't be listened at: ${(error as Error).message}.`,
    );
  });
  const output = outputFor(options);
  if (output.json) output.document({ url: proxy.url, seed });
  else output.text(`Listening at ${proxy.url}, seed ${seed}.`);
  await new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
  });
  await proxy.close();
}

function planOf(
  spec: UpstreamSpec,
  front: "stdio" | "http",
  seed: number,
  { faults, rate }: StandingChaosOptions,
): FaultPlan {
  const playable = playableFaults({ front, back: spec.kind });
  const missing = (faults ?? []).filter((fault) => !playable.includes(fault));
  if (missing.length > 0)
    throw new CliError(
      "USAGE",
      `Here ${missing.join(", ")} can't be played: ${missing.includes("killed") ? noProcess : noHttp}`,
    );
  return seededPlan({
    seed,
    rate,
    faults: faultNames.filter((each) => (faults ?? playable).includes(each)),
  });
}

const noHttp = "a 503 needs HTTP, which --listen speaks.";
const noProcess = "a server at a URL can't be killed; name its command.";

/** Says what each call meets. */
function told(plan: FaultPlan, options: StandingChaosOptions): FaultPlan {
  let calls = 0;
  return (tool) => {
    const fault = plan(tool);
    calls += 1;
    say(options, { call: calls, tool, fault }, `call ${calls}, ${tool}: ${fault}`);
    return fault;
  };
}

function say({ json }: StandingChaosOptions, facts: object, text: string): void {
  process.stderr.write(
    json === true ? `${JSON.stringify(facts)}\n` : `nevertwice chaos: ${text}\n`,
  );
}
