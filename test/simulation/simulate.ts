/**
 * Runs many seeds and sums up.
 */
import { Laboratory, type RunResult } from "./run.ts";

export interface Summary {
  readonly runs: number;
  readonly ends: Readonly<Record<string, number>>;
  /** Runs that left exactly one effect. */
  readonly withEffect: number;
  readonly failures: readonly { readonly seed: number; readonly violations: readonly string[] }[];
  readonly lastLog: readonly string[];
}

export async function simulate(options: {
  from: number;
  runs: number;
  /** Stop at the first violation. */
  stopAtFirst?: boolean;
}): Promise<Summary> {
  const ends: Record<string, number> = {};
  const failures: { seed: number; violations: readonly string[] }[] = [];
  let withEffect = 0;
  let last: RunResult | undefined;
  const laboratory = await Laboratory.open();
  let done = 0;
  for (; done < options.runs; done += 1) {
    last = await laboratory.run(options.from + done);
    ends[last.end] = (ends[last.end] ?? 0) + 1;
    if (last.effects === 1) withEffect += 1;
    if (last.violations.length > 0) {
      failures.push({ seed: last.seed, violations: last.violations });
      if (options.stopAtFirst === true) break;
    }
  }
  return { runs: done, ends, withEffect, failures, lastLog: last?.log ?? [] };
}
