/**
 * Runs the checks of a file, each on a store of its own.
 *
 * @module
 */
import { resolve } from "node:path";
import {
  type CheckName,
  type CheckReport,
  type ToolCheck,
  checkTool,
} from "../../testing/check-tool/index.ts";
import { Backstage } from "../demo/backstage.ts";
import { type DemoStore, makeDemoStore } from "../demo/demo-store.ts";
import { CliError } from "../exit-codes.ts";
import { openStore } from "../open-store.ts";
import type { Output } from "../output.ts";
import { Progress } from "../progress.ts";
import type { Job } from "./job.ts";
import { killWorkerAt } from "./kill-worker.ts";
import { loadChecks } from "./load-checks.ts";

/** What is to be run. */
export interface RunOptions {
  readonly file: string;
  /** Only this tool. */
  readonly tool: string | undefined;
  /** In place of the store that a check opens. */
  readonly store: string | undefined;
  readonly only: readonly CheckName[] | undefined;
  readonly skip: readonly CheckName[] | undefined;
}

/** Runs them one after the other; everything it made is gone when this returns. */
export function runChecks(options: RunOptions, output: Output): Promise<readonly CheckReport[]> {
  const backstage = new Backstage();
  return backstage.run(async () => {
    const chosen = choose(await loadChecks(options.file), options);
    for (const { check } of chosen) {
      if (check.close !== undefined) backstage.add(async () => check.close?.());
    }
    const reports: CheckReport[] = [];
    for (const one of chosen) reports.push(await runCheck(one, options, backstage, output));
    return reports;
  });
}

interface Chosen {
  readonly check: ToolCheck;
  /** Its place in the file, from 0. */
  readonly index: number;
}

function choose(checks: readonly ToolCheck[], { file, tool }: RunOptions): Chosen[] {
  const all = checks.map((check, index) => ({ check, index }));
  const chosen = all.filter(({ check }) => tool === undefined || check.tool.name === tool);
  if (chosen.length > 0) return chosen;
  const names = checks.map((check) => check.tool.name).join(", ");
  throw new CliError("USAGE", `${file} checks no tool ${tool}; it checks ${names}.`);
}

async function runCheck(
  { check, index }: Chosen,
  options: RunOptions,
  backstage: Backstage,
  output: Output,
): Promise<CheckReport> {
  const { tool, close: _, ...given } = check;
  const usesOwn = options.store === undefined && check.store !== undefined;
  const made = usesOwn ? null : await makeDemoStore(options.store ?? "sqlite", backstage, "check");
  const progress = new Progress(output);
  try {
    return await checkTool(tool, {
      ...given,
      ...(made === null ? {} : { store: (clock) => openMade(made, clock, backstage) }),
      ...(options.only === undefined ? {} : { only: options.only }),
      ...(options.skip === undefined ? {} : { skip: options.skip }),
      killWorker: (worker) =>
        killWorkerAt(
          { file: resolve(options.file), index, ...worker, store: placeOf(made) },
          backstage,
        ),
      onProgress: ({ name, position, total }) =>
        progress.tell(() => `${tool.name}: ${name}, ${position} of ${total} …`),
    });
  } finally {
    progress.end();
  }
}

async function openMade(
  { location, schema }: DemoStore,
  clock: () => number,
  backstage: Backstage,
): Promise<DemoStore["store"]> {
  const named = { store: location, ...(schema === null ? {} : { schema }), clock };
  const opened = await openStore(named, "new");
  backstage.add(() => opened.close());
  return opened.store;
}

/** What another process needs to open the same store. */
function placeOf(made: DemoStore | null): Job["store"] {
  return made === null ? null : { location: made.location, schema: made.schema };
}
