/** The ends of a broker, opened alike by tests and by the processes that they kill. */
import { jetstream } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import amqp from "amqplib";
import { consumeNats, natsTarget } from "../../src/edges/events/nats.ts";
import { consumeRabbitMq, rabbitMqTarget } from "../../src/edges/events/rabbitmq.ts";
import type { EventHandler, EventInbox, Publish } from "../../src/index.ts";
import { natsUrl, rabbitMqUrl } from "./brokers.ts";

/** Where a test's messages go: an exchange and a queue of one name, or a stream with a consumer. */
export interface Channel {
  readonly broker: "rabbitmq" | "nats";
  readonly name: string;
}

/** The durable consumer of a stream. */
export const durableName = "books";

export interface Consuming {
  readonly inbox: EventInbox;
  readonly handler: EventHandler<unknown>;
  readonly signal: AbortSignal;
}

/** A target, and how to close it. */
export async function openTarget({
  broker,
  name,
}: Channel): Promise<{ publish: Publish; close(): Promise<void> }> {
  if (broker === "rabbitmq") {
    const publish = rabbitMqTarget({ connect: () => amqp.connect(rabbitMqUrl), exchange: name });
    return { publish, close: () => publish.close() };
  }
  const connection = await connect({ servers: natsUrl });
  const publish = natsTarget({
    jetstream: jetstream(connection),
    subject: ({ type }) => `${name}.${type}`,
    timeoutMs: 60_000,
  });
  return { publish, close: () => connection.close() };
}

/** Consumes until the signal aborts. */
export async function consumeChannel(
  { broker, name }: Channel,
  consuming: Consuming,
): Promise<void> {
  const options = { ...consuming, consumer: "books" };
  if (broker === "rabbitmq") {
    await consumeRabbitMq({ ...options, connect: () => amqp.connect(rabbitMqUrl), queue: name });
    return;
  }
  const connection = await connect({ servers: natsUrl });
  const jetstreamConsumer = await jetstream(connection).consumers.get(name, durableName);
  await consumeNats({ ...options, jetstreamConsumer });
  await connection.close();
}
