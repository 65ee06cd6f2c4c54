/** Registers a piece of the matrix: one test per line, which plays the cells and sums up. */
import { expect, it } from "vitest";
import { describeStores } from "../support/stores.ts";
import { type Cell, type Line, kinds, nameOf } from "./cells.ts";
import { Crew } from "./crew.ts";
import { type Verdict, play } from "./play.ts";

/** `NEVERTWICE_CRASH=all`: every cell, and each has processes of its own. */
const isComplete = process.env["NEVERTWICE_CRASH"] === "all";
/** Names the one cell to play. */
const onlyCell = process.env["NEVERTWICE_CRASH_CELL"];

const crew = new Crew();

/** A piece of the matrix. */
export interface Piece {
  readonly title: string;
  /** Every cell of a line. */
  readonly cellsOf: (line: Line) => readonly Cell[];
  /** Which of them are played in a short run. Default: all. */
  readonly isShort?: (cell: Cell) => boolean;
  /**
   * How many cells share a process in a short run, where each stands at its place when the process is
   * killed. Default 20: whoever stands at a statement keeps a connection.
   */
  readonly perProcess?: number;
}

/** Plays the piece on every line. */
export function playPiece({ title, cellsOf, isShort = () => true, perProcess = 20 }: Piece): void {
  describeStores(title, (suite) => {
    for (const kind of kinds) {
      const line = { store: suite.kind, kind };
      const cells = cellsOf(line).filter((cell) =>
        onlyCell === undefined ? isComplete || isShort(cell) : nameOf(cell) === onlyCell,
      );
      const isEmpty = cells.length === 0;
      if (isEmpty && onlyCell === undefined) continue;
      it.skipIf(isEmpty)(`holds for every cell: ${kind}`, { timeout: 1_800_000 }, async () => {
        const options = { crew, perProcess: isComplete ? 1 : perProcess };
        const verdicts = await play(suite, cells, options);
        console.log(summaryOf(`${title}: ${suite.kind} × ${kind}`, verdicts));
        expect(verdicts.filter(({ faults }) => faults.length > 0).map(explain)).toEqual([]);
        expect(verdicts).toHaveLength(cells.length);
      });
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
