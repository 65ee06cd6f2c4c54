/**
 * `nevertwice operations show`: one operation, its facts and its journal.
 *
 * @module
 */
import type { Command } from "commander";
import { type JournalLine, findChainFault } from "../../ledger/journal.ts";
import type { OperationRecord } from "../../ledger/record.ts";
import { type GlobalOptions, helpEnd, outputFor } from "../command.ts";
import { findOperation } from "../find-operation.ts";
import { withStore } from "../open-store.ts";
import {
  colouredStatus,
  intentText,
  lineJson,
  operationFacts,
  operationJson,
  printJournalLines,
} from "../operation-view.ts";
import type { Output } from "../output.ts";
import { counted, printable } from "../text.ts";
import { longTime } from "../times.ts";

interface ShowOptions extends GlobalOptions {
  readonly tenant?: string;
}

/** More lines than these are not read: no operation should have them. */
const maxLines = 10_000;

/** Adds the command to `operations`. */
export function addOperationsShow(operations: Command): void {
  operations
    .command("show")
    .description("show one operation: its facts, its outcome and its journal")
    .argument("<key>", "the key, or its first digits (at least 4)")
    .option("--tenant <tenant>", "needed only when several tenants have such a key")
    .addHelpText(
      "after",
      helpEnd([
        "operations show 3f2a9c01b7d4 --store ./nevertwice.sqlite",
        "operations show 3f2a --tenant acme --json | jq .journal",
      ]),
    )
    .action((key: string, _options: unknown, command: Command) => show(key, command));
}

async function show(key: string, command: Command): Promise<void> {
  const options = command.optsWithGlobals<ShowOptions>();
  const output = outputFor(options);
  const { record, lines } = await withStore(options, "ready", async ({ store }) => {
    const found = await findOperation(store, key, options.tenant);
    const id = { tenant: found.tenant, key: found.key };
    return {
      record: found,
      lines: await store.readJournal({ ...id, after: null, limit: maxLines }),
    };
  });
  const fault = findChainFault(lines);
  if (output.json) {
    const chain = fault === undefined ? { intact: true } : { intact: false, ...fault };
    output.document({
      operation: operationJson(record),
      journal: lines.map(lineJson),
      chain,
    });
    return;
  }
  printOperation(output, record);
  printJournal(output, lines);
}

/** Prints the facts under a headline. */
export function printOperation(output: Output, record: OperationRecord): void {
  const { bold } = output.colours;
  output.line(
    `${bold(printable(intentText(record)))}  ${colouredStatus(record.status, output.colours)}`,
  );
  output.line();
  output.facts(operationFacts(record));
}

function printJournal(output: Output, lines: readonly JournalLine[]): void {
  const { bold, green, red } = output.colours;
  const fault = findChainFault(lines);
  const since = lines[0] === undefined ? "" : ` since ${longTime(lines[0].atMs)}`;
  const chain =
    fault === undefined
      ? green("chain intact")
      : red(`chain broken at line ${fault.seq}: ${fault.reason}`);
  output.line();
  output.line(`${bold("Journal")}  ${counted(lines.length, "line")}${since}, ${chain}`);
  output.line();
  printJournalLines(output, lines);
}
