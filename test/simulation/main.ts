/**
 * `npm run sim`: many seeds, or with SIM_SEED one, whose log it prints.
 *
 *   SIM_RUNS=20000 SIM_FROM=1 npm run sim
 *   SIM_SEED=1234 npm run sim
 */
import { simulate } from "./simulate.ts";

const { SIM_SEED, SIM_RUNS = "20000", SIM_FROM = "1" } = process.env;
const summary = await simulate(
  SIM_SEED === undefined
    ? {
        from: Number(SIM_FROM),
        runs: Number(SIM_RUNS),
        stopAtFirst: process.env["SIM_STOP"] === "1",
      }
    : { from: Number(SIM_SEED), runs: 1 },
);
if (SIM_SEED !== undefined) console.log(summary.lastLog.join("\n"));
console.log(
  JSON.stringify(
    { ...summary, lastLog: undefined, failures: summary.failures.slice(0, 10) },
    null,
    2,
  ),
);
if (summary.failures.length > 0) process.exitCode = 1;
