/**
 * `nevertwice audit verify`: proves rows and journals unaltered, or says where they are not.
 *
 * @module
 */
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import type { Command } from "commander";
import { type AuditEntry, parseEntry } from "../audit/entry.ts";
import { readEntries } from "../audit/read-entries.ts";
import { type CheckCount, Tally } from "../audit/tally.ts";
import { type CheckName, type CheckResult, verifyEntry } from "../audit/verify.ts";
import { type GlobalOptions, helpEnd, outputFor } from "../command.ts";
import { CliError, exitCodes } from "../exit-codes.ts";
import { labelOf, withStore } from "../open-store.ts";
import type { Output } from "../output.ts";
import { Progress } from "../progress.ts";
import { counted, printable, shortKey } from "../text.ts";

interface VerifyOptions extends GlobalOptions {
  readonly tenant?: string;
  readonly in?: string;
}

/** A fault, and where it is. */
interface Found {
  readonly tenant: string | null;
  readonly key: string | null;
  readonly check: CheckName | "format";
  /** The journal line. */
  readonly seq: number | null;
  /** The line of the export, from 1. */
  readonly fileLine: number | null;
  readonly reason: string;
}

/** An operation as it came, or why it can't be read. */
type Read =
  | { readonly entry: AuditEntry; readonly fileLine: number | null }
  | { readonly entry: null; readonly fileLine: number; readonly reason: string };

/** Adds the command to `audit`. */
export function addAuditVerify(audit: Command): void {
  audit
    .command("verify")
    .description("check every operation against its journal, in the store or in an export")
    .option("--tenant <tenant>", "only this tenant")
    .option("--in <file>", "verify an export instead of a store; - for standard input")
    .addHelpText(
      "after",
      helpEnd([
        "audit verify --store ./nevertwice.sqlite",
        "audit verify --in audit.jsonl",
        "audit verify --store postgres://app@db/shop --json",
      ]),
    )
    .action((_options: unknown, command: Command) => verify(command));
}

async function verify(command: Command): Promise<void> {
  const options = command.optsWithGlobals<VerifyOptions>();
  const output = outputFor(options);
  const source = options.in;
  const verified =
    source === undefined
      ? await withStore(options, "ready", ({ store, location }) =>
          verifyAll(output, fromStore(store, options.tenant), labelOf(location)),
        )
      : await verifyAll(output, fromFile(source, options.tenant), source);
  if (verified.faults.length > 0) process.exitCode = exitCodes.found;
  if (output.json) return output.document({ ok: verified.faults.length === 0, ...verified });
  printVerified(output, verified);
}

async function* fromStore(
  store: Parameters<typeof readEntries>[0],
  tenant: string | undefined,
): AsyncGenerator<Read> {
  for await (const entry of readEntries(store, { tenant: tenant ?? null, key: null })) {
    yield { entry, fileLine: null };
  }
}

async function* fromFile(path: string, tenant: string | undefined): AsyncGenerator<Read> {
  const input = path === "-" ? process.stdin : createReadStream(path);
  // readline would end without a word when the file can't be opened.
  const broken = new Promise<never>((_, reject) => input.once("error", reject));
  broken.catch(() => {});
  const lines = createInterface({ input, crlfDelay: Infinity })[Symbol.asyncIterator]();
  for (let fileLine = 1; ; fileLine += 1) {
    const next = await Promise.race([lines.next(), broken]).catch((error: unknown) => {
      throw new CliError("FILE", `${path} can't be read: ${(error as Error).message}.`);
    });
    if (next.done === true) return;
    if (next.value === "") continue;
    const read = readLine(next.value, fileLine);
    if (read.entry === null || tenant === undefined || read.entry.tenant === tenant) yield read;
  }
}

function readLine(text: string, fileLine: number): Read {
  try {
    return { entry: parseEntry(text), fileLine };
  } catch (error) {
    return { entry: null, fileLine, reason: (error as Error).message };
  }
}

interface Verified {
  readonly source: string;
  readonly operations: number;
  readonly lines: number;
  readonly checks: Record<CheckName, CheckCount>;
  readonly faults: readonly Found[];
}

async function verifyAll(
  output: Output,
  entries: AsyncIterable<Read>,
  source: string,
): Promise<Verified> {
  const tally = new Tally();
  const faults: Found[] = [];
  const progress = new Progress(output);
  for await (const read of entries) {
    faults.push(...findFaults(read, tally));
    progress.tell(() => `${counted(tally.operations, "operation")} verified …`);
  }
  progress.end();
  const { operations, lines } = tally;
  return { source, operations, lines, checks: tally.counts(), faults };
}

function findFaults(read: Read, tally: Tally): Found[] {
  const { fileLine } = read;
  if (read.entry === null) {
    return [{ tenant: null, key: null, check: "format", seq: null, fileLine, reason: read.reason }];
  }
  const { tenant, key, journal } = read.entry;
  const results = verifyEntry(read.entry);
  tally.add(results, journal.length);
  return results
    .filter(
      (result): result is Extract<CheckResult, { found: "fault" }> => result.found === "fault",
    )
    .map(({ check, seq, reason }) => ({ tenant, key, check, seq, fileLine, reason }));
}

function printVerified(output: Output, verified: Verified): void {
  const { bold, green, red } = output.colours;
  output.text(
    `Verified ${counted(verified.operations, "operation")} with ${counted(verified.lines, "journal line")} in ${verified.source}.`,
  );
  output.line();
  output.table(
    [
      { head: "Check" },
      { head: "Fine", align: "right" },
      { head: "Faults", align: "right" },
      { head: "Not checkable", align: "right" },
      { head: "Because", narrow: "wrap" },
    ],
    Object.entries(verified.checks).map(([name, count]) => [
      name,
      String(count.fine),
      String(count.faults),
      String(count.notCheckable),
      Object.keys(count.reasons).join("; "),
    ]),
  );
  output.line();
  if (verified.faults.length === 0) return output.line(green("No fault was found."));
  output.line(bold(red(`${counted(verified.faults.length, "fault")}:`)));
  output.line();
  output.table(
    [
      { head: "Tenant", narrow: "shorten" },
      { head: "Key" },
      { head: "Check" },
      { head: "Line", align: "right" },
      { head: "What is wrong", narrow: "wrap" },
    ],
    verified.faults.map(faultRow),
  );
}

function faultRow({ tenant, key, check, seq, fileLine, reason }: Found): string[] {
  const place = key === null && fileLine !== null ? `file line ${fileLine}` : shortKey(key ?? "");
  return [printable(tenant ?? "?"), place, check, seq === null ? "" : String(seq), reason];
}
