/**
 * `nevertwice purge`: empties settled operations that are past their retention.
 *
 * @module
 */
import type { Command } from "commander";
import { type GlobalOptions, helpEnd, parseCount, outputFor } from "../command.ts";
import { withStore } from "../open-store.ts";
import { Progress } from "../progress.ts";
import { counted } from "../text.ts";

interface PurgeOptions extends GlobalOptions {
  readonly limit?: number;
  readonly dryRun?: boolean;
}

/** Rows in one statement: short enough that nobody has to wait for it. */
const batch = 500;

/** Adds the command. */
export function addPurge(program: Command): void {
  program
    .command("purge")
    .description("empty settled operations past their retention; a tombstone stays for each")
    .option("--limit <count>", "purge this many at most; default all", parseCount)
    .option("--dry-run", "only say how many there are")
    .addHelpText(
      "after",
      helpEnd([
        "purge --store ./nevertwice.sqlite --dry-run",
        "purge --store postgres://app@db/shop --limit 10000",
      ]),
    )
    .action((_options: unknown, command: Command) => purge(command));
}

async function purge(command: Command): Promise<void> {
  const options = command.optsWithGlobals<PurgeOptions>();
  const output = outputFor(options);
  const { limit = Number.POSITIVE_INFINITY, dryRun = false } = options;
  const progress = new Progress(output);
  const { purged, left } = await withStore(options, "ready", async ({ store }) => {
    let done = 0;
    const most = dryRun ? 0 : limit;
    while (done < most) {
      const emptied = await store.purge({ limit: Math.min(batch, most - done) });
      if (emptied === 0) break;
      done += emptied;
      progress.tell(() => `${counted(done, "operation")} purged …`);
    }
    return { purged: done, left: await store.countPurgeable() };
  });
  progress.end();
  if (output.json) return output.document({ dryRun, purged, left });
  const past = `${counted(left, "operation")} ${left === 1 ? "is" : "are"} past ${left === 1 ? "its" : "their"} retention`;
  if (dryRun) return output.text(`${past}. Nothing was purged (--dry-run).`);
  output.text(
    `Purged ${counted(purged, "operation")}${left === 0 ? "" : `; ${past} still`}. Their keys stay taken.`,
  );
}
