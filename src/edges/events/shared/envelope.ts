/**
 * Events from a broker: CloudEvents in their JSON format, read with the official SDK.
 *
 * @module
 */
import { CloudEvent } from "cloudevents";
import { NeverTwiceError, errorText } from "../../../base/errors.ts";
import type { CloudEventJson } from "../../../effects/cloud-event.ts";
import type { Delivery, EventHandler, EventInbox, Received } from "../../../effects/inbox.ts";

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
    return new CloudEvent(read, true).toJSON() as CloudEventJson;
  } catch (error) {
    throw new NeverTwiceError(
      "EVENT_INVALID",
      `The message is no CloudEvent in JSON: ${errorText(error)}. Nothing was written.`,
      { cause: error },
    );
  }
}

/** Receives a message of a broker. */
export function receiveMessage<Driver>(
  options: ConsumerOptions<Driver>,
  text: string,
  headerTenant: string | undefined,
): Promise<Received<unknown>> {
  const { inbox, consumer, fact, handler } = options;
  const tenant = options.tenant ?? headerTenant;
  if (tenant === undefined) {
    throw new NeverTwiceError(
      "EVENT_INVALID",
      `The message names no tenant in its header ${tenantHeader}, and the consumer has none. Nothing was written.`,
    );
  }
  const { id, source, type, subject, data } = readCloudEvent(text);
  const delivery = { tenant, consumer, source, id, type, subject, data, fact };
  return inbox.receive(delivery, handler);
}
