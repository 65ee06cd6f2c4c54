/**
 * Workers are killed before and after every single SQL statement of the guard: of a first call, and of
 * the call or sweep that takes over (case 73).
 */
import type { Cell } from "./cells.ts";
import { playPiece } from "./line.ts";
import { isTwin, statementCells } from "./matrix.ts";

playPiece({
  title: "killed at a statement",
  cellsOf: statementCells,
  // On SQLite each of these needs a process of its own.
  isShort: (cell) =>
    !isTwin(cell) &&
    (cell.store === "sqlite"
      ? cell.kind === "keyed" || (cell.kind === "look-up-only" && !isSwept(cell))
      : cell.kind === "keyed" || cell.kind === "unkeyed"),
});

function isSwept({ deaths }: Cell): boolean {
  return deaths.some(({ act }) => act === "sweep");
}
