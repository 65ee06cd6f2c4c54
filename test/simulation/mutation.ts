/**
 * `npm run mutants`: runs the simulation against each mutant of the guard, in a copy of the sources, and
 * prints which it finds and after how many runs. Exit code 1 when one survives.
 */
import { spawn } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { type Edit, type Mutant, mutants } from "./mutants.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const runs = process.env["SIM_RUNS"] ?? "6000";

interface Verdict {
  readonly mutant: Mutant;
  readonly foundAfter: number | undefined;
  readonly violation: string;
}

const waiting = [...mutants.entries()].filter(([, { name }]) =>
  name.includes(process.argv[2] ?? ""),
);
const verdicts: Verdict[] = [];
await Promise.all(Array.from({ length: availableParallelism() }, work));

const found = verdicts.filter(({ foundAfter }) => foundAfter !== undefined).length;
console.log(`mutation score ${found}/${verdicts.length}`);
process.exitCode = found === verdicts.length ? 0 : 1;

async function work(): Promise<void> {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const [index, mutant] = next;
    const verdict = await judge(index, mutant);
    verdicts.push(verdict);
    print(verdict);
  }
}

function print({ mutant, foundAfter, violation }: Verdict): void {
  const said = foundAfter === undefined ? "SURVIVED" : `found after ${foundAfter} runs`;
  console.log(`${mutant.rule.padEnd(4)} ${mutant.name.padEnd(56)} ${said.padEnd(24)} ${violation}`);
}

async function judge(index: number, mutant: Mutant): Promise<Verdict> {
  const folder = `${root}/.cache/mutants/${index}`;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(`${folder}/test`, { recursive: true });
  cpSync(`${root}/src`, `${folder}/src`, { recursive: true });
  cpSync(`${root}/test/simulation`, `${folder}/test/simulation`, { recursive: true });
  for (const edit of mutant.edits) mutate(`${folder}/src/${edit.file}`, edit, mutant.name);
  const output = await run(folder);
  rmSync(folder, { recursive: true, force: true });
  const summary = JSON.parse(output) as { runs: number; failures: { violations: string[] }[] };
  const violation = summary.failures[0]?.violations[0];
  return {
    mutant,
    foundAfter: violation === undefined ? undefined : summary.runs + 1,
    violation: violation ?? "",
  };
}

function mutate(file: string, { find, replace }: Edit, name: string): void {
  const text = readFileSync(file, "utf8");
  if (!text.includes(find))
    throw new Error(`"${name}": the text to change is no longer in ${file}`);
  writeFileSync(
    file,
    text.replaceAll(find, () => replace),
  );
}

function run(folder: string): Promise<string> {
  const child = spawn(process.execPath, ["--import", "tsx", `${folder}/test/simulation/main.ts`], {
    cwd: root,
    env: { ...process.env, SIM_RUNS: runs, SIM_STOP: "1", SIM_SEED: undefined },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  return new Promise((resolve) => child.once("close", () => resolve(output)));
}
