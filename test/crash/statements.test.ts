/**
 * Workers are killed before and after every single SQL statement of the guard: of a first call, and of
 * the call or sweep that takes over (case 73).
 */
import { statementCells } from "./matrix.ts";
import { playLines } from "./line.ts";

playLines("killed at a statement", statementCells);
