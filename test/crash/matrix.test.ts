/**
 * The matrix itself: it has the cells that it must have, each under a name of its own, and it fails
 * where nothing is guarded.
 */
import { expect, it } from "vitest";
import { pointNames } from "../../src/guard/environment.ts";
import { describeStores } from "../support/stores.ts";
import { type Line, lines, nameOf, pathAfter } from "./cells.ts";
import { Crew } from "./crew.ts";
import { isTwin, pairs, singles, statementCells, stops, stopsAfterDeath } from "./matrix.ts";
import { play } from "./play.ts";

const crew = new Crew();

function sizesOf(line: Line): string {
  const pieces = [singles, pairs, stops, stopsAfterDeath, statementCells];
  const sizes = pieces.map((cellsOf) => cellsOf(line).length);
  const twins = statementCells(line).filter(isTwin).length;
  return `${line.store} ${line.kind}: ${sizes.join(" ")}, ${twins} twins`;
}

it("has as many cells as the points and statements that each kind of tool comes by", () => {
  expect(lines.map(sizesOf)).toEqual([
    "sqlite keyed: 7 44 6 44 56, 18 twins",
    "sqlite unkeyed: 9 40 8 40 74, 24 twins",
    "sqlite natural: 7 42 6 42 88, 28 twins",
    "sqlite look-up-only: 7 42 6 42 88, 28 twins",
    "postgres keyed: 7 44 6 44 20, 0 twins",
    "postgres unkeyed: 9 40 8 40 26, 0 twins",
    "postgres natural: 7 42 6 42 32, 0 twins",
    "postgres look-up-only: 7 42 6 42 32, 0 twins",
  ]);
});

const names = lines.flatMap((line) =>
  [singles, pairs, stops, stopsAfterDeath, statementCells].flatMap((cellsOf) =>
    cellsOf(line).map(nameOf),
  ),
);

it("gives each cell a name of its own", () => {
  expect(new Set(names).size).toBe(names.length);
});

it("comes by every named point", () => {
  const [line] = lines.filter(({ kind }) => kind === "look-up-only");
  const points = line === undefined ? [] : pathAfter(line, "armed", "call").points;
  expect(points.toSorted()).toEqual(pointNames.toSorted());
});

it("has the cell that is asked for", () => {
  expect(names).toContain(process.env["NEVERTWICE_CRASH_CELL"] ?? "sqlite/keyed/before-claim");
});

describeStores("the matrix under a pass-through guard", (suite) => {
  it("finds every cell doubled", async () => {
    const cells = singles({ store: suite.kind, kind: "keyed" });
    const verdicts = await play(suite, cells, { crew, perProcess: 4, passThrough: true });
    const effects = new Map(verdicts.map((verdict) => [verdict.name, verdict.effects]));
    // Whoever finishes and whoever calls once more make one each; so does a worker that died later.
    expect(effects.get(`${suite.kind}/keyed/before-write`)).toBe(2);
    expect(effects.get(`${suite.kind}/keyed/after-execute`)).toBe(3);
    const unreported = verdicts.filter(
      ({ effects: count, faults }) => !faults.includes(`${count} effects, and not 1`),
    );
    expect(unreported).toEqual([]);
  });
});
