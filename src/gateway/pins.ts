/**
 * The lock file: the hash of each tool's definition as a person looked at it. A server that changes a
 * definition, in its schema, its hints or its words to the model, is not called until a person has
 * looked again.
 *
 * @module
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { NeverTwiceError } from "../base/errors.ts";
import type { GatewayConfig } from "./config/gateway-config.ts";

/** Hashes by `server/tool`. */
export type Pins = ReadonlyMap<string, string>;

/** `nevertwice.yaml` → `nevertwice.lock.json`, beside it. */
export function lockFileOf(config: Pick<GatewayConfig, "file">): string {
  return `${config.file.replace(/\.ya?ml$/i, "")}.lock.json`;
}

/**
 * Reads the lock file; without one, nothing is pinned.
 *
 * @throws {NeverTwiceError} CONFIGURATION_INVALID for a file that is none.
 */
export function readPins(file: string): Pins {
  if (!existsSync(file)) return new Map();
  try {
    const { version, tools } = JSON.parse(readFileSync(file, "utf8")) as {
      version: unknown;
      tools: Record<string, string>;
    };
    if (version === 1) return new Map(Object.entries(tools));
  } catch (error) {
    throw unreadable(file, error);
  }
  throw unreadable(file, undefined);
}

/** Writes the lock file, sorted, so that a change of one tool is a change of one line. */
export function writePins(file: string, pins: Pins): void {
  const tools = Object.fromEntries([...pins].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  const beside = `${file}.new`;
  writeFileSync(beside, `${JSON.stringify({ version: 1, tools }, null, 2)}\n`);
  // Whoever reads at this moment gets the old file or the new one, and never a part.
  renameSync(beside, file);
}

function unreadable(file: string, cause: unknown): NeverTwiceError {
  return new NeverTwiceError(
    "CONFIGURATION_INVALID",
    `The lock file ${file} can't be read. Write it anew with \`nevertwice inspect --pin\`, after a look at the tools.`,
    { cause },
  );
}
