/**
 * Events that go out, as CloudEvents 1.0 in their JSON format
 * (https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/formats/json-format.md).
 *
 * @module
 */
import { canonicalJson } from "../base/canonical-json.ts";
import { days } from "../base/duration.ts";
import { NeverTwiceError, isNeverTwiceError } from "../base/errors.ts";
import { checkedId } from "../intent/intent.ts";
import type { OutboxRecord, OutboxWriter } from "../ledger/events.ts";

/** An event to write to the outbox. */
export interface OutgoingEvent {
  readonly tenant: string;
  /** Stable: consumers know a second delivery by it. */
  readonly id: string;
  /** Where it comes from, a URI reference. */
  readonly source: string;
  readonly type: string;
  /** Events of one subject are published in their order. */
  readonly subject?: string | undefined;
  /** Plain JSON. */
  readonly data?: unknown;
  /** The database's time, in milliseconds since 1970. */
  readonly atMs?: number | undefined;
}

/** The largest event, as JSON, in bytes: what brokers and webhooks carry without extra settings. */
export const maxEventBytes = 256 * 1024;

/**
 * Writes the event, best in the transaction of what it tells of; an id that is there already stays
 * as it is.
 *
 * @throws {NeverTwiceError} EVENT_INVALID, EVENT_TOO_LARGE; then nothing was written.
 */
export async function emit(outbox: OutboxWriter, event: OutgoingEvent): Promise<OutboxRecord> {
  const { tenant, id, source, type, subject, data, atMs } = event;
  const text = eventText({
    specversion: "1.0",
    id: checkedPart(id, "id"),
    source: checkedPart(source, "source"),
    type: checkedPart(type, "type"),
    ...(subject === undefined ? {} : { subject: checkedPart(subject, "subject") }),
    ...(atMs === undefined ? {} : { time: new Date(atMs).toISOString() }),
    ...(data === undefined ? {} : { datacontenttype: "application/json", data }),
  });
  return outbox.emit({
    tenant: checkedId(tenant, "tenant"),
    id,
    type,
    subject: subject ?? null,
    event: text,
    retentionMs: days(45),
  });
}

function eventText(event: Readonly<Record<string, unknown>>): string {
  const text = plainText(event);
  const bytes = Buffer.byteLength(text);
  if (bytes <= maxEventBytes) return text;
  throw new NeverTwiceError(
    "EVENT_TOO_LARGE",
    `The event ${String(event["id"])} has ${bytes} bytes, and the limit is ${maxEventBytes}: send a reference to its data. It was not written.`,
    { details: { bytes, maxEventBytes } },
  );
}

function plainText(event: Readonly<Record<string, unknown>>): string {
  try {
    return canonicalJson(event);
  } catch (error) {
    if (!isNeverTwiceError(error, "UNSUPPORTED_ARGUMENT")) throw error;
    throw invalid(String(error.details["path"]), String(error.details["reason"]));
  }
}

function checkedPart(value: unknown, part: string): string {
  if (typeof value === "string" && value.trim() !== "" && value.isWellFormed()) return value;
  throw invalid(`\`${part}\``, value === "" ? "empty" : `${typeof value}, or blank`);
}

function invalid(part: string, reason: string): NeverTwiceError {
  return new NeverTwiceError(
    "EVENT_INVALID",
    `The event can't be written: ${part} is ${reason}. Nothing was written.`,
    { details: { part, reason } },
  );
}
