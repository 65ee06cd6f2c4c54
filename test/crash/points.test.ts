/**
 * Workers are killed with SIGKILL at every named point of a call, and at every pair of points: the
 * second where a call comes by after what the first one left. Whoever finishes goes exactly the way
 * that `cells.ts` says, so that no point and no pair can be left out unseen (case 77).
 */
import { playPiece } from "./line.ts";
import { pairs, singles } from "./matrix.ts";

// Each of these has a process of its own, which dies in the very turn of the point.
playPiece({ title: "killed at a point", cellsOf: singles, perProcess: 1 });

playPiece({
  title: "killed at two points",
  cellsOf: pairs,
  isShort: ({ store, kind }) => kind === "keyed" || (store === "sqlite" && kind !== "natural"),
});
