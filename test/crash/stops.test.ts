/**
 * Workers are stopped with SIGSTOP until their lease is over and others have finished, and then go on:
 * what they know is merged, and what they still want to do is fenced.
 */
import { playPiece } from "./line.ts";
import { stops, stopsAfterDeath } from "./matrix.ts";

playPiece({ title: "stopped past the lease", cellsOf: stops });

playPiece({
  title: "stopped past the lease, after another died",
  cellsOf: stopsAfterDeath,
  isShort: ({ store, kind }) => kind === "keyed" || (store === "sqlite" && kind === "look-up-only"),
});
