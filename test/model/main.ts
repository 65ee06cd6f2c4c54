/**
 * `npm run model`: explores every configuration and prints a table; with a name, that one and its trace.
 *
 *   npm run model
 *   npm run model -- article-keyed-R3
 *   npm run model -- --list
 *   npm run model -- --json [NAME]
 *
 * Ends with 0 when everything came out as it has to, 1 when not, 2 when asked for what there is not.
 */
import { parseArgs } from "node:util";
import { configurations } from "./configurations.ts";
import { lineOf, tableHead, verdictText } from "./trace.ts";
import { type Verdict, findConfiguration, judge, namesNear } from "./verdict.ts";

const usage = "usage: npm run model -- [NAME…] [--list] [--json]";

process.exitCode = run(process.argv.slice(2));

function run(args: readonly string[]): number {
  let parsed: { names: readonly string[]; list: boolean; json: boolean };
  try {
    parsed = parsedFrom(args);
  } catch (error) {
    return complain(error instanceof Error ? error.message : String(error));
  }
  const { names, list, json } = parsed;
  if (list) return printList(json);
  const unknown = names.find((name) => findConfiguration(name) === undefined);
  if (unknown !== undefined) {
    return complain(
      `there is no configuration "${unknown}". Near: ${namesNear(unknown).join(", ")}`,
    );
  }
  return names.length === 0 ? printTable(json) : printOnes(names, json);
}

function parsedFrom(args: readonly string[]): { names: string[]; list: boolean; json: boolean } {
  const options = { list: { type: "boolean" }, json: { type: "boolean" } } as const;
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  return { names: positionals, list: values.list === true, json: values.json === true };
}

function complain(message: string): number {
  console.error(`${message}\n${usage}`);
  return 2;
}

function printList(json: boolean): number {
  const entries = configurations.map(({ name, group, rule, breaks, about }) => ({
    name,
    group,
    rule,
    breaks,
    about,
  }));
  if (json) console.log(JSON.stringify(entries, null, 2));
  else {
    for (const { name, group, rule, about } of entries) {
      console.log(`${name.padEnd(28)} ${group.padEnd(10)} ${rule.padEnd(6)} ${about}`);
    }
  }
  return 0;
}

function printTable(json: boolean): number {
  if (!json) console.log(tableHead);
  const verdicts = configurations.map((configuration) => {
    const verdict = judge(configuration);
    if (!json) console.log(lineOf(verdict));
    return verdict;
  });
  const bad = verdicts.filter(({ asExpected }) => !asExpected);
  if (json) console.log(JSON.stringify(verdicts.map(jsonOf), null, 2));
  else {
    const states = verdicts.reduce((sum, { exploration }) => sum + exploration.states, 0);
    const ms = verdicts.reduce((sum, { exploration }) => sum + exploration.elapsedMs, 0);
    const { user, system } = process.cpuUsage();
    const sound = verdicts.filter(({ configuration }) => configuration.breaks === null).length;
    console.log(
      `\n${verdicts.length} configurations (${sound} sound, ${verdicts.length - sound} negative), ` +
        `${states} states, ${(ms / 1000).toFixed(1)} s (${((user + system) / 1e6).toFixed(1)} s of processor time): ${bad.length === 0 ? "all as they have to be" : `${bad.length} NOT as they have to be`}`,
    );
  }
  return bad.length === 0 ? 0 : 1;
}

function printOnes(names: readonly string[], json: boolean): number {
  const verdicts = names.flatMap((name) => {
    const configuration = findConfiguration(name);
    return configuration === undefined ? [] : [judge(configuration)];
  });
  if (json) console.log(JSON.stringify(verdicts.map(jsonOf), null, 2));
  else console.log(verdicts.map(verdictText).join("\n\n"));
  return verdicts.every(({ asExpected }) => asExpected) ? 0 : 1;
}

function jsonOf({
  configuration,
  exploration,
  asExpected,
  counterexample,
  result,
}: Verdict): object {
  const { name, group, rule, breaks, about } = configuration;
  const { states, steps, elapsedMs, cut, example } = exploration;
  return {
    name,
    group,
    rule,
    about,
    expected: breaks ?? "sound",
    asExpected,
    result,
    states,
    steps,
    elapsedMs: Math.round(elapsedMs),
    cut,
    broken: counterexample?.what ?? null,
    trace: counterexample?.trace ?? example ?? [],
  };
}
