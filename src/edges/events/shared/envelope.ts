/**
 * Events from a broker: CloudEvents in their JSON format, read with the official SDK.
 *
 * @module
 */
import { isUtf8 } from "node:buffer";
import { CloudEvent } from "cloudevents";
import { NeverTwiceError, errorText, isNeverTwiceError } from "../../../base/errors.ts";
import type { CloudEventJson } from "../../../effects/cloud-event.ts";
import type { Delivery, EventHandler, EventInbox, Received } from "../../../effects/inbox.ts";
import type { RejectedMessage } from "../../../effects/rejected-message.ts";

/** The content type of a CloudEvent in JSON. */
export const cloudEventType = "application/cloudevents+json";
/** The header that carries an event's tenant, set by our targets. */
export const tenantHeader = "nevertwice-tenant";

/** Options that every consumer has. */
export interface ConsumerOptions<Driver> {
  readonly inbox: EventInbox<Driver>;
  /** The consumer's name in the inbox: keep it for ever. */
  readonly consumer: string;
  /** Whose events these are; default: what the header `nevertwice-tenant` says. */
  readonly tenant?: string;
  readonly fact?: Delivery["fact"];
  readonly handler: EventHandler<Driver>;
  readonly signal: AbortSignal;
  onWarning?(message: string): void;
}

/**
 * Reads an event.
 *
 * @throws {NeverTwiceError} EVENT_INVALID.
 */
export function readCloudEvent(text: string): CloudEventJson {
  try {
    // The SDK checks the attributes and gives defaults to what lacks; an id must not be made up.
    const read = JSON.parse(text) as CloudEventJson;
    if (typeof read.id !== "string") throw new Error("it has no id");
    if (read["data_base64"] !== undefined) throw new Error("its data is binary, and ours is JSON");
    return new CloudEvent(read, true).toJSON() as CloudEventJson;
  } catch (error) {
    throw new NeverTwiceError(
      "EVENT_INVALID",
      `The message is no CloudEvent in JSON: ${errorText(error)}. Nothing was written.`,
      { cause: error },
    );
  }
}

/** A message of a broker. */
export type BrokerMessage = Pick<RejectedMessage, "source" | "body" | "properties"> & {
  /** What its header says. */
  readonly tenant: string | undefined;
};

/** Errors before anything is recorded: the message is no event, and never will be. */
const noEvent = new Set<string>(["EVENT_INVALID", "EVENT_TOO_LARGE", "INTENT_INVALID"]);

/**
 * Receives a message of a broker. One that is no event becomes a dead letter of the inbox, so that
 * nothing is acknowledged that wasn't stored.
 */
export async function receiveMessage<Driver>(
  options: ConsumerOptions<Driver>,
  message: BrokerMessage,
): Promise<Received<unknown>> {
  const { inbox, consumer, handler } = options;
  const tenant = options.tenant ?? message.tenant;
  try {
    return await inbox.receive(deliveryOf(options, message, tenant), handler);
  } catch (error) {
    if (!isNeverTwiceError(error) || !noEvent.has(error.code)) throw error;
    const kept = await inbox.reject({ ...message, tenant, consumer, error });
    options.onWarning?.(`a message is a dead letter, ${kept.id}: ${errorText(error)}`);
    return { status: "dead", error: kept.error };
  }
}

function deliveryOf<Driver>(
  { consumer, fact }: ConsumerOptions<Driver>,
  { body }: BrokerMessage,
  tenant: string | undefined,
): Delivery {
  if (tenant === undefined) {
    throw new NeverTwiceError(
      "EVENT_INVALID",
      `The message names no tenant in its header ${tenantHeader}, and the consumer has none.`,
    );
  }
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (!isUtf8(bytes)) throw new NeverTwiceError("EVENT_INVALID", "The message is no UTF-8.");
  const { id, source, type, subject, data } = readCloudEvent(bytes.toString("utf8"));
  return { tenant, consumer, source, id, type, subject, data, fact };
}

/** Those that the broker tells, as text. */
export function toldProperties(told: Readonly<Record<string, unknown>>): Record<string, string> {
  const known = Object.entries(told).filter(
    ([, value]) => (typeof value === "string" && value !== "") || typeof value === "number",
  );
  return Object.fromEntries(known.map(([name, value]) => [name, String(value)]));
}
