/**
 * What every command shares: global options, help, and how numbers are read.
 *
 * @module
 */
import { InvalidArgumentError } from "commander";
import { exitCodeMeanings } from "./exit-codes.ts";
import { Output } from "./output.ts";

/** Options that every command has. */
export interface GlobalOptions {
  readonly store?: string;
  readonly schema?: string;
  readonly json?: boolean;
  readonly debug?: boolean;
}

/** Where a command with these options prints. */
export function outputFor(options: GlobalOptions): Output {
  return new Output({ json: options.json === true });
}

/** Examples and exit codes at the end of a command's help. */
export function helpEnd(examples: readonly string[]): string {
  const codes = exitCodeMeanings.map(
    ([code, meaning]) => `  ${String(code).padStart(2)}  ${meaning}`,
  );
  const listed = examples.map((example) => `  $ nevertwice ${example}`);
  return ["", "Examples:", ...listed, "", "Exit codes:", ...codes].join("\n");
}

/** Reads a whole number above zero. */
export function parseCount(text: string): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(count) && count > 0) return count;
  throw new InvalidArgumentError("It must be a whole number above zero.");
}
