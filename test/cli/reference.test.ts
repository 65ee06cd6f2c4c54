/**
 * docs/reference/cli.md is held to the program: every command, every option, every exit code.
 */
import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { expect, it } from "vitest";
import { NeverTwiceError, errorCodes } from "../../src/index.ts";
import {
  CliError,
  exitCodeMeanings,
  exitCodeOf,
  exitCodesOfErrors,
  ownExitCodes,
} from "../../src/cli/exit-codes.ts";
import { createProgram } from "../../src/cli/program.ts";

const reference = readFileSync(new URL("../../docs/reference/cli.md", import.meta.url), "utf8");

/** The part of the page under a heading. */
function sectionOf(heading: string): string {
  const [, ...sections] = reference.split(/^## /m);
  return sections.find((section) => section.startsWith(`${heading}\n`)) ?? "";
}

/** Every command that does something, with its whole name. */
function leavesOf(command: Command, name = ""): [name: string, command: Command][] {
  if (command.commands.length === 0) return [[name, command]];
  return command.commands.flatMap((each) => leavesOf(each, `${name} ${each.name()}`.trim()));
}

it.each(leavesOf(createProgram(false)))(
  "%s is documented with an example and every option",
  (name, command) => {
    const section = sectionOf(name);
    expect(section).toContain(`$ nevertwice ${name}`);
    // review list takes the options of operations list, and says so.
    const described = `${section}${name === "review list" ? sectionOf("operations list") : ""}`;
    for (const option of command.options) expect(described).toContain(`\`${option.long}`);
  },
);

it("global options and exit codes are documented as the program has them", () => {
  const global = sectionOf("Global options");
  for (const option of createProgram(false).options) expect(global).toContain(`\`${option.long}`);
  const rows = [...sectionOf("Exit codes").matchAll(/^\| (\d+) +\| (.+?) +\|$/gm)];
  expect(rows.map(([, code, meaning]) => [Number(code), meaning])).toEqual(exitCodeMeanings);
});

it("every error's exit code is documented, once, and is what a process ends with", () => {
  const items = [...sectionOf("Exit codes").matchAll(/^- \*\*(\d+)\*\*: ((?:`[A-Z_]+`\s+)+)/gm)];
  const documented = items.flatMap(([, code, names]) =>
    [...(names ?? "").matchAll(/[A-Z_]+/g)].map(([name]) => [name, Number(code)] as const),
  );
  const own = Object.keys(ownExitCodes) as (keyof typeof ownExitCodes)[];
  const ended = [
    ...errorCodes.map((code) => [code, exitCodeOf(new NeverTwiceError(code, "why"))] as const),
    ...own.map((code) => [code, exitCodeOf(new CliError(code, "why"))] as const),
  ];
  expect(documented).toHaveLength(ended.length);
  expect(Object.fromEntries(documented)).toEqual(Object.fromEntries(ended));
  expect(Object.keys(exitCodesOfErrors).toSorted()).toEqual([...errorCodes].toSorted());
  expect(exitCodeOf(new Error("anything else"))).toBe(70);
});
