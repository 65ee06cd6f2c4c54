/**
 * `nevertwice providers show NAME`: everything that is known of one provider's contract.
 *
 * @module
 */
import type { Command } from "commander";
import { type GlobalOptions, helpEnd, outputFor } from "../command.ts";
import { findProvider, providerFacts, providerJson } from "../provider-view.ts";

/** Adds the command to `providers`. */
export function addProvidersShow(providers: Command): void {
  providers
    .command("show")
    .description("show one provider's contract, with its sources")
    .argument("<name>", "a name of `providers list`")
    .addHelpText("after", helpEnd(["providers show stripe", "providers show aws-ec2 --json"]))
    .action((name: string, _options: unknown, self: Command) => show(name, self));
}

function show(name: string, command: Command): void {
  const output = outputFor(command.optsWithGlobals<GlobalOptions>());
  const provider = findProvider(name);
  const nowMs = Date.now();
  if (output.json) return output.document(providerJson(provider, nowMs));
  output.facts(providerFacts(provider, nowMs));
}
