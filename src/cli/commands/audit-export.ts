/**
 * `nevertwice audit export`: every operation with its journal, as JSON Lines.
 *
 * @module
 */
import { type WriteStream, createWriteStream, existsSync, renameSync, rmSync } from "node:fs";
import { once } from "node:events";
import { finished } from "node:stream/promises";
import type { Command } from "commander";
import { NeverTwiceError } from "../../base/errors.ts";
import { formatEntry } from "../audit/entry.ts";
import { readEntries } from "../audit/read-entries.ts";
import { type GlobalOptions, helpEnd, outputFor } from "../command.ts";
import { CliError } from "../exit-codes.ts";
import { findOperation } from "../find-operation.ts";
import { withStore } from "../open-store.ts";
import { type Output, writeSlowly } from "../output.ts";
import { Progress } from "../progress.ts";
import { counted } from "../text.ts";

interface ExportOptions extends GlobalOptions {
  readonly tenant?: string;
  readonly key?: string;
  readonly out?: string;
}

interface Exported {
  operations: number;
  lines: number;
}

/** Adds the command to `audit`. */
export function addAuditExport(audit: Command): void {
  audit
    .command("export")
    .description("write every operation with its journal, one JSON object a line")
    .option("--tenant <tenant>", "only this tenant")
    .option("--key <key>", "only this operation; its first digits are enough")
    .option("--out <file>", "write to this new file instead of standard output")
    .addHelpText(
      "after",
      helpEnd([
        "audit export --store ./nevertwice.sqlite --out audit.jsonl",
        "audit export --tenant acme | gzip > acme.jsonl.gz",
      ]),
    )
    .action((_options: unknown, command: Command) => exportAudit(command));
}

async function exportAudit(command: Command): Promise<void> {
  const options = command.optsWithGlobals<ExportOptions>();
  const output = outputFor(options);
  const { out } = options;
  if (out === undefined) {
    await writeEntries(options, output, process.stdout);
    return;
  }
  const exported = await writeFile(out, (file) => writeEntries(options, output, file));
  if (output.json) return output.document({ file: out, ...exported });
  output.text(
    `Wrote ${counted(exported.operations, "operation")} with ${counted(exported.lines, "journal line")} to ${out}.`,
  );
}

/** A file that is cut short never gets the name that was asked for. */
async function writeFile(
  out: string,
  write: (file: WriteStream) => Promise<Exported>,
): Promise<Exported> {
  if (existsSync(out)) {
    throw new CliError("USAGE", `${out} exists already, and an audit file is never overwritten.`);
  }
  const partial = `${out}.partial`;
  // What it holds may be personal, so only its owner may read it.
  const file = createWriteStream(partial, { mode: 0o600 });
  try {
    const exported = await write(file);
    file.end();
    await finished(file);
    renameSync(partial, out);
    return exported;
  } catch (error) {
    if (!file.closed) await once(file.destroy(), "close");
    rmSync(partial, { force: true });
    if (!isFileError(error)) throw error;
    throw new CliError("FILE", `${out} can't be written: ${error.message}.`);
  }
}

async function writeEntries(
  options: ExportOptions,
  output: Output,
  stream: NodeJS.WritableStream,
): Promise<Exported> {
  const exported: Exported = { operations: 0, lines: 0 };
  const progress = new Progress(output);
  await withStore(options, "ready", async ({ store }) => {
    const found =
      options.key === undefined
        ? undefined
        : await findOperation(store, options.key, options.tenant);
    const filter = { tenant: found?.tenant ?? options.tenant ?? null, key: found?.key ?? null };
    for await (const entry of readEntries(store, filter)) {
      await writeSlowly(stream, `${formatEntry(entry)}\n`);
      exported.operations += 1;
      exported.lines += entry.journal.length;
      progress.tell(() => `${counted(exported.operations, "operation")} written …`);
    }
  });
  progress.end();
  return exported;
}

function isFileError(error: unknown): error is Error {
  return error instanceof Error && !(error instanceof NeverTwiceError) && "syscall" in error;
}
