/**
 * `nevertwice providers list`: what providers promise, a line each.
 *
 * @module
 */
import type { Command } from "commander";
import { providerContracts } from "../../edges/providers/contracts/index.ts";
import { type GlobalOptions, helpEnd, outputFor } from "../command.ts";
import { providerColumns, providerCount, providerJson, providerRow } from "../provider-view.ts";

/** Adds the command to `providers`. */
export function addProvidersList(providers: Command): void {
  providers
    .command("list")
    .description("list the contracts of providers")
    .addHelpText(
      "after",
      helpEnd([
        "providers list",
        "providers list --json | jq '.providers[] | select(.mode == \"window\") | .name'",
      ]),
    )
    .action((_options: unknown, self: Command) => list(self));
}

function list(command: Command): void {
  const output = outputFor(command.optsWithGlobals<GlobalOptions>());
  const nowMs = Date.now();
  if (output.json) {
    const providers = providerContracts.map((provider) => providerJson(provider, nowMs));
    return output.document({ providers });
  }
  output.table(providerColumns, providerContracts.map(providerRow));
  output.line();
  output.text(
    `${providerCount(nowMs)} Mode: the farthest that a contract allows by itself. A question mark: in doubt, and not leaned on.`,
  );
}
