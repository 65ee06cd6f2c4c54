/**
 * Events that go out, as CloudEvents 1.0 in their JSON format
 * (https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/formats/json-format.md).
 *
 * @module
 */
import { canonicalJson } from "../base/canonical-json.ts";
import { days } from "../base/duration.ts";
import { NeverTwiceError } from "../base/errors.ts";
import { checkedId } from "../intent/intent.ts";
import type { OutboxRecord, OutboxWriter } from "../ledger/events.ts";
import { type CloudEventJson, cloudEventText } from "./cloud-event.ts";

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
 * Writes the event, best in the transaction of what it tells of. The same event again stays as it was
 * first written.
 *
 * @throws {NeverTwiceError} EVENT_INVALID, EVENT_TOO_LARGE, and PAYLOAD_MISMATCH when another event has
 * that id; then nothing was written.
 */
export async function emit(outbox: OutboxWriter, event: OutgoingEvent): Promise<OutboxRecord> {
  const { tenant, id, type, subject } = event;
  const text = cloudEventText(event, maxEventBytes);
  const record = await outbox.emit({
    tenant: checkedId(tenant, "tenant"),
    id,
    type,
    subject: subject ?? null,
    event: text,
    retentionMs: days(45),
  });
  if (timeless(record.event) === timeless(text)) return record;
  throw new NeverTwiceError(
    "PAYLOAD_MISMATCH",
    `The id ${id} is already that of another event, of the type ${record.type}. Nothing was written. Another event needs another id.`,
    { details: { id, type: record.type } },
  );
}

/** What an event says, whenever it was written. */
function timeless(text: string): string {
  const { time: _, ...said } = JSON.parse(text) as CloudEventJson;
  return canonicalJson(said);
}
