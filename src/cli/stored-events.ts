/**
 * Events of the inbox and the outbox, a page at a time: first the inbox, then the outbox, each newest
 * first, with a cursor that loses none of those received in one and the same millisecond.
 *
 * @module
 */
import { canonicalJson, sha256Hex } from "../base/canonical-json.ts";
import type { InboxRecord, InboxStatus, OutboxRecord, OutboxStatus } from "../ledger/events.ts";
import type { EffectStore } from "../ledger/transaction.ts";
import { CliError } from "./exit-codes.ts";
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
  | { readonly box: "inbox"; readonly receivedAtMs: number; readonly digest: string }
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
    const rows = await readInbox(store, filter, limit + 1, after);
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
  return `inbox-${cursor.receivedAtMs}-${cursor.digest}`;
}

/**
 * Reads what {@link formatEventCursor} wrote.
 *
 * @throws {CliError} for anything else.
 */
export function parseEventCursor(text: string): EventCursor {
  const [, position] = /^outbox-(\d+)$/.exec(text) ?? [];
  if (position !== undefined) return { box: "outbox", position: Number(position) };
  const [, receivedAtMs, digest] = /^inbox-(\d+)-([0-9a-f]{16})$/.exec(text) ?? [];
  if (receivedAtMs !== undefined && digest !== undefined) {
    return { box: "inbox", receivedAtMs: Number(receivedAtMs), digest };
  }
  throw new CliError("USAGE", `"${text}" is no place to go on from: copy it from the page before.`);
}

function mayLieIn(box: Box, { box: asked, consumer, source, status }: EventFilter): boolean {
  if (asked !== undefined && asked !== box) return false;
  if (box === "inbox") return status !== "PUBLISHED";
  return consumer === undefined && source === undefined && status !== "DONE";
}

async function readInbox(
  store: EffectStore,
  filter: EventFilter,
  limit: number,
  after: Extract<EventCursor, { box: "inbox" }> | null,
): Promise<readonly InboxRecord[]> {
  // The store pages by time alone, so those of the cursor's millisecond are read again and skipped.
  const beforeReceivedAtMs = after === null ? null : after.receivedAtMs + 1;
  const { tenant = null, consumer = null, subject = null, id = null } = filter;
  const status = (filter.status as InboxStatus | undefined) ?? null;
  const asked = { tenant, consumer, subject, id, status, beforeReceivedAtMs };
  for (let take = limit + 1; ; take *= 2) {
    const rows = await store.inbox.list({ ...asked, limit: take });
    const all = rows.length < take;
    // Of the last millisecond there may be more; without all of them they have no order.
    const lastMs = all ? null : rows.at(-1)?.receivedAtMs;
    const known = rows
      .filter(({ receivedAtMs }) => receivedAtMs !== lastMs)
      .filter(({ source }) => filter.source === undefined || source === filter.source)
      .map((record) => ({ record, digest: digestOf(record) }))
      .filter((each) => after === null || isAfter(each, after))
      .toSorted(
        (a, b) => b.record.receivedAtMs - a.record.receivedAtMs || (a.digest < b.digest ? -1 : 1),
      );
    if (all || known.length >= limit) return known.slice(0, limit).map(({ record }) => record);
  }
}

function isAfter(
  { record, digest }: { readonly record: InboxRecord; readonly digest: string },
  after: Extract<EventCursor, { box: "inbox" }>,
): boolean {
  return record.receivedAtMs < after.receivedAtMs || digest > after.digest;
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
  if (box === "outbox") return { box, position: record.position };
  return { box, receivedAtMs: record.receivedAtMs, digest: digestOf(record) };
}

function digestOf({ tenant, consumer, source, id }: InboxRecord): string {
  return sha256Hex(canonicalJson([tenant, consumer, source, id])).slice(0, 16);
}
