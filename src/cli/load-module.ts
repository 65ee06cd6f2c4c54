/**
 * Loads a file of the user's, JavaScript or TypeScript.
 *
 * @module
 */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { errorText } from "../base/errors.ts";
import { CliError } from "./exit-codes.ts";

/**
 * Loads what a file exports under a name, or else by default.
 *
 * @throws {CliError} FILE for a file that is missing or can't be loaded.
 */
export async function loadExport(
  path: string,
  name: string,
): Promise<{ readonly file: string; readonly exported: unknown }> {
  const file = resolve(path);
  if (!existsSync(file)) throw fileError(`There is no file ${file}.`);
  return { file, exported: exportOf(await importFile(file), name) };
}

/** Loaders wrap CommonJS once or twice. */
function exportOf(module: unknown, name: string): unknown {
  const layers: unknown[] = [module];
  for (let depth = 0; depth < 2; depth += 1) {
    const inner: unknown = isObject(layers[0]) ? layers[0]["default"] : undefined;
    if (inner !== undefined) layers.unshift(inner);
  }
  const named = layers.find((layer) => isObject(layer) && layer[name] !== undefined);
  if (isObject(named)) return named[name];
  return layers.length > 1 ? layers[0] : undefined;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

async function importFile(file: string): Promise<unknown> {
  try {
    if (/\.[cm]?tsx?$/.test(file) && !isUnderTsx()) await startTsx(file);
    return (await import(pathToFileURL(file).href)) as unknown;
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw fileError(`${file} can't be loaded: ${errorText(error)}.`, error);
  }
}

/** Our own source runs under tsx, and then it loads what we import as well. */
function isUnderTsx(): boolean {
  return import.meta.url.endsWith(".ts");
}

/** True for a Node that strips types by itself. */
function stripsTypes(): boolean {
  return Boolean((process.features as { typescript?: unknown }).typescript);
}

/** From here on this process loads TypeScript, by the tsx of the file's project or the one beside us. */
async function startTsx(file: string): Promise<void> {
  const path = resolveFrom(file, "tsx") ?? resolveFrom(import.meta.url, "tsx");
  if (path !== undefined) return void (await import(pathToFileURL(path).href));
  if (stripsTypes()) return;
  throw fileError(
    `${file} is TypeScript, which Node ${process.version} can't load by itself. Install tsx beside it (npm install --save-dev tsx), or give JavaScript.`,
  );
}

function resolveFrom(place: string, name: string): string | undefined {
  try {
    return createRequire(place).resolve(name);
  } catch {
    return undefined;
  }
}

/** Trouble with a file that the user named. */
export function fileError(message: string, cause?: unknown): CliError {
  return Object.assign(new CliError("FILE", message), cause === undefined ? {} : { cause });
}
