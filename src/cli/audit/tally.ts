/**
 * Adds up what verification found over many operations.
 *
 * @module
 */
import { type CheckName, type CheckResult, checkNames } from "./verify.ts";

/** How often a check was made, and how often it could not be. */
export interface CheckCount {
  readonly fine: number;
  readonly notCheckable: number;
  readonly faults: number;
  /** Why it could not be made, and how often. */
  readonly reasons: Readonly<Record<string, number>>;
}

/** The sum. */
export class Tally {
  operations = 0;
  lines = 0;
  faults = 0;
  readonly #counts = new Map<
    CheckName,
    { fine: number; faults: number; reasons: Map<string, number> }
  >();

  constructor() {
    for (const name of checkNames)
      this.#counts.set(name, { fine: 0, faults: 0, reasons: new Map() });
  }

  /** Adds the checks of one operation. */
  add(results: readonly CheckResult[], lines: number): void {
    this.operations += 1;
    this.lines += lines;
    for (const result of results) this.#count(result);
  }

  /** Counts by check, in their order. */
  counts(): Record<CheckName, CheckCount> {
    const entries = [...this.#counts].map(([name, { fine, faults, reasons }]) => {
      const notCheckable = [...reasons.values()].reduce((sum, count) => sum + count, 0);
      return [name, { fine, notCheckable, faults, reasons: Object.fromEntries(reasons) }];
    });
    return Object.fromEntries(entries) as Record<CheckName, CheckCount>;
  }

  #count(result: CheckResult): void {
    const count = this.#counts.get(result.check);
    if (count === undefined) return;
    switch (result.found) {
      case "fine":
        count.fine += 1;
        return;
      case "not checkable":
        count.reasons.set(result.reason, (count.reasons.get(result.reason) ?? 0) + 1);
        return;
      case "fault":
        count.faults += 1;
        this.faults += 1;
    }
  }
}
