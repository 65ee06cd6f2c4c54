/**
 * RabbitMQ, over `amqplib`: a target with publisher confirms
 * (https://www.rabbitmq.com/docs/confirms) and a consumer with manual acknowledgements.
 *
 * @module
 */
import type { Channel, ChannelModel, ConfirmChannel, ConsumeMessage } from "amqplib";
import { backOffMs, spread } from "../../base/back-off.ts";
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

/** Opens a connection: `() => amqp.connect(url)`. Called again after one is lost. */
export type Connect = () => Promise<ChannelModel>;

/** Options of {@link rabbitMqTarget}. */
export interface RabbitMqTargetOptions {
  readonly connect: Connect;
  /** The exchange's name; `""` for the default one, whose routing key is a queue. */
  readonly exchange: string;
  /** Default: the event's type. */
  readonly routingKey?: (event: CloudEventJson, context: PublishContext) => string;
}

/** A target that can be closed. */
export type RabbitMqTarget = Publish & { close(): Promise<void> };

const publishHeader = "nevertwice-publish";

/**
 * Publishes persistent, mandatory messages. It resolves when the broker has confirmed the message,
 * and rejects when it was refused, or when no queue takes it.
 */
export function rabbitMqTarget(options: RabbitMqTargetOptions): RabbitMqTarget {
  const { exchange, routingKey = ({ type }) => type } = options;
  const returned = new Set<string>();
  let opened: Promise<{ connection: ChannelModel; channel: ConfirmChannel }> | undefined;
  let count = 0;
  const connect = async () => {
    const connection = await options.connect();
    // Listened to, or the process would end; what was unconfirmed rejects by itself.
    connection.on("error", () => {});
    const channel = await connection.createConfirmChannel();
    channel.on("error", () => {});
    channel.on("close", () => {
      opened = undefined;
      connection.close().catch(() => {});
    });
    channel.on("return", ({ properties }) => {
      returned.add(String(properties.headers?.[publishHeader]));
    });
    return { connection, channel };
  };
  const publish: Publish = async (event, context) => {
    opened ??= connect().catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    const { channel } = await opened;
    const number = String((count += 1));
    const properties = {
      mandatory: true,
      persistent: true,
      messageId: event.id,
      type: event.type,
      contentType: cloudEventType,
      headers: { [tenantHeader]: context.tenant, [publishHeader]: number },
    };
    const key = routingKey(event, context);
    await new Promise<void>((resolve, reject) => {
      channel.publish(exchange, key, Buffer.from(context.text), properties, (error: unknown) => {
        if (error === null || error === undefined) resolve();
        else reject(error instanceof Error ? error : new Error("the broker refused the message"));
      });
    });
    // The broker returns a message before it confirms it.
    if (returned.delete(number)) throw new Error(`no queue takes messages of ${exchange} ${key}`);
  };
  const close = async (): Promise<void> => {
    const open = await opened?.catch(() => undefined);
    await open?.connection.close();
  };
  return Object.assign(publish, { close });
}

/** Options of {@link consumeRabbitMq}. */
export interface RabbitMqConsumerOptions<Driver> extends ConsumerOptions<Driver> {
  readonly connect: Connect;
  /** It must exist. */
  readonly queue: string;
  /** How many messages at once. Default 10. */
  readonly prefetch?: number;
}

/**
 * Receives messages until the signal aborts, and then ends those under way. A message is
 * acknowledged after the commit. A failed one goes back to the queue after its pause, so a message
 * that waits takes a place of `prefetch`. What is no event becomes a dead letter of the inbox, and is
 * acknowledged. Connects again when the connection is lost.
 */
export async function consumeRabbitMq<Driver>(
  options: RabbitMqConsumerOptions<Driver>,
): Promise<void> {
  const { signal } = options;
  for (let failures = 0; !signal.aborted; failures += 1) {
    try {
      await consumeOnce(options, () => (failures = 0));
    } catch (error) {
      options.onWarning?.(`the queue ${options.queue} is not consumed: ${errorText(error)}`);
    }
    const restMs = backOffMs({ firstMs: 250, lastMs: 30_000 }, failures + 1);
    await pause(systemRuntime, spread(systemRuntime, restMs), signal);
  }
}

async function consumeOnce<Driver>(
  options: RabbitMqConsumerOptions<Driver>,
  consuming: () => void,
): Promise<void> {
  const { queue, prefetch = 10, signal } = options;
  const connection = await options.connect();
  connection.on("error", (error: Error) =>
    options.onWarning?.(`the connection to RabbitMQ broke: ${error.message}`),
  );
  const channel = await connection.createChannel();
  const underWay = new Set<Promise<void>>();
  const ended = new Promise<void>((resolve) => {
    channel.on("close", resolve);
    connection.on("close", () => resolve());
    // The queue was deleted, or its node stopped.
    channel.on("cancel", () => resolve());
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  channel.on("error", (error: Error) =>
    options.onWarning?.(`the channel of the queue ${queue} broke: ${error.message}`),
  );
  const take = (message: ConsumeMessage | null): void => {
    if (message === null) {
      channel.close().catch(() => {});
      return;
    }
    const taking = takeMessage(options, channel, message).finally(() => underWay.delete(taking));
    underWay.add(taking);
  };
  try {
    await channel.prefetch(prefetch);
    const { consumerTag } = await channel.consume(queue, take, { noAck: false });
    consuming();
    await ended;
    // What the broker hands out no more leaves room to end what it did hand out.
    await channel.cancel(consumerTag).catch(() => {});
    await Promise.all(underWay);
  } finally {
    // Unacknowledged messages go back to the queue.
    await connection.close().catch(() => {});
  }
}

async function takeMessage<Driver>(
  options: RabbitMqConsumerOptions<Driver>,
  channel: Channel,
  message: ConsumeMessage,
): Promise<void> {
  // On a channel that is closed by now these throw; the broker has the message back already.
  const answer = (act: () => void): void => {
    try {
      act();
    } catch (error) {
      options.onWarning?.(`a message could not be answered: ${errorText(error)}`);
    }
  };
  const name = String(message.properties.messageId);
  try {
    const received = await receiveMessage(options, brokerMessage(options.queue, message));
    if (received.status !== "will-retry") return answer(() => channel.ack(message));
    options.onWarning?.(`event ${name} was not handled: ${received.error}`);
    // RabbitMQ gives a message back at once; the pause is ours.
    await pause(systemRuntime, received.retryAfterMs, options.signal);
  } catch (error) {
    options.onWarning?.(`event ${name} was not received: ${errorText(error)}`);
    await pause(systemRuntime, spread(systemRuntime, 1000), options.signal);
  }
  answer(() => channel.nack(message, false, true));
}

function brokerMessage(
  queue: string,
  { content, fields, properties }: ConsumeMessage,
): BrokerMessage {
  const { messageId, type, appId, contentType, contentEncoding, timestamp } = properties;
  const tenant: unknown = properties.headers?.[tenantHeader];
  const told: Record<string, unknown> = {
    exchange: fields.exchange,
    routingKey: fields.routingKey,
    messageId,
    type,
    appId,
    contentType,
    contentEncoding,
    timestamp,
    [tenantHeader]: tenant,
  };
  return {
    tenant: typeof tenant === "string" ? tenant : undefined,
    source: `rabbitmq:${queue}`,
    body: content,
    properties: toldProperties(told),
  };
}
