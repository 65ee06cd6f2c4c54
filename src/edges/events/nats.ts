/**
 * NATS JetStream, over `@nats-io/jetstream`: a target that waits for the stream's acknowledgement and
 * a consumer with explicit ones. The stream forgets message ids after its duplicate window
 * (https://docs.nats.io/using-nats/developer/develop_jetstream/model_deep_dive, 2 min by default), so
 * that the inbox is what counts.
 *
 * @module
 */
import type { Consumer, JetStreamClient, JsMsg } from "@nats-io/jetstream";
import { headers as createHeaders } from "@nats-io/transport-node";
import { spread } from "../../base/back-off.ts";
import { canonicalJson, sha256Hex } from "../../base/canonical-json.ts";
import { errorText } from "../../base/errors.ts";
import { pause, systemRuntime } from "../../base/runtime.ts";
import type { CloudEventJson } from "../../effects/cloud-event.ts";
import type { Publish, PublishContext } from "../../effects/relay.ts";
import {
  type BrokerMessage,
  type ConsumerOptions,
  cloudEventType,
  receiveMessage,
  tenantHeader,
  toldProperties,
} from "./shared/envelope.ts";

/** Options of {@link natsTarget}. */
export interface NatsTargetOptions {
  /** `jetstream(connection)`. */
  readonly jetstream: JetStreamClient;
  /** The NATS subject; a stream must take it. Default: the event's type. */
  readonly subject?: (event: CloudEventJson, context: PublishContext) => string;
  /** How long to wait for the stream, in milliseconds. Default 5 s. */
  readonly timeoutMs?: number;
}

/** Publishes with `Nats-Msg-Id`, made of tenant and id; resolves when the stream has stored it. */
export function natsTarget(options: NatsTargetOptions): Publish {
  const { jetstream, subject = ({ type }) => type, timeoutMs = 5000 } = options;
  return async (event, context) => {
    const headers = createHeaders();
    headers.set("content-type", cloudEventType);
    headers.set(tenantHeader, context.tenant);
    await jetstream.publish(subject(event, context), context.text, {
      // Ids are unique within a tenant, and the stream knows no tenants.
      msgID: sha256Hex(canonicalJson([context.tenant, event.id])),
      timeout: timeoutMs,
      headers,
    });
  };
}

/** Options of {@link consumeNats}. */
export interface NatsConsumerOptions<Driver> extends ConsumerOptions<Driver> {
  /**
   * A durable pull consumer with explicit acknowledgements and without `max_deliver`: the inbox
   * counts the failures.
   */
  readonly jetstreamConsumer: Consumer;
  /** How many messages at once. Default 10. */
  readonly prefetch?: number;
}

/**
 * Receives messages until the signal aborts, and then ends those under way. A message is
 * acknowledged after the commit; a failed one comes back after its pause. What is no event becomes a
 * dead letter of the inbox, and is acknowledged.
 */
export async function consumeNats<Driver>(options: NatsConsumerOptions<Driver>): Promise<void> {
  const { jetstreamConsumer, prefetch = 10, signal } = options;
  const underWay = new Set<Promise<void>>();
  while (!signal.aborted) {
    try {
      const messages = await jetstreamConsumer.consume({ max_messages: prefetch });
      const stop = (): void => messages.stop();
      signal.addEventListener("abort", stop, { once: true });
      if (signal.aborted) stop();
      for await (const message of messages) {
        const taking = takeMessage(options, message).finally(() => underWay.delete(taking));
        underWay.add(taking);
        if (underWay.size >= prefetch) await Promise.race(underWay);
      }
      signal.removeEventListener("abort", stop);
    } catch (error) {
      options.onWarning?.(`the stream is not consumed: ${errorText(error)}`);
    }
    await pause(systemRuntime, spread(systemRuntime, 1000), signal);
  }
  await Promise.all(underWay);
}

async function takeMessage<Driver>(
  options: NatsConsumerOptions<Driver>,
  message: JsMsg,
): Promise<void> {
  try {
    const received = await receiveMessage(options, brokerMessage(message));
    if (received.status !== "will-retry") {
      message.ack();
      return;
    }
    options.onWarning?.(`message ${message.seq} was not handled: ${received.error}`);
    message.nak(received.retryAfterMs);
  } catch (error) {
    options.onWarning?.(`message ${message.seq} was not received: ${errorText(error)}`);
    message.nak(1000);
  }
}

function brokerMessage({ headers, subject, data, info, seq }: JsMsg): BrokerMessage {
  // An absent header reads as "".
  const header = (name: string): string => headers?.get(name) ?? "";
  const tenant = header(tenantHeader);
  return {
    tenant: tenant === "" ? undefined : tenant,
    source: `nats:${info.stream}`,
    body: data,
    properties: toldProperties({
      subject,
      sequence: seq,
      messageId: header("Nats-Msg-Id"),
      contentType: header("content-type"),
      [tenantHeader]: tenant,
    }),
  };
}
