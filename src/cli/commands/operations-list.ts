/**
 * `nevertwice operations list`: operations, newest first, a page at a time.
 *
 * @module
 */
import { type Command, Option } from "commander";
import type { OperationRecord } from "../../ledger/record.ts";
import { type Status, statuses } from "../../ledger/status.ts";
import type { ListPlace } from "../../ledger/store.ts";
import { type GlobalOptions, helpEnd, parseCount, outputFor } from "../command.ts";
import { withStore } from "../open-store.ts";
import { operationColumns, operationJson, operationRow } from "../operation-view.ts";
import type { Output } from "../output.ts";
import {
  type Filter,
  type Page,
  formatPlace,
  parsePlace,
  printPageEnd,
  readPage,
} from "../paging.ts";
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
  if (page.rows.length === 0) return output.text("No operation matches.");
  output.table(operationColumns, page.rows.map(operationRow));
  printOperationsEnd(output, page);
}

/** Reads the page that the options name. */
export function readListPage(
  options: PageOptions,
  more: Pick<Filter, "status" | "review">,
): Promise<Page<OperationRecord>> {
  const filter: Filter = {
    tenant: options.tenant ?? null,
    operation: options.operation ?? null,
    ...more,
  };
  const after = options.after === undefined ? null : placeOf(options.after);
  return withStore(options, "ready", ({ store }) =>
    readPage(options.limit, (limit) => store.list({ ...filter, limit, after })),
  );
}

function placeOf(text: string): ListPlace {
  const [createdAtMs, tenant = "", key = ""] = parsePlace(text, 2);
  return { createdAtMs, tenant, key };
}

function formatNext({ next }: Page<OperationRecord>): string | null {
  return next === null ? null : formatPlace([next.createdAtMs, next.tenant, next.key]);
}

/** A page for `--json`; `next` is what `--after` takes. */
export function pageJson(page: Page<OperationRecord>): Record<string, unknown> {
  return { operations: page.rows.map(operationJson), next: formatNext(page) };
}

/** Says whether there are more, and how to get them. */
export function printOperationsEnd(output: Output, page: Page<OperationRecord>): void {
  printPageEnd(output, counted(page.rows.length, "operation"), formatNext(page));
}
