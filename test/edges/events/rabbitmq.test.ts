/**
 * A real RabbitMQ between outbox and inbox: what nobody took isn't published, what wasn't committed
 * isn't acknowledged, and a message that comes twice has one effect.
 */
import amqp from "amqplib";
import { describe, expect, it, onTestFinished } from "vitest";
import { consumeRabbitMq, rabbitMqTarget } from "../../../src/edges/events/rabbitmq.ts";
import { createRelay } from "../../../src/index.ts";
import { bookings } from "../../support/bookings.ts";
import { brokerIsThere, rabbitMqUrl } from "../../support/brokers.ts";
import { type EventWorld, createEventWorld, uniqueName } from "../../support/event-world.ts";
import { type StoreSuite, describeStores } from "../../support/stores.ts";

const connect = () => amqp.connect(rabbitMqUrl);

async function setUp(suite: StoreSuite, options: { failures?: number } = {}) {
  const world = await createEventWorld(suite, options);
  const connection = await connect();
  const channel = await connection.createChannel();
  const queue = uniqueName("orders");
  const dead = `${queue}-dead`;
  await channel.assertQueue(dead);
  await channel.assertQueue(queue, { deadLetterExchange: "", deadLetterRoutingKey: dead });
  const target = rabbitMqTarget({ connect, exchange: "", routingKey: () => queue });
  const relay = createRelay({
    store: world.opened.store,
    publish: target,
    retryAfterMs: 1,
    onWarning: world.onWarning,
  });
  onTestFinished(async () => {
    await target.close();
    await channel.deleteQueue(queue);
    await channel.deleteQueue(dead);
    await connection.close();
  });
  const left = async (name = queue) => (await channel.checkQueue(name)).messageCount;
  return { world, channel, queue, dead, target, relay, left };
}

function consume(world: EventWorld, queue: string): void {
  const { inbox, handler, signal, onWarning } = world;
  const options = { connect, queue, inbox, consumer: "books", handler, signal, onWarning };
  world.start(consumeRabbitMq(options));
}

describe.skipIf(!(await brokerIsThere("RabbitMQ", rabbitMqUrl)))("with RabbitMQ", () => {
  describeStores("outbox to inbox", (suite) => {
    it("an event that is delivered three times has one effect", async () => {
      const { world, channel, queue, relay, left } = await setUp(suite);
      await world.write("e1", "8812");
      expect(await relay.publishOnce()).toBe(1);
      const message = await channel.get(queue);
      if (message === false) throw new Error("nothing was published");
      const { messageId, contentType, deliveryMode } = message.properties;
      expect([messageId, contentType, deliveryMode]).toEqual([
        "e1",
        "application/cloudevents+json",
        2,
      ]);
      for (let copy = 0; copy < 2; copy += 1) {
        channel.sendToQueue(queue, message.content, { headers: message.properties.headers });
      }
      channel.nack(message);
      consume(world, queue);
      consume(world, queue);
      await expect.poll(() => left()).toBe(0);
      await expect.poll(() => bookings(world.opened)).toEqual(["e1"]);
      await expect.poll(() => world.runs()).toBe(1);
    });

    it("an event whose handler throws comes back, and is handled", async () => {
      const { world, queue, relay, left } = await setUp(suite, { failures: 2 });
      await world.write("e1");
      await relay.publishOnce();
      consume(world, queue);
      await expect.poll(() => bookings(world.opened)).toEqual(["e1"]);
      await expect.poll(() => left()).toBe(0);
      expect(world.runs()).toBe(3);
    });

    it("a poisonous event is kept as a dead letter and acknowledged; redriven it is handled", async () => {
      const { world, queue, relay, left } = await setUp(suite, { failures: 3 });
      const { inbox, handler } = world;
      await world.write("e1");
      await relay.publishOnce();
      consume(world, queue);
      const id = { tenant: "acme", consumer: "books", source: "shop", id: "e1" };
      const status = async () =>
        (await world.opened.store.inbox.read({ ...id, fact: null }))?.status;
      await expect.poll(status).toBe("DEAD");
      await expect.poll(() => left()).toBe(0);
      expect(await bookings(world.opened)).toEqual([]);
      await inbox.redrive(id);
      expect(await inbox.retryDue({ consumer: "books", handler })).toBe(1);
      expect(await bookings(world.opened)).toEqual(["e1"]);
    });

    it("what is no event goes to the dead-letter exchange, and the next one is handled", async () => {
      const { world, channel, queue, dead, relay, left } = await setUp(suite);
      channel.sendToQueue(queue, Buffer.from("hello"), {
        headers: { "nevertwice-tenant": "acme" },
      });
      channel.sendToQueue(queue, Buffer.from('{"specversion":"1.0","type":"x","source":"y"}'));
      await world.write("e1");
      await relay.publishOnce();
      consume(world, queue);
      await expect.poll(() => left(dead)).toBe(2);
      await expect.poll(() => bookings(world.opened)).toEqual(["e1"]);
      expect(world.warnings.join()).toContain("no CloudEvent");
    });

    it("a message that no queue takes is not published", async () => {
      const { world, channel, queue, relay, left } = await setUp(suite);
      await world.write("e1");
      await channel.deleteQueue(queue);
      await relay.publishOnce();
      expect(world.warnings.join()).toContain("no queue takes messages");
      await channel.assertQueue(queue);
      await expect.poll(() => relay.publishOnce()).toBe(1);
      await expect.poll(() => left()).toBe(1);
      const [row] = await world.opened.store.outbox.list({
        tenant: null,
        status: null,
        beforePosition: null,
        limit: 2,
      });
      expect(row).toMatchObject({ id: "e1", status: "PUBLISHED" });
    });

    it("an exchange that isn't there is a failure, and the next connection publishes", async () => {
      const { world, channel } = await setUp(suite);
      const exchange = uniqueName("exchange");
      const target = rabbitMqTarget({ connect, exchange });
      onTestFinished(() => target.close());
      const relay = createRelay({ store: world.opened.store, publish: target, retryAfterMs: 1 });
      await world.write("e1");
      await relay.publishOnce();
      const [row] = await world.opened.store.outbox.list({
        tenant: null,
        status: null,
        beforePosition: null,
        limit: 2,
      });
      expect(row?.status).toBe("PENDING");
      const queue = uniqueName("bound");
      await channel.assertExchange(exchange, "topic", { autoDelete: true });
      await channel.assertQueue(queue, { autoDelete: true });
      await channel.bindQueue(queue, exchange, "order.*");
      await expect.poll(() => relay.publishOnce()).toBe(1);
      await expect.poll(async () => (await channel.checkQueue(queue)).messageCount).toBe(1);
      await channel.deleteQueue(queue);
    });
  });
});
