/**
 * Workers are killed before and after every single SQL statement of the guard: of a first call, and of
 * the call or sweep that takes over (case 73).
 */
import { playPiece } from "./line.ts";
import { isTwin, statementCells } from "./matrix.ts";

playPiece({
  title: "killed at a statement",
  cellsOf: statementCells,
  isShort: (cell) =>
    !isTwin(cell) &&
    (cell.store === "postgres"
      ? cell.kind === "keyed" || cell.kind === "unkeyed"
      : cell.kind === "keyed" || cell.kind === "look-up-only"),
});
