/**
 * Events of the inbox and the outbox, a page at a time: first the inbox, then the outbox, each newest
 * first.
 *
 * @module
 */
import type {
  InboxPlace,
  InboxRecord,
  InboxStatus,
  OutboxRecord,
  OutboxStatus,
} from "../ledger/events.ts";
import type { EffectStore } from "../ledger/transaction.ts";
import { CliError } from "./exit-codes.ts";
import { formatPlace, parsePlace } from "./paging.ts";
import { counted } from "./text.ts";

export const boxes = ["inbox", "outbox"] as const;
export type Box = (typeof boxes)[number];
export type EventStatus = InboxStatus | OutboxStatus;

/** An event, and where it lies. */
export type StoredEvent =
  | { readonly box: "inbox"; readonly record: InboxRecord }
  | { readonly box: "outbox"; readonly record: OutboxRecord };

/** Which events. A part that is absent doesn't restrict. */
export interface EventFilter {
  readonly box?: Box | undefined;
  readonly tenant?: string | undefined;
  /** Only of the inbox, for the outbox knows no consumers. */
  readonly consumer?: string | undefined;
  readonly source?: string | undefined;
  readonly subject?: string | undefined;
  readonly id?: string | undefined;
  readonly status?: EventStatus | undefined;
}

/** Where a page ended. */
export type EventCursor =
  | { readonly box: "inbox"; readonly place: InboxPlace }
  | { readonly box: "outbox"; readonly position: number };

export interface EventPage {
  readonly events: readonly StoredEvent[];
  readonly next: EventCursor | null;
}

/** Reads a page after the cursor. */
export async function readEvents(
  store: EffectStore,
  filter: EventFilter,
  limit: number,
  after: EventCursor | null,
): Promise<EventPage> {
  const events: StoredEvent[] = [];
  if (mayLieIn("inbox", filter) && after?.box !== "outbox") {
    const rows = await readInbox(store, filter, limit + 1, after?.place ?? null);
    events.push(...rows.map((record) => ({ box: "inbox", record }) as const));
  }
  const room = limit + 1 - events.length;
  if (mayLieIn("outbox", filter) && room > 0) {
    const position = after?.box === "outbox" ? after.position : null;
    const rows = await readOutbox(store, filter, room, position);
    events.push(...rows.map((record) => ({ box: "outbox", record }) as const));
  }
  const page = events.slice(0, limit);
  const last = page.at(-1);
  return { events: page, next: events.length > limit && last ? cursorOf(last) : null };
}

/** All of them, oldest first within a box: the order in which a subject's events have to leave. */
export async function readAllEvents(
  store: EffectStore,
  filter: EventFilter,
): Promise<readonly StoredEvent[]> {
  const found: StoredEvent[] = [];
  let after: EventCursor | null = null;
  do {
    const page: EventPage = await readEvents(store, filter, 500, after);
    found.push(...page.events);
    after = page.next;
  } while (after !== null);
  return found.toReversed();
}

/**
 * Finds the one event.
 *
 * @throws {CliError} EVENT_NOT_FOUND, EVENT_AMBIGUOUS.
 */
export async function findEvent(
  store: EffectStore,
  filter: EventFilter & { readonly id: string; readonly tenant: string },
): Promise<StoredEvent> {
  const { id, tenant } = filter;
  const [event, ...others] = await readAllEvents(store, filter);
  if (event === undefined) {
    throw new CliError(
      "EVENT_NOT_FOUND",
      `No event ${id} is stored for tenant ${tenant} that fits. See \`nevertwice events list --all\`.`,
    );
  }
  if (others.length === 0) return event;
  const places = [event, ...others].slice(0, 5).map(placeOf).join(", ");
  throw new CliError(
    "EVENT_AMBIGUOUS",
    `${counted(others.length + 1, "event")} of tenant ${tenant} have the id ${id}: ${places}. Name one with --box, --consumer or --source.`,
  );
}

/** `inbox of bookkeeping, from shop`, `outbox`. */
export function placeOf({ box, record }: StoredEvent): string {
  return box === "outbox" ? "outbox" : `inbox of ${record.consumer}, from ${record.source}`;
}

/** The cursor as text, for `--after`. */
export function formatEventCursor(cursor: EventCursor): string {
  if (cursor.box === "outbox") return `outbox-${cursor.position}`;
  const { receivedAtMs, tenant, consumer, source, id } = cursor.place;
  return `inbox-${formatPlace([receivedAtMs, tenant, consumer, source, id])}`;
}

/**
 * Reads what {@link formatEventCursor} wrote.
 *
 * @throws {CliError} USAGE for anything else.
 */
export function parseEventCursor(text: string): EventCursor {
  const [, position] = /^outbox-(\d+)$/.exec(text) ?? [];
  if (position !== undefined) return { box: "outbox", position: Number(position) };
  const place = parsePlace(text.replace(/^inbox-/, ""), 4);
  const [receivedAtMs, tenant = "", consumer = "", source = "", id = ""] = place;
  return { box: "inbox", place: { receivedAtMs, tenant, consumer, source, id } };
}

function mayLieIn(box: Box, { box: asked, consumer, source, status }: EventFilter): boolean {
  if (asked !== undefined && asked !== box) return false;
  if (box === "inbox") return status !== "PUBLISHED";
  return consumer === undefined && source === undefined && status !== "DONE";
}

function readInbox(
  store: EffectStore,
  filter: EventFilter,
  limit: number,
  after: InboxPlace | null,
): Promise<readonly InboxRecord[]> {
  const { tenant = null, consumer = null, source = null, subject = null, id = null } = filter;
  const status = (filter.status as InboxStatus | undefined) ?? null;
  return store.inbox.list({ tenant, consumer, source, subject, id, status, after, limit });
}

function readOutbox(
  store: EffectStore,
  filter: EventFilter,
  limit: number,
  beforePosition: number | null,
): Promise<readonly OutboxRecord[]> {
  const { tenant = null, subject = null, id = null } = filter;
  const status = (filter.status as OutboxStatus | undefined) ?? null;
  return store.outbox.list({ tenant, subject, id, status, beforePosition, limit });
}

function cursorOf({ box, record }: StoredEvent): EventCursor {
  return box === "outbox" ? { box, position: record.position } : { box, place: record };
}
