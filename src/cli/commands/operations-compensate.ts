/**
 * `nevertwice operations compensate`: undoes a proved effect, once.
 *
 * @module
 */
import type { Command } from "commander";
import { compensate } from "../../effects/compensate.ts";
import { createGuard } from "../../guard/create-guard.ts";
import type { Tool } from "../../guard/tool.ts";
import { isTool } from "../../testing/check-tool/index.ts";
import { type GlobalOptions, helpEnd, outputFor } from "../command.ts";
import { findOperation } from "../find-operation.ts";
import { fileError, loadExport } from "../load-module.ts";
import { withStore } from "../open-store.ts";
import { shortKey } from "../text.ts";

interface CompensateOptions extends GlobalOptions {
  readonly tenant: string;
  readonly tools: string;
  readonly effect?: string;
}

/** Adds the command to `operations`. */
export function addOperationsCompensate(operations: Command): void {
  operations
    .command("compensate")
    .description("undo a proved effect, once, by its tool's compensation")
    .argument("<key>", "the key, or its first digits (at least 4)")
    .requiredOption("--tenant <tenant>", "whose operation it is")
    .requiredOption("--tools <file>", "a module that exports `tools`, the registered tools")
    .option("--effect <id>", "the provider's id of a second effect under that key")
    .addHelpText("after", helpEnd(examples))
    .action((key: string, _options: unknown, self: Command) => undo(key, self));
}

const examples = [
  "operations compensate 3f2a9c01b7d4 --tenant acme --tools ./tools.ts",
  "operations compensate 3f2a9c01b7d4 --tenant acme --tools ./tools.ts --effect re_78",
];

async function undo(key: string, command: Command): Promise<void> {
  const options = command.optsWithGlobals<CompensateOptions>();
  const output = outputFor(options);
  const tools = await loadTools(options.tools);
  const { effect } = options;
  const { undone, outcome } = await withStore(options, "ready", async ({ store }) => {
    const record = await findOperation(store, key, options.tenant);
    const guard = await createGuard({ store, tools });
    const asked = {
      tenant: record.tenant,
      key: record.key,
      ...(effect === undefined ? {} : { effect }),
    };
    return { undone: record.key, outcome: await compensate(guard, store, tools, asked) };
  });
  if (output.json) return output.document({ undone, compensation: outcome });
  return output.text(
    `${outcome.replayed ? "Undone already" : "Undone"}: the effect of ${shortKey(undone)}, by the operation ${shortKey(outcome.key ?? "")}. ${outcome.text}`,
  );
}

async function loadTools(path: string): Promise<readonly Tool[]> {
  const { file, exported } = await loadExport(path, "tools");
  const tools: readonly unknown[] = Array.isArray(exported) ? exported : [exported];
  if (exported !== undefined && tools.length > 0 && tools.every((tool) => isTool(tool)))
    return tools;
  throw fileError(
    `${file} exports no tools: export \`tools\`, a list of what \`defineTool\` returned.`,
  );
}
