/**
 * How this package starts a script of its own as another process.
 *
 * @module
 */
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";

/**
 * The arguments of `node` for the script of this name, without its ending, beside the module at
 * `moduleUrl`: built as that module is built, or the source under tsx.
 */
export function siblingScript(moduleUrl: string, name: string): string[] {
  const isSource = moduleUrl.endsWith(".ts");
  const script = new URL(`./${name}.${isSource ? "ts" : "js"}`, moduleUrl);
  // Resolved here, because the child looks from its working directory, which may be anywhere.
  const loader = (): string => pathToFileURL(createRequire(moduleUrl).resolve("tsx")).href;
  return [...(isSource ? ["--import", loader()] : []), fileURLToPath(script)];
}
