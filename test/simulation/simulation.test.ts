/**
 * Seeded schedules in every test run, in processes of their own; `npm run sim` takes as many as you like.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { Laboratory } from "./run.ts";
import type { Summary } from "./simulate.ts";

const processes = 2;
const schedules = Number(process.env["NEVERTWICE_SCHEDULES"] ?? 20_000);
const share = Math.ceil(schedules / processes);
const main = fileURLToPath(new URL("main.ts", import.meta.url));

async function simulateApart(from: number): Promise<Summary> {
  const child = spawn(process.execPath, ["--import", "tsx", main], {
    env: { ...process.env, SIM_FROM: String(from), SIM_RUNS: String(share), SIM_SEED: undefined },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  await once(child, "close");
  return JSON.parse(output) as Summary;
}

it(`keeps every invariant over ${schedules} schedules of crashes, losses, pauses and clock steps`, async () => {
  const starts = Array.from({ length: processes }, (_, index) => 1 + index * share);
  for (const summary of await Promise.all(starts.map(simulateApart))) {
    expect(summary.failures).toEqual([]);
    expect(summary.runs).toBe(share);
    // Runs in which everything only ever errs would prove nothing.
    expect(summary.ends["DONE"]).toBeGreaterThan(share / 2);
    expect(summary.withEffect).toBeGreaterThan(share / 2);
  }
}, 86_400_000);

it("replays a seed to the letter", async () => {
  const laboratory = await Laboratory.open();
  const first = await laboratory.run(11);
  await laboratory.run(12);
  expect((await laboratory.run(11)).log).toEqual(first.log);
  expect(first.log.length).toBeGreaterThan(10);
});
