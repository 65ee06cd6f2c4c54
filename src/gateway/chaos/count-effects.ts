/**
 * How many effects there are, by the server's own books: another of its tools, or a command. What a
 * call was told is no evidence.
 *
 * @module
 */
import { execFile } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import type { JsonObject } from "../../base/plain-json.ts";
import { shownBy } from "../../edges/mcp/find-effect.ts";
import { valueAt } from "../../edges/mcp/json-pointer.ts";
import { textOf } from "../../edges/mcp/upstream-errors.ts";

/** Where the count stands. */
export type CountSource =
  | {
      readonly by: "tool";
      readonly tool: string;
      readonly arguments: JsonObject;
      /** A number, a text that holds one, or a list whose items are the effects. */
      readonly pointer: string;
    }
  | {
      readonly by: "command";
      /** For the shell. It prints the number and ends with 0. */
      readonly command: string;
    };

type Members = Readonly<Record<string, unknown>>;

/** Who can be asked by a tool. */
export interface Asked {
  look(tool: string, args: JsonObject): Promise<Members>;
}

/**
 * Counts until two counts a while apart are the same: a call that nobody waits for may still land.
 *
 * @throws {Error} when no number is shown; then nothing can be said.
 */
export async function countEffects(
  source: CountSource,
  asked: Asked,
  settleMs: number,
): Promise<number> {
  let last = await countPatiently(source, asked);
  for (;;) {
    await pause(settleMs);
    const count = await countPatiently(source, asked);
    if (count === last) return count;
    last = count;
  }
}

/** A server that a fault has ended may be on its way back, behind a gateway too. */
const patience = { looks: 40, pauseMs: 250 };

async function countPatiently(source: CountSource, asked: Asked): Promise<number> {
  for (let look = 1; source.by === "tool" && look < patience.looks; look += 1) {
    try {
      return await countOnce(source, asked);
    } catch {
      await pause(patience.pauseMs);
    }
  }
  return countOnce(source, asked);
}

/** How often a call that is under way is watched. */
const watchEveryMs = 5;

/** Resolves when there are more effects than before. A count that can't be had shows nothing. */
export async function watchEffects(
  source: CountSource,
  asked: Asked,
  before: number,
  stop: AbortSignal,
): Promise<void> {
  while (!stop.aborted) {
    const count = await countOnce(source, asked).catch(() => before);
    if (count > before) return;
    await pause(watchEveryMs);
  }
}

async function countOnce(source: CountSource, asked: Asked): Promise<number> {
  const shown =
    source.by === "tool" ? await shownByTool(source, asked) : await printedBy(source.command);
  const count = numberIn(shown);
  if (count !== undefined) return count;
  const place = source.by === "tool" ? `${source.tool} at "${source.pointer}"` : "the command";
  throw new Error(`effects can't be counted: ${place} shows no whole number and no list`);
}

async function shownByTool(
  { tool, arguments: args, pointer }: Extract<CountSource, { by: "tool" }>,
  asked: Asked,
): Promise<unknown> {
  const result = await asked.look(tool, args);
  if (result["isError"] === true)
    throw new Error(`effects can't be counted: ${tool} reported ${textOf(result)}`);
  return valueAt(shownBy(result), pointer);
}

async function printedBy(command: string): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)("/bin/sh", ["-c", command]);
    return stdout;
  } catch (error) {
    throw new Error(`effects can't be counted: the command ended with an error`, { cause: error });
  }
}

function numberIn(shown: unknown): number | undefined {
  if (Array.isArray(shown)) return shown.length;
  const count = typeof shown === "string" && /^\s*\d+\s*$/.test(shown) ? Number(shown) : shown;
  return typeof count === "number" && Number.isSafeInteger(count) ? count : undefined;
}
