/**
 * How an event of the inbox or the outbox is shown.
 *
 * @module
 */
import type { KeptMessage } from "../effects/rejected-message.ts";
import type { Column, Fact } from "./output.ts";
import { type StoredEvent, placeOf } from "./stored-events.ts";
import { isoTime, longTime } from "./times.ts";

export const eventColumns: readonly Column[] = [
  { head: "event", narrow: "wrap" },
  { head: "tenant", narrow: "shorten" },
  { head: "where", narrow: "wrap" },
  { head: "status" },
  { head: "since" },
  { head: "last error", narrow: "wrap" },
];

/** A row for {@link eventColumns}. */
export function eventRow(event: StoredEvent): readonly string[] {
  const { box, record } = event;
  const { id, tenant, error } = record;
  const where = box === "inbox" ? `inbox: ${record.consumer}` : "outbox";
  return [id, tenant, where, statusOf(event), longTime(sinceMs(event)), error ?? ""];
}

/** The facts of one event. */
export function eventFacts(event: StoredEvent): readonly Fact[] {
  const { record } = event;
  return [
    ["event", record.id],
    ["tenant", record.tenant],
    ["where", placeOf(event)],
    ["type", isRejected(event) ? "none: it is no event" : record.type],
    ["subject", record.subject],
    ["status", statusOf(event)],
    ["since", isoTime(sinceMs(event))],
    ["attempts", String(record.attempts)],
    ["due", record.status === "PENDING" ? isoTime(record.dueAtMs) : null],
    ["last error", record.error],
    ["discarded by", record.discardedBy],
    ["reason", record.discardReason],
    [arrivalOf(event), isoTime(arrivedAtMs(event))],
  ];
}

/** The event for `--json`, without what it says. */
export function eventJson(event: StoredEvent): Record<string, unknown> {
  const { box, record } = event;
  const { tenant, id, type, subject, attempts, error, discardedBy, discardReason } = record;
  return {
    box,
    tenant,
    ...(box === "inbox" ? { consumer: record.consumer, source: record.source } : {}),
    id,
    type: isRejected(event) ? null : type,
    subject,
    status: statusOf(event),
    since: isoTime(sinceMs(event)),
    attempts,
    error,
    dueAt: isoTime(record.dueAtMs),
    [box === "inbox" ? "receivedAt" : "createdAt"]: isoTime(arrivedAtMs(event)),
    settledAt: isoTime(record.settledAtMs),
    discardedBy,
    discardReason,
  };
}

/** What the event says; null once it is handled or given up. */
export function eventBody({ record }: StoredEvent): unknown {
  return record.event === null ? null : (JSON.parse(record.event) as unknown);
}

/** What is kept of a message that is no event. */
export function keptOf(event: StoredEvent): KeptMessage | null {
  if (event.box === "outbox" || event.record.raw === null) return null;
  return JSON.parse(event.record.raw) as KeptMessage;
}

/** True for a message that is no event: it can't be redriven. */
export function isRejected({ box, record }: StoredEvent): boolean {
  return box === "inbox" && record.type === "";
}

/** Its status, or DISCARDED. */
export function statusOf({ record }: StoredEvent): string {
  return record.discardedBy === null ? record.status : "DISCARDED";
}

/** Since when it is what it is. */
function sinceMs(event: StoredEvent): number {
  return event.record.settledAtMs ?? arrivedAtMs(event);
}

function arrivedAtMs({ box, record }: StoredEvent): number {
  return box === "inbox" ? record.receivedAtMs : record.createdAtMs;
}

function arrivalOf({ box }: StoredEvent): string {
  return box === "inbox" ? "received" : "written";
}
