/**
 * How a command that failed says so: one sentence on standard error, or a JSON object.
 *
 * @module
 */
import { CommanderError } from "commander";
import { isNeverTwiceError } from "../base/errors.ts";
import { CliError, type ExitCode, exitCodeOf, exitCodes } from "./exit-codes.ts";

/** How errors are to be printed. */
export interface FailureOptions {
  readonly json: boolean;
  readonly debug: boolean;
}

/** Prints the error and returns the exit code. */
export function reportFailure(error: unknown, options: FailureOptions): ExitCode {
  if (error instanceof CommanderError) return reportUsage(error, options);
  const exitCode = exitCodeOf(error);
  const code = codeOf(error);
  const text = exitCode === exitCodes.defect ? defectText(error) : (error as Error).message;
  print({ code, text, exitCode, details: detailsOf(error) }, options);
  if (options.debug) process.stderr.write(`${stackOf(error)}\n`);
  return exitCode;
}

function reportUsage(error: CommanderError, options: FailureOptions): ExitCode {
  if (error.exitCode === 0) return exitCodes.ok;
  // Commander has printed the help already, where a command without a subcommand was given.
  if (error.code === "commander.help" && !options.json) return exitCodes.usage;
  const said = error.code === "commander.help" ? "a command is missing" : error.message;
  const sentence = said
    .replace(/^error: /, "")
    .replaceAll("\n", " ")
    .replace(/\.$/, "");
  const text = `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}. Add --help to see how it is used.`;
  print({ code: "USAGE", text, exitCode: exitCodes.usage, details: {} }, options);
  return exitCodes.usage;
}

interface Told {
  readonly code: string;
  readonly text: string;
  readonly exitCode: ExitCode;
  readonly details: Readonly<Record<string, unknown>>;
}

function print({ code, text, exitCode, details }: Told, { json }: FailureOptions): void {
  const error = { code, message: text, exitCode, ...details };
  process.stderr.write(json ? `${JSON.stringify({ error })}\n` : `nevertwice: ${text} (${code})\n`);
}

function codeOf(error: unknown): string {
  if (error instanceof CliError || isNeverTwiceError(error)) return error.code;
  return "DEFECT";
}

function detailsOf(error: unknown): Readonly<Record<string, unknown>> {
  if (!isNeverTwiceError(error)) return {};
  const { key, details } = error;
  return {
    ...(key === undefined ? {} : { key }),
    ...(Object.keys(details).length === 0 ? {} : { details }),
  };
}

function defectText(error: unknown): string {
  const said = error instanceof Error ? error.message : String(error);
  return `This should not have happened: ${said}. Run it with --debug and report it, please.`;
}

function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? "" : `\ncaused by ${stackOf(error.cause)}`;
  return `${error.stack ?? error.message}${cause}`;
}
