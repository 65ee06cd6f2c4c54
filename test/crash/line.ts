/** Registers a piece of the matrix: one test per line, which plays the cells and sums up. */
import { expect, it } from "vitest";
import { describeStores } from "../support/stores.ts";
import { type Cell, type Line, kinds } from "./cells.ts";
import { Crew } from "./crew.ts";
import { chosen } from "./matrix.ts";
import { type Verdict, play } from "./play.ts";

/** `NEVERTWICE_CRASH=all`: every cell has processes of its own. Else cells may share one. */
export const isComplete = process.env["NEVERTWICE_CRASH"] === "all";

/** So many cells share a process; each that stands at a statement keeps a connection. */
const shared = 20;

/** Plays these cells of every line. `perProcess`: how many of them share a process in a short run. */
export function playLines(
  title: string,
  cellsOf: (line: Line) => readonly Cell[],
  perProcess = shared,
): void {
  const crew = new Crew();
  describeStores(title, (suite) => {
    for (const kind of kinds) {
      const line = { store: suite.kind, kind };
      const cells = chosen(cellsOf(line));
      it.skipIf(cells.length === 0)(
        kind,
        async () => {
          const options = { crew, perProcess: isComplete ? 1 : perProcess };
          const verdicts = await play(suite, line, cells, options);
          console.log(summaryOf(`${title}: ${suite.kind} × ${kind}`, verdicts));
          expect(verdicts.filter(({ faults }) => faults.length > 0).map(explain)).toEqual([]);
        },
        600_000,
      );
    }
  });
}

/** One line of the result table. */
function summaryOf(title: string, verdicts: readonly Verdict[]): string {
  const count = (test: (verdict: Verdict) => boolean): number => verdicts.filter(test).length;
  const reviews = count(({ status }) => status === "NEEDS_REVIEW");
  const without = count(({ effects }) => effects === 0);
  return [
    `${title}: ${verdicts.length} cells`,
    `${count(({ effects }) => effects === 1)} with exactly one effect`,
    `${count(({ effects }) => effects > 1)} with more`,
    `${reviews} in review, ${without} of them without an effect`,
  ].join(", ");
}

function explain({ name, faults }: Verdict): string {
  return `${name}: ${faults.join("; ")}. Again: NEVERTWICE_CRASH_CELL="${name}" npx vitest run test/crash`;
}
