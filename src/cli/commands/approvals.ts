/**
 * `nevertwice approvals list|decide`: what flows ask people, and their answers.
 *
 * @module
 */
import { type Command, Option } from "commander";
import { decideApproval } from "../../flow/approval.ts";
import type { ApprovalPlace, ApprovalRecord } from "../../ledger/runs.ts";
import { type GlobalOptions, helpEnd, outputFor, parseCount } from "../command.ts";
import { withStore } from "../open-store.ts";
import type { Column } from "../output.ts";
import { formatPlace, parsePlace, printPageEnd, readPage } from "../paging.ts";
import { counted } from "../text.ts";
import { isoTime, longTime } from "../times.ts";

interface ListOptions extends GlobalOptions {
  readonly tenant?: string;
  readonly all?: boolean;
  readonly limit: number;
  readonly after?: string;
}

interface DecideOptions extends GlobalOptions {
  readonly tenant: string;
  readonly step: string;
  readonly decision: "approve" | "decline";
  readonly fingerprint: string;
  readonly version: number;
  readonly by: string;
  readonly why: string;
}

/** Adds the commands to `approvals`. */
export function addApprovals(approvals: Command): void {
  approvals
    .command("list")
    .description("list what waits for a person's yes, newest first")
    .option("--tenant <tenant>", "only this tenant")
    .option("--all", "also what was decided or has expired")
    .option("--limit <count>", "how many at most", parseCount, 20)
    .option("--after <place>", "go on where the page before ended")
    .addHelpText("after", helpEnd(["approvals list", "approvals list --tenant acme --json"]))
    .action((_options: unknown, self: Command) => list(self));
  approvals
    .command("decide")
    .description("approve or decline exactly what was looked at")
    .argument("<run>", "the run's id")
    .requiredOption("--tenant <tenant>", "whose run it is")
    .requiredOption("--step <name>", "the step that asks")
    .addOption(
      new Option("--decision <decision>", "what is decided")
        .choices(["approve", "decline"])
        .makeOptionMandatory(),
    )
    .requiredOption("--fingerprint <hash>", "of what was looked at, as the list shows it")
    .option("--version <number>", "the version that was looked at", parseCount, 1)
    .requiredOption("--by <name>", "who decides")
    .requiredOption("--why <text>", "on what grounds")
    .addHelpText("after", helpEnd([example]))
    .action((run: string, _options: unknown, self: Command) => decide(run, self));
}

const example = `approvals decide ticket-5521 --tenant acme --step manager --decision approve \\
      --fingerprint 9c1d… --by "Ann Lee" --why "the photo shows it"`;

const columns: readonly Column[] = [
  { head: "run", narrow: "shorten" },
  { head: "tenant", narrow: "shorten" },
  { head: "step", narrow: "shorten" },
  { head: "status" },
  { head: "until" },
  { head: "payload", narrow: "wrap" },
  { head: "fingerprint", narrow: "wrap" },
];

function rowOf(approval: ApprovalRecord): readonly string[] {
  const { runId, tenant, name, status, expiresAtMs, payload, fingerprint } = approval;
  return [runId, tenant, name, status, longTime(expiresAtMs), payload, fingerprint];
}

async function list(command: Command): Promise<void> {
  const options = command.optsWithGlobals<ListOptions>();
  const output = outputFor(options);
  const after = options.after === undefined ? null : placeOf(options.after);
  const asked = {
    tenant: options.tenant ?? null,
    runId: null,
    status: options.all === true ? null : "OPEN",
    after,
  } as const;
  const { rows, next } = await withStore(options, "ready", ({ store }) =>
    readPage(options.limit, (limit) => store.runs.listApprovals({ ...asked, limit })),
  );
  const place =
    next === null ? null : formatPlace([next.createdAtMs, next.tenant, next.runId, next.name]);
  if (output.json) return output.document({ approvals: rows.map(approvalJson), next: place });
  if (rows.length === 0) return output.text("Nothing waits for an approval.");
  output.table(columns, rows.map(rowOf));
  printPageEnd(output, counted(rows.length, "approval"), place);
}

function placeOf(text: string): ApprovalPlace {
  const [createdAtMs, tenant = "", runId = "", name = ""] = parsePlace(text, 3);
  return { createdAtMs, tenant, runId, name };
}

async function decide(runId: string, command: Command): Promise<void> {
  const options = command.optsWithGlobals<DecideOptions>();
  const output = outputFor(options);
  const { tenant, step, version, fingerprint, decision, by, why } = options;
  const decided = await withStore(options, "ready", ({ store }) =>
    decideApproval(store, { tenant, runId, name: step, version, fingerprint, decision, by, why }),
  );
  if (output.json) return output.document({ approval: approvalJson(decided) });
  return output.text(
    `Recorded: ${decided.status}, by ${by}. The run ${runId} goes on with the next worker.`,
  );
}

function approvalJson(approval: ApprovalRecord): Record<string, unknown> {
  const { tenant, runId, name, key, fingerprint, status, version, decidedBy, why } = approval;
  return {
    tenant,
    runId,
    step: name,
    key,
    fingerprint,
    status,
    version,
    payload: JSON.parse(approval.payload) as unknown,
    decidedBy,
    why,
    createdAt: isoTime(approval.createdAtMs),
    expiresAt: isoTime(approval.expiresAtMs),
    decidedAt: isoTime(approval.decidedAtMs),
  };
}
