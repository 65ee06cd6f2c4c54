/**
 * `npm run prove`: the long sizes of everything that `npm test` runs at a size for every day. Takes hours;
 * each part may be run alone by its name: `npm run prove -- simulation`.
 */
import { spawn } from "node:child_process";

interface Part {
  readonly name: string;
  readonly what: string;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const parts: readonly Part[] = [
  {
    name: "model",
    what: "every configuration of the model",
    command: ["npm", "run", "model"],
    env: {},
  },
  {
    name: "mutants",
    what: "the simulation against faults put into the guard",
    command: ["npm", "run", "mutants"],
    env: { SIM_RUNS: "20000" },
  },
  {
    name: "crash",
    what: "every cell of the crash matrix",
    command: ["npx", "vitest", "run", "test/crash"],
    env: { NEVERTWICE_CRASH: "all" },
  },
  {
    name: "failover",
    what: "50 failovers",
    command: ["npx", "vitest", "run", "test/failover"],
    env: { NEVERTWICE_FAILOVERS: "50" },
  },
  {
    name: "simulation",
    what: "1,000,000 schedules",
    command: ["npx", "vitest", "run", "test/simulation"],
    env: { NEVERTWICE_SCHEDULES: "1000000" },
  },
];

const wanted = process.argv.slice(2);
const unknown = wanted.find((name) => !parts.some((part) => part.name === name));
if (unknown === undefined) await prove();
else {
  const names = parts.map(({ name }) => name).join(", ");
  console.error(`There is no part called ${unknown}: use ${names}, or none for all.`);
  process.exitCode = 2;
}

async function prove(): Promise<void> {
  const failed: string[] = [];
  for (const part of parts) {
    if (wanted.length > 0 && !wanted.includes(part.name)) continue;
    const startedAtMs = performance.now();
    console.log(`\n== ${part.name}: ${part.what}`);
    const exitCode = await run(part);
    const minutes = ((performance.now() - startedAtMs) / 60_000).toFixed(1);
    console.log(`== ${part.name}: ${exitCode === 0 ? "holds" : "FAILED"} after ${minutes} min`);
    if (exitCode !== 0) failed.push(part.name);
  }
  console.log(failed.length === 0 ? "\nAll of it holds." : `\nFAILED: ${failed.join(", ")}`);
  if (failed.length > 0) process.exitCode = 1;
}

function run({ command, env }: Part): Promise<number> {
  const [program = "", ...args] = command;
  const child = spawn(program, args, {
    stdio: "inherit",
    env: { ...process.env, NEVERTWICE_REQUIRE_ALL: "1", ...env },
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => resolve(code ?? 1));
  });
}
