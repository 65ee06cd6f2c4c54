/**
 * The cells of the crash matrix: every place that a call comes by, and every pair of places.
 */
import type { PointName } from "../../src/index.ts";
import {
  type Act,
  type Cell,
  type Death,
  type Left,
  type Line,
  type Place,
  leftBy,
  pathAfter,
  sqlOf,
} from "./cells.ts";

/** No worker dies, and one dies at each point that a first call comes by. Another call finishes. */
export function singles(line: Line): Cell[] {
  const none: Cell = { ...line, deaths: [], last: "killed", finish: "call" };
  return [none, ...deathsAtPoints(line, "nothing").map((death) => killed(line, [death], "call"))];
}

/** Two workers die, at each pair of points that can be reached. The sweeper comes first afterwards. */
export function pairs(line: Line): Cell[] {
  return pairsOfDeaths(line).map((deaths) => killed(line, deaths, "sweep"));
}

/** A worker is stopped past its lease at each point that a first call comes by. */
export function stops(line: Line): Cell[] {
  return deathsAtPoints(line, "nothing").map((death) => stopped(line, [death]));
}

/** One dies, and who takes over is stopped past its lease, at each pair of points. */
export function stopsAfterDeath(line: Line): Cell[] {
  return pairsOfDeaths(line).map((deaths) => stopped(line, deaths));
}

/** Before and after each SQL statement of a first call, and of each call and sweep that takes over. */
export function statementCells(line: Line): Cell[] {
  const first = deathsAtSql(line, "nothing", "call").map((death) => [death]);
  const later = leftBehind(line).flatMap((before) => {
    const left = leftBy(line, "nothing", before);
    const acts: readonly Act[] = left === "claimed" ? ["call"] : ["call", "sweep"];
    return acts.flatMap((act) => deathsAtSql(line, left, act).map((death) => [before, death]));
  });
  return [...first, ...later].map((deaths) => killed(line, deaths, "call"));
}

/** A death for each thing that a take-over can meet and acts differently on. */
function leftBehind({ kind }: Line): Death[] {
  const atPoint = (point: PointName): Death => ({ act: "call", at: { point } });
  const effect = atPoint("before-settle");
  switch (kind) {
    case "keyed":
      return [effect];
    case "unkeyed":
      return [atPoint("after-claim"), effect];
    case "natural":
    case "look-up-only":
      return [atPoint("before-write"), effect];
  }
}

function stopped(line: Line, deaths: readonly Death[]): Cell {
  return { ...line, deaths, last: "stopped", finish: "call" };
}

function killed(line: Line, deaths: readonly Death[], finish: Act): Cell {
  return { ...line, deaths, last: "killed", finish };
}

function pairsOfDeaths(line: Line): Death[][] {
  return deathsAtPoints(line, "nothing").flatMap((first) =>
    deathsAtPoints(line, leftBy(line, "nothing", first)).map((second) => [first, second]),
  );
}

function deathsAtPoints(line: Line, left: Left): Death[] {
  return pathAfter(line, left, "call").points.map((point) => ({ act: "call", at: { point } }));
}

function deathsAtSql(line: Line, left: Left, act: Act): Death[] {
  const { sql } = pathAfter(line, left, act);
  return Array.from({ length: sql }, (_, index) => index + 1).flatMap((statement) =>
    (["before", "after"] as const).map((when): Death => {
      const at: Place = { statement, when };
      return { act, at };
    }),
  );
}

/**
 * True of a cell that dies between two SQL statements of one transaction on SQLite, and is named after
 * the second: the driver is synchronous, so that this is the same instant as after the first.
 */
export function isTwin(cell: Cell): boolean {
  const last = cell.deaths.at(-1);
  if (last === undefined || !("statement" in last.at) || last.at.when === "after") return false;
  const left = cell.deaths
    .slice(0, -1)
    .reduce<Left>((state, death) => leftBy(cell, state, death), "nothing");
  let begins = 1;
  for (const name of pathAfter(cell, left, last.act).statements) {
    if (last.at.statement === begins) return false;
    begins += sqlOf(cell.store, name);
  }
  return true;
}
