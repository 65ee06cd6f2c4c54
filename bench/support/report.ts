/** The run as tables, for the terminal and for the file in `results/`. */
import type { Machine, SyncLatency } from "./machine.ts";
import type { ConfigurationResult, Measurement } from "./measure.ts";
import type { Configuration } from "./stand.ts";
import type { Spread } from "./statistics.ts";

/** Everything a run found out; `--json` prints it as it is. */
export interface RunReport {
  readonly startedAt: string;
  readonly commandLine: string;
  /** The commit that was measured, marked when `src/` differs from it. */
  readonly source: string;
  readonly machine: Machine;
  readonly postgres: Readonly<Record<string, string>> | null;
  readonly syncBefore: SyncLatency;
  readonly syncAfter: SyncLatency;
  readonly loadBefore: number;
  readonly loadAfter: number;
  readonly results: readonly ConfigurationResult[];
  readonly targets: readonly TargetResult[];
}

/** One target, held against one configuration. */
export interface TargetResult {
  readonly configuration: Configuration;
  readonly limit: number;
  readonly ratio: Spread;
  readonly met: boolean;
}

/** A single call of the guard may take this many times the floor's latency. */
const latencyLimit = 1.3;

/** Holds the target against what was measured with one caller. */
export function targetsOf(results: readonly ConfigurationResult[]): readonly TargetResult[] {
  return results.flatMap(({ configuration, measurements }) => {
    const window = measurements.find(({ subject }) => subject === "window");
    if (configuration.concurrency !== 1 || window === undefined) return [];
    const ratio = window.latencyToFloor;
    return [{ configuration, limit: latencyLimit, ratio, met: ratio.median <= latencyLimit }];
  });
}

/** One line per target, for people. */
export function targetLines(report: RunReport): readonly string[] {
  if (report.targets.length === 0) return ["No configuration with one caller: no target to check."];
  return report.targets.map(({ configuration, ratio, limit, met }) => {
    const verdict = met ? "pass" : "FAIL";
    const caveat = isUnsteady(ratio) ? "; the rounds disagree, repeat on a quiet machine" : "";
    return `${verdict}: ${nameOf(configuration)}: a window call takes ${ratioText(ratio)} × the floor, target ${limit}${caveat}`;
  });
}

/** True when the quartiles lie so far apart that the median is not worth much. */
function isUnsteady({ median, lowerQuartile, upperQuartile }: Spread): boolean {
  return upperQuartile - lowerQuartile > 0.25 * median;
}

const header = [
  "subject",
  "samples",
  "p50 ms",
  "p95 ms",
  "p99 ms",
  "mean ms",
  "calls/s",
  "latency ÷ floor",
  "added ms",
  "mean ÷ floor",
  "calls/s ÷ floor",
  "processor ms",
];

/** The table of one configuration. */
export function configurationTable(result: ConfigurationResult): string {
  return table([header, ...result.measurements.map(measurementRow)]);
}

function measurementRow(measurement: Measurement): readonly string[] {
  const { subject, samples, p50Ms, p95Ms, p99Ms, meanMs, callsPerSecond } = measurement;
  return [
    subject,
    String(samples),
    ...[p50Ms, p95Ms, p99Ms, meanMs].map(milliseconds),
    callsPerSecond.toFixed(0),
    ratioText(measurement.latencyToFloor),
    milliseconds(measurement.addedMs.median),
    measurement.meanToFloor.median.toFixed(2),
    measurement.throughputToFloor.median.toFixed(2),
    milliseconds(measurement.processorMs),
  ];
}

/** The whole run as a page. */
export function markdownPage(report: RunReport): string {
  const { machine, results } = report;
  return [
    `# The guard's cost, ${report.startedAt.slice(0, 10)}`,
    "",
    "How to read this: [README](../README.md).",
    "",
    `Command: \`${report.commandLine}\`, started ${report.startedAt}, source ${report.source}.`,
    "",
    "## Machine",
    "",
    ...machineLines(report, machine).map((line) => `- ${line}`),
    "",
    "## Targets",
    "",
    ...targetLines(report).map((line) => `- ${line}`),
    "",
    "## Measurements",
    "",
    ...results.flatMap((result) => [
      `### ${nameOf(result.configuration)}`,
      "",
      `${result.plan.rounds} rounds of ${result.plan.callsPerBlock} calls per subject, after ${result.plan.warmUpRounds} rounds of warm-up.`,
      "",
      configurationTable(result),
      "",
    ]),
    "## Raw numbers",
    "",
    "Median latency of each block in milliseconds, in the order of the rounds.",
    ...results.flatMap((result) => [
      "",
      `### ${nameOf(result.configuration)}`,
      "",
      rawLines(result),
    ]),
    "",
  ].join("\n");
}

function rawLines(result: ConfigurationResult): string {
  const lines = result.measurements.map(
    ({ subject, blockP50Ms }) => `- ${subject}: ${blockP50Ms.map(milliseconds).join(" ")}`,
  );
  return lines.join("\n");
}

/** What the numbers were measured on. */
export function machineLines(report: RunReport, machine: Machine): readonly string[] {
  const { postgres, syncBefore, syncAfter } = report;
  return [
    `${machine.cores} cores (${machine.processor}), ${machine.memoryGib} GiB, ${machine.system}, ${machine.fileSystem}`,
    `Node ${machine.node}, SQLite ${machine.sqlite}`,
    ...(postgres === null ? [] : [postgresLine(postgres)]),
    `4 KiB made durable (write and fdatasync): ${syncText(syncBefore)} before the run, ${syncText(syncAfter)} after it`,
    `load of the last minute: ${report.loadBefore} before, ${report.loadAfter} after`,
  ];
}

function postgresLine(settings: Readonly<Record<string, string>>): string {
  const { server_version: version, ...others } = settings;
  const listed = Object.entries(others).map(([name, value]) => `${name}=${value}`);
  return `PostgreSQL ${version}: ${listed.join(", ")}`;
}

function syncText({ p50Ms, p95Ms, samples }: SyncLatency): string {
  return `p50 ${milliseconds(p50Ms)} ms, p95 ${milliseconds(p95Ms)} ms (n = ${samples})`;
}

/** A configuration's name: `postgres, unnamed statements, 1 connection, 16 callers`. */
export function nameOf(configuration: Configuration): string {
  const { store, statements, connections, concurrency } = configuration;
  return [
    store,
    ...(store === "postgres" ? [`${statements} statements`] : []),
    `${connections} connection${connections === 1 ? "" : "s"}`,
    `${concurrency} caller${concurrency === 1 ? "" : "s"}`,
  ].join(", ");
}

function milliseconds(value: number): string {
  return value.toFixed(3);
}

function ratioText({ median, lowerQuartile, upperQuartile }: Spread): string {
  return `${median.toFixed(2)} (${lowerQuartile.toFixed(2)}–${upperQuartile.toFixed(2)})`;
}

/** A Markdown table that is also readable as it stands: first column to the left, numbers to the right. */
function table(rows: readonly (readonly string[])[]): string {
  const columns = rows[0] ?? [];
  const widths = columns.map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? "").length)),
  );
  const line = (row: readonly string[]): string => {
    const cells = row.map((cell, column) => {
      const width = widths[column] ?? 0;
      return column === 0 ? cell.padEnd(width) : cell.padStart(width);
    });
    return `| ${cells.join(" | ")} |`;
  };
  const rule = widths.map((width, column) =>
    column === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`,
  );
  return [line(columns), line(rule), ...rows.slice(1).map(line)].join("\n");
}
