/**
 * Loads the file that says which tools are to be checked, JavaScript or TypeScript.
 *
 * @module
 */
import { type ToolCheck, isTool } from "../../testing/check-tool/index.ts";
import { fileError, isObject, loadExport } from "../load-module.ts";

/**
 * Loads every check of a file: its export `checks` or its default export, one or a list.
 *
 * @throws {CliError} FILE for a file that is missing, can't be loaded, or holds no checks.
 */
export async function loadChecks(path: string): Promise<readonly ToolCheck[]> {
  const { file, exported } = await loadExport(path, "checks");
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
