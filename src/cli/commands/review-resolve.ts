/**
 * `nevertwice review resolve`: records a person's decision.
 *
 * @module
 */
import { createInterface } from "node:readline/promises";
import { type Command, Option } from "commander";
import type { Json } from "../../base/plain-json.ts";
import { type Resolution, type ReviewDecision, resolve } from "../../guard/review.ts";
import type { OperationRecord } from "../../ledger/record.ts";
import { type GlobalOptions, helpEnd, parseCount, outputFor } from "../command.ts";
import { CliError } from "../exit-codes.ts";
import { findOperation } from "../find-operation.ts";
import { withStore } from "../open-store.ts";
import { operationJson } from "../operation-view.ts";
import type { Output } from "../output.ts";
import { shortKey, wrap } from "../text.ts";
import { parseTime } from "../times.ts";
import { printOperation } from "./operations-show.ts";

interface ResolveOptions extends GlobalOptions {
  readonly tenant: string;
  readonly decision: ReviewDecision;
  readonly by: string;
  readonly why: string;
  readonly version?: number;
  readonly lookedAt?: number;
  readonly result?: string;
  readonly providerId?: string;
  readonly yes?: boolean;
}

const meanings: Readonly<Record<ReviewDecision, string>> = {
  happened:
    "The effect exists: the operation becomes DONE, and every further call gets its result.",
  "did-not-happen":
    "No effect exists and none will: the operation becomes FAILED, and every further call is told so.",
  "run-again":
    "No effect exists: the next call sends the request again, under a new key of the provider.",
  "look-again": "Undecided: the next call or sweep asks the provider once more.",
};

/** Adds the command to `review`. */
export function addReviewResolve(review: Command): void {
  review
    .command("resolve")
    .description("decide an operation that no rule can decide")
    .argument("<key>", "the key, or its first digits (at least 4)")
    .requiredOption("--tenant <tenant>", "whose operation it is")
    .addOption(
      new Option("--decision <decision>", "what is decided")
        .choices(Object.keys(meanings))
        .makeOptionMandatory(),
    )
    .requiredOption("--by <name>", "who decides")
    .requiredOption("--why <text>", "on what evidence")
    .option("--version <number>", "the version that was looked at; else you are asked", parseCount)
    .option(
      "--looked-at <time>",
      "when the provider was looked at, in ISO 8601; default: now",
      parseTime,
    )
    .option("--result <json>", "with `happened`: the result that callers are to get")
    .option("--provider-id <id>", "with `happened`: the provider's id of the effect")
    .option("--yes", "decide on the operation as it is now, without being asked")
    .addHelpText("after", `\nDecisions:\n${decisionHelp()}\n${helpEnd(examples)}`)
    .action((key: string, _options: unknown, command: Command) => resolveKey(key, command));
}

const examples = [
  `review resolve 3f2a9c01b7d4 --tenant acme --decision happened \\
      --provider-id re_123 --result '{"id":"re_123"}' \\
      --by "Ann Lee" --why "seen in the provider's dashboard"`,
  `review resolve 3f2a9c01b7d4 --tenant acme --decision did-not-happen \\
      --by "Ann Lee" --why "not in the statement" --version 7`,
];

function decisionHelp(): string {
  return Object.entries(meanings)
    .flatMap(([decision, meaning]) =>
      wrap(meaning, 62).map((line, at) => `  ${(at === 0 ? decision : "").padEnd(14)}  ${line}`),
    )
    .join("\n");
}

async function resolveKey(key: string, command: Command): Promise<void> {
  const options = command.optsWithGlobals<ResolveOptions>();
  const output = outputFor(options);
  const result = readResult(options);
  await withStore(options, "ready", async ({ store }) => {
    const record = await findOperation(store, key, options.tenant);
    const version = options.version ?? (await confirmVersion(output, record, options));
    const resolution: Resolution = {
      tenant: record.tenant,
      key: record.key,
      version,
      decision: options.decision,
      by: options.by,
      why: options.why,
      ...(options.lookedAt === undefined ? {} : { lookedAtMs: options.lookedAt }),
      ...(result === undefined ? {} : { result }),
      ...(options.providerId === undefined ? {} : { providerId: options.providerId }),
    };
    const resolved = await resolve(store, resolution);
    if (output.json) return output.document({ operation: operationJson(resolved) });
    return output.text(
      `Recorded: ${options.decision}, by ${options.by}. The operation ${shortKey(resolved.key)} is ${resolved.status} now (version ${resolved.version}).`,
    );
  });
}

function readResult({ decision, result, providerId }: ResolveOptions): Json | undefined {
  const extra = result === undefined ? "--provider-id" : "--result";
  if ((result !== undefined || providerId !== undefined) && decision !== "happened") {
    throw new CliError("USAGE", `${extra} goes with --decision happened only.`);
  }
  if (result === undefined) return undefined;
  try {
    return JSON.parse(result) as Json;
  } catch {
    throw new CliError("USAGE", `--result is not JSON: ${result}`);
  }
}

/** Shows what will be decided; a decision is bound to what the person saw (R30). */
async function confirmVersion(
  output: Output,
  record: OperationRecord,
  options: ResolveOptions,
): Promise<number> {
  if (options.yes === true) return record.version;
  if (output.json || !process.stdin.isTTY || !process.stdout.isTTY) {
    throw new CliError(
      "USAGE",
      `There is no terminal to ask on. Give the version you looked at (it is ${record.version} now): --version ${record.version}, or --yes.`,
    );
  }
  printOperation(output, record);
  output.line();
  output.text(`Decision: ${options.decision}. ${meanings[options.decision]}`);
  const question = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await question.question("Record this? [y/N] ");
  question.close();
  if (/^y(es)?$/i.test(answer.trim())) return record.version;
  throw new CliError("NOT_CONFIRMED", "Nothing was recorded.");
}
