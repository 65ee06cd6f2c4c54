/**
 * `nevertwice operations list`: operations, newest first, a page at a time.
 *
 * @module
 */
import { type Command, Option } from "commander";
import { type Status, statuses } from "../../ledger/status.ts";
import { type GlobalOptions, helpEnd, parseCount, outputFor } from "../command.ts";
import { withStore } from "../open-store.ts";
import { operationColumns, operationJson, operationRow } from "../operation-view.ts";
import type { Output } from "../output.ts";
import { type Filter, type Page, formatCursor, parseCursor, readPage } from "../paging.ts";
import { counted } from "../text.ts";

/** Options that page through a list. */
export interface PageOptions extends GlobalOptions {
  readonly tenant?: string;
  readonly operation?: string;
  readonly limit: number;
  readonly after?: string;
}

interface ListOptions extends PageOptions {
  readonly status?: Status;
}

/** Adds the command to `operations`. */
export function addOperationsList(operations: Command): void {
  const command = operations
    .command("list")
    .description("list operations, newest first")
    .addOption(new Option("--status <status>", "only this status").choices(statuses));
  addPageOptions(command)
    .addHelpText(
      "after",
      helpEnd([
        "operations list --store ./nevertwice.sqlite",
        "operations list --tenant acme --status UNKNOWN --limit 50",
        "operations list --json | jq '.operations[].intent'",
      ]),
    )
    .action((_options: unknown, self: Command) => list(self));
}

/** Adds the options that restrict a list and page through it. */
export function addPageOptions(command: Command): Command {
  return command
    .option("--tenant <tenant>", "only this tenant")
    .option("--operation <name>", "only this business operation, e.g. refund")
    .option("--limit <count>", "how many at most", parseCount, 20)
    .option("--after <place>", "go on where the page before ended");
}

async function list(command: Command): Promise<void> {
  const options = command.optsWithGlobals<ListOptions>();
  const output = outputFor(options);
  const page = await readListPage(options, { status: options.status ?? null, review: false });
  if (output.json) return output.document(pageJson(page));
  if (page.records.length === 0) return output.text("No operation matches.");
  output.table(operationColumns, page.records.map(operationRow));
  printPageEnd(output, page);
}

/** Reads the page that the options name. */
export function readListPage(
  options: PageOptions,
  more: Pick<Filter, "status" | "review">,
): Promise<Page> {
  const filter: Filter = {
    tenant: options.tenant ?? null,
    operation: options.operation ?? null,
    ...more,
  };
  const after = options.after === undefined ? null : parseCursor(options.after);
  return withStore(options, "ready", ({ store }) => readPage(store, filter, options.limit, after));
}

/** A page for `--json`; `next` is what `--after` takes. */
export function pageJson({ records, next }: Page): Record<string, unknown> {
  return {
    operations: records.map(operationJson),
    next: next === null ? null : formatCursor(next),
  };
}

/** Says whether there are more, and how to get them. */
export function printPageEnd(output: Output, { records, next }: Page): void {
  output.line();
  if (next === null) {
    output.line(output.colours.dim(`${counted(records.length, "operation")}; that is all.`));
    return;
  }
  output.line(output.colours.dim(`${counted(records.length, "operation")}; for the next page add`));
  output.line(`--after ${formatCursor(next)}`);
}
