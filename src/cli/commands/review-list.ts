/**
 * `nevertwice review list`: what waits for a person.
 *
 * @module
 */
import type { Command } from "commander";
import type { OperationRecord } from "../../ledger/record.ts";
import { helpEnd, outputFor } from "../command.ts";
import { namedIntent } from "../operation-view.ts";
import type { Column } from "../output.ts";
import { shortKey } from "../text.ts";
import { roughSpan } from "../times.ts";
import {
  type PageOptions,
  addPageOptions,
  pageJson,
  printOperationsEnd,
  readListPage,
} from "./operations-list.ts";

/** Adds the command to `review`. */
export function addReviewList(review: Command): void {
  addPageOptions(review.command("list").description("list what waits for a person's decision"))
    .addHelpText(
      "after",
      helpEnd(["review list --store ./nevertwice.sqlite", "review list --tenant acme --json"]),
    )
    .action((_options: unknown, self: Command) => list(self));
}

const columns: readonly Column[] = [
  { head: "Key" },
  { head: "Tenant", narrow: "shorten" },
  { head: "Age", align: "right" },
  { head: '"No" from', align: "right" },
  { head: "Intent", narrow: "wrap" },
  { head: "Why", narrow: "wrap" },
];

async function list(command: Command): Promise<void> {
  const options = command.optsWithGlobals<PageOptions>();
  const output = outputFor(options);
  const page = await readListPage(options, { status: null, review: true });
  if (output.json) return output.document(pageJson(page));
  if (page.rows.length === 0) return output.text("Nothing waits for a decision.");
  output.table(columns, page.rows.map(row));
  printOperationsEnd(output, page);
  output.line();
  output.text(
    '"No" from: when it may be decided that it did not happen. Look at the evidence with `nevertwice operations show KEY`, ask the provider, then `nevertwice review resolve KEY`.',
  );
}

function row(record: OperationRecord): string[] {
  const earlyMs = record.quietUntilMs - record.readAtMs;
  return [
    shortKey(record.key),
    record.tenant,
    roughSpan(record.readAtMs - record.createdAtMs),
    earlyMs >= 0 ? `in ${roughSpan(earlyMs)}` : "now",
    namedIntent(record),
    record.incident === null ? (record.reviewReason ?? "") : `incident: ${record.incident}`,
  ];
}
