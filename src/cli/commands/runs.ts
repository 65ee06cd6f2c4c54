/**
 * `nevertwice runs list|show|retry`: the runs of flows, what they wait for, and their steps.
 *
 * @module
 */
import { type Command, Option } from "commander";
import { NeverTwiceError } from "../../base/errors.ts";
import { type OpenEffect, nameOpenEffect, readOpenEffects } from "../../flow/open-effects.ts";
import type { RunPlace, RunRecord, StepRecord } from "../../ledger/runs.ts";
import { type GlobalOptions, helpEnd, outputFor, parseCount } from "../command.ts";
import { CliError } from "../exit-codes.ts";
import { withStore } from "../open-store.ts";
import type { Column } from "../output.ts";
import { formatPlace, parsePlace, printPageEnd, readPage } from "../paging.ts";
import { counted, shortKey } from "../text.ts";
import { isoTime, longTime } from "../times.ts";

interface ListOptions extends GlobalOptions {
  readonly tenant?: string;
  readonly flow?: string;
  readonly status?: RunRecord["status"];
  readonly limit: number;
  readonly after?: string;
}

interface RunOptions extends GlobalOptions {
  readonly tenant: string;
}

/** Adds the commands to `runs`. */
export function addRuns(runs: Command): void {
  runs
    .command("list")
    .description("list runs of flows, newest first")
    .option("--tenant <tenant>", "only this tenant")
    .option("--flow <name>", "only this flow")
    .addOption(
      new Option("--status <status>", "only this status").choices([
        "RUNNING",
        "WAITING",
        "DONE",
        "FAILED",
      ]),
    )
    .option("--limit <count>", "how many at most", parseCount, 20)
    .option("--after <place>", "go on where the page before ended")
    .addHelpText("after", helpEnd(["runs list --status WAITING", "runs list --tenant acme --json"]))
    .action((_options: unknown, self: Command) => list(self));
  withRunId(runs.command("show").description("show a run, its steps and what it waits for"))
    .addHelpText("after", helpEnd(["runs show ticket-5521 --tenant acme"]))
    .action((id: string, _options: unknown, self: Command) => show(id, self));
  withRunId(runs.command("retry").description("take a failed run up again where it stopped"))
    .addHelpText("after", helpEnd(["runs retry ticket-5521 --tenant acme"]))
    .action((id: string, _options: unknown, self: Command) => retry(id, self));
}

function withRunId(command: Command): Command {
  return command
    .argument("<run>", "the run's id")
    .requiredOption("--tenant <tenant>", "whose run it is");
}

const runColumns: readonly Column[] = [
  { head: "run", narrow: "shorten" },
  { head: "tenant", narrow: "shorten" },
  { head: "flow", narrow: "shorten" },
  { head: "status" },
  { head: "waits for", narrow: "wrap" },
  { head: "changed" },
];

function runRow(run: RunRecord): readonly string[] {
  const flow = `${run.flow} v${run.version}`;
  const { runId, tenant, status, waitsFor, updatedAtMs } = run;
  return [runId, tenant, flow, status, waitsFor ?? "", longTime(updatedAtMs)];
}

async function list(command: Command): Promise<void> {
  const options = command.optsWithGlobals<ListOptions>();
  const output = outputFor(options);
  const { tenant = null, flow = null, status = null } = options;
  const after = options.after === undefined ? null : placeOf(options.after);
  const { rows, next } = await withStore(options, "ready", ({ store }) =>
    readPage(options.limit, (limit) => store.runs.list({ tenant, flow, status, after, limit })),
  );
  const place = next === null ? null : formatPlace([next.createdAtMs, next.tenant, next.runId]);
  if (output.json) return output.document({ runs: rows.map(runJson), next: place });
  if (rows.length === 0) return output.text("No run matches.");
  output.table(runColumns, rows.map(runRow));
  printPageEnd(output, counted(rows.length, "run"), place);
}

function placeOf(text: string): RunPlace {
  const [createdAtMs, tenant = "", runId = ""] = parsePlace(text, 2);
  return { createdAtMs, tenant, runId };
}

async function show(runId: string, command: Command): Promise<void> {
  const options = command.optsWithGlobals<RunOptions>();
  const output = outputFor(options);
  const { tenant } = options;
  const { run, steps, effects } = await withStore(options, "ready", async ({ store }) => {
    const found = await store.runs.read({ tenant, runId });
    if (found === undefined) throw noRun(runId, tenant);
    return {
      run: found,
      steps: await store.runs.listSteps(found),
      effects: await readOpenEffects(store, found, () => found.status === "RUNNING"),
    };
  });
  if (output.json)
    return output.document({ run: runJson(run), steps: steps.map(stepJson), openEffects: effects });
  output.facts([
    ["run", run.runId],
    ["tenant", run.tenant],
    ["flow", `${run.flow}, version ${run.version}`],
    ["status", run.status],
    ["waits for", run.waitsFor],
    ["wakes", run.status === "WAITING" ? (isoTime(run.dueAtMs) ?? "when it is woken") : null],
    ["error", run.error],
    ["started", isoTime(run.createdAtMs)],
    ["ended", isoTime(run.settledAtMs)],
  ]);
  if (steps.length === 0) return output.text("No step is recorded.");
  output.line();
  output.table(stepColumns, steps.map(stepRow));
  if (effects.length === 0) return;
  output.line();
  output.text("Effects that the run has no answer of, as they stand now:");
  output.table(effectColumns, effects.map(effectRow));
}

const effectColumns: readonly Column[] = [
  { head: "step", narrow: "shorten" },
  { head: "key" },
  { head: "operation" },
  { head: "effect" },
];

function effectRow({ key, status, inDoubt, ...step }: OpenEffect): readonly string[] {
  const effect = inDoubt ? "in doubt" : status === "DONE" ? "exists" : "none";
  return [nameOpenEffect(step), shortKey(key), status ?? "not claimed", effect];
}

const stepColumns: readonly Column[] = [
  { head: "step", narrow: "shorten" },
  { head: "kind" },
  { head: "status" },
  { head: "began" },
  { head: "value", narrow: "shorten" },
];

function stepRow({ name, kind, status, startedAtMs, value }: StepRecord): readonly string[] {
  return [name, kind, status, longTime(startedAtMs), value ?? ""];
}

async function retry(runId: string, command: Command): Promise<void> {
  const options = command.optsWithGlobals<RunOptions>();
  const output = outputFor(options);
  const { tenant } = options;
  const run = await withStore(options, "ready", async ({ store }) => {
    const found = await store.runs.read({ tenant, runId });
    if (found === undefined) throw noRun(runId, tenant);
    const taken = await store.runs.retry({ tenant, runId });
    if (taken !== undefined) return taken;
    throw new CliError(
      "RUN_NOT_FAILED",
      `The run ${runId} is ${found.status}${found.purgedAtMs === null ? "" : " and purged"}; only a FAILED run can be taken up again. Nothing was changed.`,
    );
  });
  if (output.json) return output.document({ run: runJson(run) });
  return output.text(
    `The run ${runId} is due again: the next worker goes on with it. What is recorded of it stays.`,
  );
}

function noRun(runId: string, tenant: string): NeverTwiceError {
  return new NeverTwiceError("RUN_NOT_FOUND", `No run ${runId} is recorded for tenant ${tenant}.`, {
    details: { tenant, runId },
  });
}

function runJson(run: RunRecord): Record<string, unknown> {
  const { tenant, runId, flow, version, status, waitsFor, attempts } = run;
  return {
    tenant,
    runId,
    flow,
    version,
    status,
    waitsFor,
    attempts,
    dueAt: isoTime(run.dueAtMs),
    createdAt: isoTime(run.createdAtMs),
    updatedAt: isoTime(run.updatedAtMs),
    settledAt: isoTime(run.settledAtMs),
    input: parsed(run.input),
    output: parsed(run.output),
    error: parsed(run.error),
  };
}

function stepJson(step: StepRecord): Record<string, unknown> {
  const { name, kind, status, key, fingerprint, value } = step;
  const startedAt = isoTime(step.startedAtMs);
  return { name, kind, status, key, fingerprint, startedAt, value: parsed(value) };
}

function parsed(text: string | null): unknown {
  return text === null ? null : (JSON.parse(text) as unknown);
}
