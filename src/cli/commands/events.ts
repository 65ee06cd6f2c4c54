/**
 * `nevertwice events list|show`: events of the inbox and the outbox, the dead letters first of all.
 *
 * @module
 */
import { type Command, Option } from "commander";
import { type GlobalOptions, helpEnd, outputFor, parseCount } from "../command.ts";
import { eventBody, eventColumns, eventFacts, eventJson, eventRow, keptOf } from "../event-view.ts";
import { withStore } from "../open-store.ts";
import type { Output } from "../output.ts";
import {
  type Box,
  type EventFilter,
  type EventStatus,
  type StoredEvent,
  boxes,
  findEvent,
  formatEventCursor,
  parseEventCursor,
  readEvents,
} from "../stored-events.ts";
import { counted, printable, wrap } from "../text.ts";
import { addEventDecisions } from "./events-decide.ts";

interface ListOptions extends GlobalOptions {
  readonly tenant?: string;
  readonly box?: Box;
  readonly consumer?: string;
  readonly subject?: string;
  readonly status?: EventStatus;
  readonly all?: boolean;
  readonly limit: number;
  readonly after?: string;
}

interface ShowOptions extends GlobalOptions {
  readonly tenant: string;
  readonly box?: Box;
  readonly consumer?: string;
  readonly source?: string;
}

/** Adds the commands to `events`. */
export function addEvents(events: Command): void {
  events
    .command("list")
    .description("list dead letters: the inbox's, then the outbox's, each newest first")
    .option("--tenant <tenant>", "only this tenant")
    .addOption(new Option("--box <box>", "only events in, or events out").choices(boxes))
    .option("--consumer <name>", "only this consumer of the inbox")
    .option("--subject <subject>", "only events of this subject")
    .addOption(
      new Option("--status <status>", "events of this status in place of dead letters").choices([
        "PENDING",
        "DEAD",
        "DONE",
        "PUBLISHED",
      ]),
    )
    .addOption(new Option("--all", "events of every status").conflicts("status"))
    .option("--limit <count>", "how many at most", parseCount, 20)
    .option("--after <place>", "go on where the page before ended")
    .addHelpText(
      "after",
      helpEnd(["events list", "events list --consumer bookkeeping --status PENDING --json"]),
    )
    .action((_options: unknown, self: Command) => list(self));
  addEventPlace(events.command("show").description("show an event, and what it says"))
    .argument("<event>", "the event's id")
    .addHelpText("after", helpEnd(["events show evt_1Nv9 --tenant acme"]))
    .action((id: string, _options: unknown, self: Command) => show(id, self));
  addEventDecisions(events);
}

function addEventPlace(command: Command): Command {
  return command
    .requiredOption("--tenant <tenant>", "whose event it is")
    .addOption(new Option("--box <box>", "where it lies").choices(boxes))
    .option("--consumer <name>", "which consumer's")
    .option("--source <source>", "who made it");
}

async function list(command: Command): Promise<void> {
  const options = command.optsWithGlobals<ListOptions>();
  const output = outputFor(options);
  const { tenant, box, consumer, subject, limit } = options;
  const status = options.all === true ? undefined : (options.status ?? "DEAD");
  const filter: EventFilter = { tenant, box, consumer, subject, status };
  const after = options.after === undefined ? null : parseEventCursor(options.after);
  const { events, next } = await withStore(options, "ready", ({ store }) =>
    readEvents(store, filter, limit, after),
  );
  const place = next === null ? null : formatEventCursor(next);
  if (output.json) return output.document({ events: events.map(eventJson), next: place });
  if (events.length === 0) {
    return output.text(status === "DEAD" ? "There are no dead letters." : "No event matches.");
  }
  output.table(eventColumns, events.map(eventRow));
  output.line();
  const count = counted(events.length, "event");
  if (place === null) return output.line(output.colours.dim(`${count}; that is all.`));
  output.line(output.colours.dim(`${count}; for the next page add`));
  output.line(`--after ${place}`);
}

async function show(id: string, command: Command): Promise<void> {
  const options = command.optsWithGlobals<ShowOptions>();
  const output = outputFor(options);
  const { tenant, box, consumer, source } = options;
  const event = await withStore(options, "ready", ({ store }) =>
    findEvent(store, { id, tenant, box, consumer, source }),
  );
  if (output.json) {
    const said = { event: eventBody(event), message: keptOf(event) };
    return output.document({ event: { ...eventJson(event), ...said } });
  }
  output.facts(eventFacts(event));
  printBody(output, event);
}

function printBody(output: Output, event: StoredEvent): void {
  const kept = keptOf(event);
  if (kept !== null) {
    const { bytes, cut, encoding, body, properties } = kept;
    output.line();
    output.facts(Object.entries(properties));
    const part = cut ? "its beginning" : "all of it";
    output.text(`The message has ${counted(bytes, "byte")}; ${part} as ${encoding}:`);
    return output.text(printable(body));
  }
  const body = eventBody(event);
  if (body === null) return;
  output.line();
  for (const line of JSON.stringify(body, null, 2).split("\n")) {
    for (const part of wrap(printable(line), output.width)) output.line(part);
  }
}
