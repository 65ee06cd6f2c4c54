/**
 * `nevertwice events redrive|discard`: what a person decides about dead letters, one at a time or all
 * of a consumer or a subject.
 *
 * @module
 */
import { type Command, Option } from "commander";
import { checkedDiscard } from "../../effects/discard.ts";
import type { InboxRecord, OutboxRecord } from "../../ledger/events.ts";
import type { EffectStore } from "../../ledger/transaction.ts";
import { type GlobalOptions, helpEnd, outputFor } from "../command.ts";
import { eventJson, isRejected, statusOf } from "../event-view.ts";
import { CliError } from "../exit-codes.ts";
import { withStore } from "../open-store.ts";
import {
  type Box,
  type EventFilter,
  type StoredEvent,
  boxes,
  findEvent,
  placeOf,
  readAllEvents,
} from "../stored-events.ts";
import { counted } from "../text.ts";

interface DecideOptions extends GlobalOptions {
  readonly tenant?: string;
  readonly box?: Box;
  readonly consumer?: string;
  readonly source?: string;
  readonly subject?: string;
  readonly all?: boolean;
}

interface DiscardOptions extends DecideOptions {
  readonly by: string;
  readonly reason: string;
}

/** Does it to one event; undefined when the event isn't, or is no longer, what it takes. */
type Act = (store: EffectStore, event: StoredEvent) => Promise<StoredEvent | undefined>;

/** Adds the commands to `events`. */
export function addEventDecisions(events: Command): void {
  addChoice(events.command("redrive"))
    .description("let dead letters be handled or published again, as if for the first time")
    .addHelpText(
      "after",
      helpEnd(["events redrive evt_1Nv9 --tenant acme", "events redrive --all --consumer books"]),
    )
    .action((id: string | undefined, _options: unknown, self: Command) => redriveChosen(id, self));
  addChoice(events.command("discard"))
    .description("give dead letters up for good; who and why is kept with them")
    .requiredOption("--by <name>", "who gives them up")
    .requiredOption("--reason <text>", "why")
    .addHelpText(
      "after",
      helpEnd(['events discard evt_1Nv9 --tenant acme --by "Ann Lee" --reason "booked by hand"']),
    )
    .action((id: string | undefined, _options: unknown, self: Command) => discardChosen(id, self));
}

function addChoice(command: Command): Command {
  return command
    .argument("[event]", "the event's id")
    .option("--tenant <tenant>", "whose event it is; needed for one")
    .addOption(new Option("--box <box>", "only events in, or events out").choices(boxes))
    .option("--consumer <name>", "only this consumer's of the inbox")
    .option("--source <source>", "only those that this source made")
    .option("--subject <subject>", "only those of this subject")
    .option("--all", "all dead letters of a consumer or a subject");
}

async function redriveChosen(id: string | undefined, command: Command): Promise<void> {
  const options = command.optsWithGlobals<DecideOptions>();
  const output = outputFor(options);
  const { done, left } = await decide(id, options, redrive);
  if (output.json) {
    return output.document({ redriven: done.map(eventJson), left: left.map(eventJson) });
  }
  output.text(
    `${counted(done.length, "event")} redriven: \`keepRetrying\` of the consumer handles what came in, the relay publishes what goes out.`,
  );
  if (left.length > 0) {
    output.text(
      `${counted(left.length, "dead letter")} stayed: a message that is no event can only be looked at and discarded.`,
    );
  }
}

async function discardChosen(id: string | undefined, command: Command): Promise<void> {
  const options = command.optsWithGlobals<DiscardOptions>();
  const output = outputFor(options);
  const discard = checkedDiscard(options);
  const { done, left } = await decide(id, options, async (store, event) =>
    event.box === "inbox"
      ? inInbox(await store.inbox.discard({ ...event.record, ...discard }))
      : inOutbox(await store.outbox.discard({ ...event.record, ...discard })),
  );
  if (output.json) {
    return output.document({ discarded: done.map(eventJson), left: left.map(eventJson) });
  }
  output.text(`Recorded: ${counted(done.length, "event")} discarded, by ${discard.by}.`);
}

const redrive: Act = async (store, event) =>
  event.box === "inbox"
    ? inInbox(await store.inbox.redrive(event.record))
    : inOutbox(await store.outbox.redrive(event.record));

function inInbox(record: InboxRecord | undefined): StoredEvent | undefined {
  return record && { box: "inbox", record };
}

function inOutbox(record: OutboxRecord | undefined): StoredEvent | undefined {
  return record && { box: "outbox", record };
}

interface Decided {
  readonly done: readonly StoredEvent[];
  /** What it was asked for and could not be done to. */
  readonly left: readonly StoredEvent[];
}

async function decide(id: string | undefined, options: DecideOptions, act: Act): Promise<Decided> {
  const { tenant, box, consumer, source, subject } = options;
  const filter: EventFilter = { tenant, box, consumer, source, subject };
  checkChoice(id, options);
  return withStore(options, "ready", async ({ store }) => {
    if (id !== undefined && tenant !== undefined) {
      const event = await findEvent(store, { ...filter, id, tenant });
      const after = await act(store, event);
      if (after === undefined) throw refused(event);
      return { done: [after], left: [] };
    }
    const done: StoredEvent[] = [];
    const left: StoredEvent[] = [];
    for (const event of await readAllEvents(store, { ...filter, status: "DEAD" })) {
      const after = await act(store, event);
      if (after === undefined) left.push(event);
      else done.push(after);
    }
    return { done, left };
  });
}

function checkChoice(id: string | undefined, options: DecideOptions): void {
  const { tenant, all, consumer, subject } = options;
  const wrong = (text: string): CliError => new CliError("USAGE", `${text} Nothing was changed.`);
  if (id === undefined && all !== true) throw wrong("Name an event, or add --all.");
  if (id !== undefined && all === true) throw wrong("Name an event or --all, not both.");
  if (id !== undefined && tenant === undefined)
    throw wrong("Add --tenant: ids are a tenant's own.");
  if (all === true && consumer === undefined && subject === undefined) {
    throw wrong("--all needs a --consumer or a --subject.");
  }
}

function refused(event: StoredEvent): CliError {
  const { id } = event.record;
  if (isRejected(event) && event.record.status === "DEAD") {
    return new CliError(
      "EVENT_UNREADABLE",
      `The message ${id} is no event, so nothing can handle it: let its producer send it again, or discard it. Nothing was changed.`,
    );
  }
  return new CliError(
    "EVENT_NOT_DEAD",
    `The event ${id} (${placeOf(event)}) is ${statusOf(event)}, and no dead letter. Nothing was changed.`,
  );
}
