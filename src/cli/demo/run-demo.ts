/**
 * The opening story with real processes: three attempts, bare and guarded, judged by the provider's
 * ledger.
 *
 * @module
 */
import { isNeverTwiceError } from "../../base/errors.ts";
import { errorText } from "../../base/errors.ts";
import type { JournalLine } from "../../ledger/journal.ts";
import { type LedgerRow, spawnFakeProvider } from "../../testing/fake-provider/index.ts";
import { CliError } from "../exit-codes.ts";
import type { Output } from "../output.ts";
import { counted } from "../text.ts";
import { type Props, playAct } from "./acts.ts";
import { Backstage } from "./backstage.ts";
import { makeDemoStore } from "./demo-store.ts";
import { type Moment, Stage } from "./stage.ts";
import { amountMinor, currency, money, orderId, ticketId } from "./story.ts";

/** How to play. */
export interface DemoOptions {
  /** `sqlite`, or a PostgreSQL URL. */
  readonly store: string;
  /** Divides the pauses that are there for the audience. */
  readonly speed: number;
}

/** One act, as `--json` prints it. */
export interface ActReport {
  readonly act: "bare" | "guarded";
  readonly attempts: number;
  readonly refunds: number;
  readonly totalMinor: number;
  readonly currency: string;
  /** `bare: 3 attempts, 3 refunds (€1,440.00)` */
  readonly summary: string;
  readonly timeline: readonly Moment[];
  /** The provider's: what really happened. */
  readonly ledger: readonly LedgerRow[];
  /** The guard's own; null in the bare act. */
  readonly journal: readonly JournalLine[] | null;
}

/** The whole demo. */
export interface DemoReport {
  readonly ok: boolean;
  /** What is not as it should be; null when all is. */
  readonly fault: string | null;
  readonly store: string;
  readonly acts: readonly ActReport[];
}

const attempts = 3;

/** Plays both acts; everything it made is gone when this returns. */
export function runDemo(options: DemoOptions, output: Output): Promise<DemoReport> {
  const backstage = new Backstage();
  return backstage.run(async () => {
    const demoStore = await makeDemoStore(options.store, backstage);
    printPrologue(output);
    printHeading(output, "Act 1, bare: the tool makes an idempotency key of its own per attempt");
    const stage = new Stage(output, options.speed);
    const bare = await play({ backstage, stage, demoStore: null });
    await stage.breathe(1000);

    printHeading(output, "Act 2, guarded: the key comes from the intent");
    if (!output.json) output.text(`The guard's store: ${demoStore.label}.`);
    if (!output.json) output.line();
    const guarded = await play({ backstage, stage: new Stage(output, options.speed), demoStore });
    return verdict(demoStore.label, bare, guarded);
  });
}

async function play(props: Omit<Props, "provider">): Promise<ActReport> {
  const { stage, backstage, demoStore } = props;
  const starting = spawnFakeProvider();
  backstage.add(async () => (await starting).kill());
  const provider = await starting;
  const startedAtMs = Date.now();
  await playAct({ ...props, provider }).catch((error: unknown) => {
    if (error instanceof CliError || isNeverTwiceError(error)) throw error;
    throw new CliError("DEMO_FAILED", `The story broke off: ${errorText(error)}.`);
  });
  const ledger = await provider.ledger();
  const journal =
    demoStore === null
      ? null
      : await demoStore.store.readJournal({ tenant: null, key: null, after: null, limit: 1000 });
  const act = demoStore === null ? "bare" : "guarded";
  const totalMinor = ledger.reduce((sum, { body }) => sum + Number(body["amountMinor"]), 0);
  const summary = `${act}: ${counted(attempts, "attempt")}, ${counted(ledger.length, "refund")} (${money(totalMinor)})`;
  if (!stage.output.json) {
    printLedger(stage.output, ledger, startedAtMs);
    if (journal !== null) printJournal(stage.output, journal);
    stage.output.line();
    stage.output.line(stage.output.colours.bold(summary));
  }
  return {
    act,
    attempts,
    refunds: ledger.length,
    totalMinor,
    currency,
    summary,
    timeline: stage.moments,
    ledger,
    journal,
  };
}

/** The verdict is the ledger's alone: exact numbers and amounts. */
export function verdict(store: string, bare: ActReport, guarded: ActReport): DemoReport {
  const faults = [bare, guarded].flatMap((act) => {
    const wanted = act.act === "bare" ? attempts : 1;
    const right =
      act.ledger.length === wanted &&
      act.ledger.every(({ body }) => body["amountMinor"] === amountMinor);
    return right
      ? []
      : [
          `the ${act.act} ledger should hold exactly ${counted(wanted, "refund")} of ${money(amountMinor)}, but: ${act.summary}`,
        ];
  });
  const fault = faults.length === 0 ? null : faults.join("; ");
  return { ok: fault === null, fault, store, acts: [bare, guarded] };
}

function printPrologue(output: Output): void {
  if (output.json) return;
  output.text(
    `Ticket ${ticketId}: the customer of order ${orderId} says that the parcel arrived broken. ${money(amountMinor)} are to be refunded, once. ` +
      "The provider honours idempotency keys. The first answer gets lost, the second worker is killed, and the third one's agent thinks again.",
  );
}

function printHeading(output: Output, heading: string): void {
  if (output.json) return;
  output.line();
  output.line(output.colours.bold(heading));
  output.line();
}

function printLedger(output: Output, ledger: readonly LedgerRow[], startedAtMs: number): void {
  output.line();
  output.line("The provider's ledger:");
  output.line();
  output.table(
    [
      { head: "Refund" },
      { head: "Booked", align: "right" },
      { head: "Order" },
      { head: "Amount", align: "right" },
      { head: "Idempotency-Key", narrow: "shorten" },
    ],
    ledger.map(({ effectId, atMs, body, key }) => [
      effectId,
      `${((atMs - startedAtMs) / 1000).toFixed(2)} s`,
      typeof body["orderId"] === "string" ? body["orderId"] : "",
      money(Number(body["amountMinor"])),
      key ?? "",
    ]),
    2,
  );
}

function printJournal(output: Output, journal: readonly JournalLine[]): void {
  const events = journal.map(({ event }) => event.replace("operation.", ""));
  output.line();
  output.text(`NeverTwice's journal: ${events.join(" → ")}.`);
}
