/**
 * What comes of a check: a report for machines, and the same as a table for people.
 *
 * @module
 */
import type { CheckEntry, CheckName } from "./catalogue.ts";

/**
 * - `pass`: as it should be; for a claim: claimed and measured.
 * - `fail`: not as it should be; for a claim: claimed but not so.
 * - `advice`: nothing is wrong, but the contract could say more, or should say it otherwise.
 * - `not-checkable`: why is in `found`.
 */
export type Verdict = "pass" | "fail" | "advice" | "not-checkable";

/** What a check found. */
export interface Finding {
  readonly verdict: Verdict;
  /** By the provider's own books; null where none were counted. */
  readonly effects: number | null;
  /** The least and the most there may be. */
  readonly expectedEffects: readonly [least: number, most: number] | null;
  /** What the callers were told, in order: EXECUTED, REPLAYED or an error's code. */
  readonly told: readonly string[];
  /** One sentence: what was found, or why nothing could be. */
  readonly found: string;
  /** What to change, and where. */
  readonly advice: string | null;
}

/** One check of a report. */
export interface CheckResult extends Finding {
  readonly name: CheckName;
  readonly part: CheckEntry["part"];
  /** What was done to the tool. */
  readonly fault: string;
}

/** What {@link checkTool} returns. */
export interface CheckReport {
  readonly tool: string;
  /** False when a check failed. What was not checkable fails nothing: look at it yourself. */
  readonly ok: boolean;
  readonly checks: readonly CheckResult[];
}

/** The report as a table, with what was found and what to change below each check that says so. */
export function formatReport(report: CheckReport): string {
  const nameWidth = Math.max(...report.checks.map(({ name }) => name.length));
  const verdictWidth = "not checkable".length;
  const effects = report.checks.map((check) => effectsText(check).length);
  const effectsWidth = Math.max("effects".length, ...effects);
  const margin = " ".repeat(verdictWidth + 2);
  const head = `${"".padEnd(verdictWidth)}  ${"check".padEnd(nameWidth)}  ${"effects".padEnd(effectsWidth)}  told`;
  const rows = report.checks.flatMap((check) => [
    [
      verdictText(check.verdict).padEnd(verdictWidth),
      check.name.padEnd(nameWidth),
      effectsText(check).padEnd(effectsWidth),
      toldText(check.told),
    ]
      .join("  ")
      .trimEnd(),
    ...explanation(check).map((line) => `${margin}${line}`),
  ]);
  return [`${report.tool}: ${summary(report)}`, "", head.trimEnd(), ...rows].join("\n");
}

/** What a reader has to know beside the row itself. */
function explanation({ verdict, found, advice, fault }: CheckResult): string[] {
  if (verdict === "pass") return [];
  const doing = verdict === "fail" ? [`when: ${fault}`] : [];
  return [...doing, `found: ${found}`, ...(advice === null ? [] : [`change: ${advice}`])];
}

/** The verdict as people read it. */
export function verdictText(verdict: Verdict): string {
  return verdict === "fail" ? "FAIL" : verdict.replace("-", " ");
}

/** `1`, or `2 (not 1)` where that is not as expected. */
export function effectsText({ effects, expectedEffects }: Finding): string {
  if (effects === null) return "";
  if (expectedEffects === null) return String(effects);
  const [least, most] = expectedEffects;
  if (effects >= least && effects <= most) return String(effects);
  return `${effects} (not ${least === most ? least : `${least}–${most}`})`;
}

/** `OUTCOME_UNKNOWN ×5, NEEDS_REVIEW`. */
export function toldText(told: readonly string[]): string {
  const runs: { code: string; times: number }[] = [];
  for (const code of told) {
    const last = runs.at(-1);
    if (last?.code === code) last.times += 1;
    else runs.push({ code, times: 1 });
  }
  return runs.map(({ code, times }) => (times === 1 ? code : `${code} ×${times}`)).join(", ");
}

/** `12 of 14 checks passed, 1 failed …`. */
export function summary({ checks }: CheckReport): string {
  const count = (verdict: Verdict): number =>
    checks.filter((check) => check.verdict === verdict).length;
  const parts = [
    `${count("pass")} of ${checks.length} checks passed`,
    `${count("fail")} failed`,
    ...(count("advice") === 0 ? [] : [`${count("advice")} with advice`]),
    ...(count("not-checkable") === 0 ? [] : [`${count("not-checkable")} not checkable`]),
  ];
  return `${parts.join(", ")}.`;
}

/** A report that is not ok, thrown by {@link expectTool}. Its message is the table. */
export class ToolCheckError extends Error {
  override readonly name = "ToolCheckError";
  readonly report: CheckReport;

  constructor(report: CheckReport) {
    super(formatReport(report));
    this.report = report;
  }
}

/**
 * Throws the table when the report is not ok: for tests.
 *
 * @throws {ToolCheckError} when a check failed.
 */
export function expectTool(report: CheckReport): void {
  if (!report.ok) throw new ToolCheckError(report);
}
