/**
 * Loads the file that says which tools are to be checked, JavaScript or TypeScript.
 *
 * @module
 */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { errorText } from "../../base/errors.ts";
import { type ToolCheck, isTool } from "../../testing/check-tool/index.ts";
import { CliError } from "../exit-codes.ts";

/**
 * Loads every check of a file: its export `checks` or its default export, one or a list.
 *
 * @throws {CliError} FILE for a file that is missing, can't be loaded, or holds no checks.
 */
export async function loadChecks(path: string): Promise<readonly ToolCheck[]> {
  const file = resolve(path);
  if (!existsSync(file)) throw fileError(`There is no file ${file}.`);
  const exported = exportOf(await importFile(file));
  if (exported === undefined) {
    throw fileError(
      `${file} exports no checks: export \`checks\`, or a default, as a list of \`defineCheck({ tool, example, countEffects })\`.`,
    );
  }
  const checks: readonly unknown[] = Array.isArray(exported) ? exported : [exported];
  if (checks.length === 0) throw fileError(`${file} exports an empty list of checks.`);
  return checks.map((check, index) => asCheck(check, `${file}: check ${index + 1}`));
}

function asCheck(check: unknown, name: string): ToolCheck {
  if (!isObject(check)) throw fileError(`${name} is no object with \`tool\`, \`example\` …`);
  if (!isTool(check["tool"])) {
    throw fileError(`${name} has no tool: \`tool\` must be what \`defineTool\` returned.`);
  }
  // Everything else is looked at by the check itself, which names the option.
  return check as unknown as ToolCheck;
}

/** Loaders wrap CommonJS once or twice. */
function exportOf(module: unknown): unknown {
  const layers: unknown[] = [module];
  for (let depth = 0; depth < 2; depth += 1) {
    const inner: unknown = isObject(layers[0]) ? layers[0]["default"] : undefined;
    if (inner !== undefined) layers.unshift(inner);
  }
  const named = layers.find((layer) => isObject(layer) && layer["checks"] !== undefined);
  if (isObject(named)) return named["checks"];
  return layers.length > 1 ? layers[0] : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
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

function fileError(message: string, cause?: unknown): CliError {
  return Object.assign(new CliError("FILE", message), cause === undefined ? {} : { cause });
}
