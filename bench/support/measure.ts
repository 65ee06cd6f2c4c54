/** Rounds of blocks: each round runs every subject once, so that drift of the machine hits all alike. */
import { type Spread, mean, median, percentile, spreadOf } from "./statistics.ts";
import {
  type Block,
  type Configuration,
  type Stand,
  type SubjectName,
  subjectNames,
} from "./stand.ts";

/** How much to measure. */
export interface Plan {
  readonly rounds: number;
  readonly warmUpRounds: number;
  readonly callsPerBlock: number;
}

/** One subject's turn in one round. */
export interface BlockResult {
  readonly latenciesMs: readonly number[];
  readonly wallMs: number;
  readonly processorMs: number;
}

/** What is reported of a subject in a configuration. Latency is per call, as its caller sees it. */
export interface Measurement {
  readonly subject: SubjectName;
  readonly samples: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly meanMs: number;
  readonly callsPerSecond: number;
  /** Processor time of this process per call: SQLite's share is in it, PostgreSQL's is not. */
  readonly processorMs: number;
  /** Over the rounds: median latency of this subject's block by that of the floor's block. */
  readonly latencyToFloor: Spread;
  /** Over the rounds: the difference of the same two medians. */
  readonly addedMs: Spread;
  /** The ratio with mean latencies, which hold checkpoints and other rare slow calls. */
  readonly meanToFloor: Spread;
  readonly throughputToFloor: Spread;
  readonly blockP50Ms: readonly number[];
  readonly blockCallsPerSecond: readonly number[];
}

export interface ConfigurationResult {
  readonly configuration: Configuration;
  readonly plan: Plan;
  readonly measurements: readonly Measurement[];
}

/** Measures all subjects of an opened stand. */
export async function measure(
  configuration: Configuration,
  stand: Stand,
  plan: Plan,
): Promise<ConfigurationResult> {
  const results = new Map<SubjectName, BlockResult[]>(subjectNames.map((name) => [name, []]));
  const runSubject = (name: SubjectName): Promise<BlockResult> =>
    runBlock(stand.subjects[name](plan.callsPerBlock), configuration.concurrency);
  // The replays of a round need the keys of the one before.
  await runSubject("floor");
  await runSubject("window");
  for (let round = -plan.warmUpRounds; round < plan.rounds; round += 1) {
    if (round === 0) await stand.rest();
    for (const name of rotated(subjectNames, round + plan.warmUpRounds)) {
      const result = await runSubject(name);
      if (round >= 0) results.get(name)?.push(result);
    }
  }
  const floor = results.get("floor") ?? [];
  const measurements = subjectNames.map((name) => summarise(name, results.get(name) ?? [], floor));
  return { configuration, plan, measurements };
}

/** Every subject is first, second … last in turn: none always pays for what another left behind. */
function rotated<T>(items: readonly T[], by: number): readonly T[] {
  const start = by % items.length;
  return [...items.slice(start), ...items.slice(0, start)];
}

/** A closed loop: so many callers, each with one call at a time. */
async function runBlock(block: Block, concurrency: number): Promise<BlockResult> {
  const { calls } = block;
  const latenciesMs: number[] = [];
  let next = 0;
  let replays = 0;
  const caller = async (): Promise<void> => {
    for (let call = calls[next++]; call !== undefined; call = calls[next++]) {
      const startedAtMs = performance.now();
      const replayed = await call();
      latenciesMs.push(performance.now() - startedAtMs);
      if (replayed) replays += 1;
    }
  };
  const startedAtMs = performance.now();
  const processorBefore = process.cpuUsage();
  await Promise.all(Array.from({ length: concurrency }, caller));
  const wallMs = performance.now() - startedAtMs;
  const { user, system } = process.cpuUsage(processorBefore);
  block.verify(replays);
  return { latenciesMs, wallMs, processorMs: (user + system) / 1000 };
}

function summarise(
  subject: SubjectName,
  blocks: readonly BlockResult[],
  floor: readonly BlockResult[],
): Measurement {
  const all = blocks.flatMap((block) => block.latenciesMs);
  const wallMs = blocks.reduce((sum, block) => sum + block.wallMs, 0);
  const toFloor = (of: (block: BlockResult) => number): Spread =>
    spreadOf(blocks.map((block, round) => of(block) / of(floor[round] ?? block)));
  const added = blocks.map((block, round) => p50Of(block) - p50Of(floor[round] ?? block));
  return {
    subject,
    samples: all.length,
    p50Ms: percentile(all, 0.5),
    p95Ms: percentile(all, 0.95),
    p99Ms: percentile(all, 0.99),
    meanMs: mean(all),
    callsPerSecond: perSecond(all.length, wallMs),
    processorMs: median(blocks.map((block) => block.processorMs / block.latenciesMs.length)),
    latencyToFloor: toFloor(p50Of),
    addedMs: spreadOf(added),
    meanToFloor: toFloor((block) => mean(block.latenciesMs)),
    throughputToFloor: toFloor(throughputOf),
    blockP50Ms: blocks.map(p50Of),
    blockCallsPerSecond: blocks.map(throughputOf),
  };
}

function p50Of(block: BlockResult): number {
  return percentile(block.latenciesMs, 0.5);
}

function throughputOf(block: BlockResult): number {
  return perSecond(block.latenciesMs.length, block.wallMs);
}

function perSecond(calls: number, wallMs: number): number {
  return (calls * 1000) / wallMs;
}
