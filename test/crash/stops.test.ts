/**
 * Workers are stopped with SIGSTOP, until their lease is over and others have finished, and then go on:
 * what they know is merged, and what they still want to do is fenced.
 */
import { stops } from "./matrix.ts";
import { playLines } from "./line.ts";

playLines("stopped past the lease", stops);
