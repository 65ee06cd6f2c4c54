/**
 * Workers are killed with SIGKILL at every named point of a call, and at every pair of points: the
 * second where a call comes by after what the first one left. Whoever finishes goes exactly the way
 * that `cells.ts` says, so that no point and no pair can be left out unseen.
 */
import { pairs, singles } from "./matrix.ts";
import { playLines } from "./line.ts";

playLines("killed at a point", singles, 1);
playLines("killed at two points", pairs);
