/**
 * The command line: global options and every command.
 *
 * @module
 */
import { Command, Help, Option } from "commander";
import { addApprovals } from "./commands/approvals.ts";
import { addAuditExport } from "./commands/audit-export.ts";
import { addAuditVerify } from "./commands/audit-verify.ts";
import { addChaos } from "./commands/chaos.ts";
import { addDemo } from "./commands/demo.ts";
import { addDoctor } from "./commands/doctor.ts";
import { addEvents } from "./commands/events.ts";
import { addGateway } from "./commands/gateway.ts";
import { addInit } from "./commands/init.ts";
import { addInspect } from "./commands/inspect.ts";
import { addMigrate } from "./commands/migrate.ts";
import { addOperationsCompensate } from "./commands/operations-compensate.ts";
import { addOperationsList } from "./commands/operations-list.ts";
import { addOperationsShow } from "./commands/operations-show.ts";
import { addProvidersList } from "./commands/providers-list.ts";
import { addProvidersShow } from "./commands/providers-show.ts";
import { addPurge } from "./commands/purge.ts";
import { addReviewList } from "./commands/review-list.ts";
import { addReviewResolve } from "./commands/review-resolve.ts";
import { addRuns } from "./commands/runs.ts";
import { addVerify } from "./commands/verify.ts";
import { helpEnd } from "./command.ts";

/**
 * Builds the command line. It never ends the process: usage errors are thrown.
 *
 * @param json Keeps the help that commander prints on errors from standard error.
 */
export function createProgram(json: boolean): Command {
  const program = new Command("nevertwice")
    .description("One business effect per intent, however many times an agent asks.")
    .exitOverride()
    // Errors are printed in one place, as text or as JSON.
    .configureOutput({ outputError: () => {}, ...(json ? { writeErr: () => {} } : {}) })
    .configureHelp({ showGlobalOptions: true, visibleOptions })
    .addOption(
      new Option("--store <location>", "a SQLite file or a postgres:// URL").env(
        "NEVERTWICE_STORE",
      ),
    )
    .option("--schema <name>", 'PostgreSQL schema that holds the tables (default: "nevertwice")')
    .option("--json", "print one JSON document for machines, errors included")
    .option("--debug", "print the stack of an error")
    .addHelpText(
      "after",
      helpEnd([
        "demo",
        "migrate --store ./nevertwice.sqlite",
        "doctor --store postgres://app@db/shop",
        "operations list --status UNKNOWN",
      ]),
    );
  addDemo(program);
  addMigrate(program);
  addDoctor(program);
  const operations = addGroup(program, "operations", "look at operations", [
    "operations list --status UNKNOWN",
    "operations show 3f2a9c01b7d4",
  ]);
  addOperationsList(operations);
  addOperationsShow(operations);
  addOperationsCompensate(operations);
  const review = addGroup(program, "review", "decide what no rule can decide", [
    "review list",
    "review resolve --help",
  ]);
  addReviewList(review);
  addReviewResolve(review);
  addRuns(addGroup(program, "runs", "look at runs of flows", ["runs list --status WAITING"]));
  addApprovals(addGroup(program, "approvals", "answer what flows ask people", ["approvals list"]));
  addEvents(addGroup(program, "events", "look at events, and at dead letters", ["events list"]));
  const audit = addGroup(program, "audit", "export and verify the journal", [
    "audit export --out audit.jsonl",
    "audit verify --in audit.jsonl",
  ]);
  addAuditExport(audit);
  addAuditVerify(audit);
  const providers = addGroup(program, "providers", "see what providers promise about keys", [
    "providers list",
    "providers show stripe",
  ]);
  addProvidersList(providers);
  addProvidersShow(providers);
  addPurge(program);
  addInit(program);
  addInspect(program);
  addGateway(program);
  addChaos(program);
  addVerify(program);
  return program;
}

function addGroup(
  program: Command,
  name: string,
  description: string,
  examples: readonly string[],
): Command {
  return program.command(name).description(description).addHelpText("after", helpEnd(examples));
}

/** Read by `main` and not by commander, for `review resolve` has a `--version` of its own. */
function visibleOptions(this: Help, command: Command): Option[] {
  const options = new Help().visibleOptions(command);
  return command.parent === null
    ? [new Option("--version", "print the version"), ...options]
    : options;
}
