/**
 * `nevertwice doctor`: says whether the store is sound, and what must be done.
 *
 * @module
 */
import type { Command } from "commander";
import { minutes } from "../../base/duration.ts";
import { type GlobalOptions, helpEnd, outputFor } from "../command.ts";
import { type Diagnosis, type Finding, diagnose } from "../diagnosis.ts";
import { exitCodes } from "../exit-codes.ts";
import { labelOf, withStore } from "../open-store.ts";
import type { Output } from "../output.ts";
import { providerFindings } from "../provider-view.ts";
import { wrap } from "../text.ts";
import { parseSpan } from "../times.ts";

interface DoctorOptions extends GlobalOptions {
  readonly staleAfter?: number;
  readonly provider?: readonly string[];
}

/** Adds the command. */
export function addDoctor(program: Command): void {
  program
    .command("doctor")
    .description("check schema, durability and what is open; fails when something must be done")
    .option(
      "--stale-after <span>",
      "how old a doubt may be before somebody must look: 90s, 15m, 2h (default: 15m)",
      parseSpan,
    )
    .option("--provider <name...>", "also say how old these providers' contracts are")
    .addHelpText(
      "after",
      helpEnd([
        "doctor --store ./nevertwice.sqlite",
        "doctor --store postgres://app@db/shop --stale-after 1h --json",
        "doctor --provider stripe aws-ec2",
      ]),
    )
    .action((_options: unknown, command: Command) => doctor(command));
}

async function doctor(command: Command): Promise<void> {
  const options = command.optsWithGlobals<DoctorOptions>();
  const output = outputFor(options);
  const { staleAfter = minutes(15) } = options;
  // A name that doesn't exist is said before the store is opened.
  const contracts = providerFindings(options.provider ?? [], Date.now());
  const {
    diagnosis: found,
    label,
    schema,
  } = await withStore(options, "existing", async (opened) => ({
    diagnosis: await diagnose(opened.store, staleAfter),
    label: labelOf(opened.location),
    schema: opened.schema,
  }));
  const diagnosis = { ...found, findings: [...found.findings, ...contracts] };
  const mustAct = diagnosis.findings.some(({ severity }) => severity === "act");
  if (diagnosis.schemaError !== null) process.exitCode = exitCodes.schema;
  else if (mustAct) process.exitCode = exitCodes.found;
  if (output.json) {
    const { schemaError, ...rest } = diagnosis;
    const code = schemaError?.code ?? null;
    return output.document({ ok: !mustAct, store: label, schema, schemaError: code, ...rest });
  }
  print(output, diagnosis, schema === "" ? label : `${label} (schema ${schema})`);
}

function print(output: Output, { inspection, findings }: Diagnosis, label: string): void {
  const { settings, schemaVersion, programVersion } = inspection;
  output.facts([
    ["Store", label],
    ["Schema", `${schemaVersion} in the database, ${programVersion} in this program`],
    [
      "Settings",
      Object.entries(settings)
        .filter(([name]) => name !== "file")
        .map(([name, value]) => `${name} ${value === "" ? "(empty)" : value}`)
        .join(", "),
    ],
  ]);
  output.line();
  for (const finding of findings) printFinding(output, finding);
  const acts = findings.filter(({ severity }) => severity === "act").length;
  output.line();
  const { bold, green, red } = output.colours;
  output.line(
    acts === 0
      ? bold(green("Nothing must be done."))
      : bold(red(acts === 1 ? "One thing must be done." : `${acts} things must be done.`)),
  );
}

function printFinding(output: Output, { severity, message }: Finding): void {
  const { green, red, yellow } = output.colours;
  const marks = { ok: green("ok  "), note: yellow("note"), act: red("ACT ") };
  const [first = "", ...more] = wrap(message, output.width - 6);
  output.line(`${marks[severity]}  ${first}`);
  for (const line of more) output.line(`      ${line}`);
}
