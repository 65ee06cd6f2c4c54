/**
 * A real RabbitMQ between outbox and inbox: what nobody took isn't published, what wasn't committed
 * isn't acknowledged, and a message that comes twice has one effect.
 */
import amqp from "amqplib";
import { describe, expect, it, onTestFinished } from "vitest";
import { consumeRabbitMq, rabbitMqTarget } from "../../../src/edges/events/rabbitmq.ts";
import { type EventInbox, NeverTwiceError, createRelay, noTenant } from "../../../src/index.ts";
import { bookings } from "../../support/bookings.ts";
import { brokerIsThere, rabbitMqUrl } from "../../support/brokers.ts";
import {
  type EventWorld,
  createEventWorld,
  deadLetters,
  eventOf,
  uniqueName,
} from "../../support/event-world.ts";
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

    it("what is no event is stored as a dead letter before it is acknowledged", async () => {
      const { world, channel, queue, dead, relay, left } = await setUp(suite);
      const send = (body: string | Buffer, tenant?: string): void => {
        const headers = { authorization: "secret", ...(tenant && { "nevertwice-tenant": tenant }) };
        channel.sendToQueue(queue, Buffer.from(body), { headers, type: "order.paid" });
      };
      send("hello", "acme");
      send("hello", "acme");
      send('{"specversion":"1.0","type":"x","source":"y"}', "acme");
      send(Buffer.from([0xff, 0xfe, 0x00]), "acme");
      send(eventOf("e-large", "x".repeat(1024 * 1024)), "acme");
      send(eventOf("e-nul", "\0"), "acme");
      const binary = { specversion: "1.0", id: "e-binary", source: "s", type: "t" };
      send(JSON.stringify({ ...binary, data_base64: "aGVsbG8=" }), "acme");
      send(JSON.stringify({ ...binary, id: "e".repeat(5000) }), "acme");
      send(eventOf("e-no-tenant", "x"));
      send(eventOf("e-bad-tenant", "x"), " ");
      await world.write("e1");
      await relay.publishOnce();
      consume(world, queue);
      await expect.poll(() => bookings(world.opened)).toEqual(["e1"]);
      const counted = async () =>
        (await deadLetters(world)).reduce((sum, row) => sum + row.attempts, 0);
      // Each once, and the one that came twice is the same one.
      await expect.poll(counted).toBe(10);
      expect(await deadLetters(world)).toHaveLength(9);
      await expect.poll(() => left()).toBe(0);
      expect(await left(dead)).toBe(0);
      const rows = await deadLetters(world);
      const told = rows.map(({ error }) => `${error}`.replace(/ has \d+ bytes.*/, "")).toSorted();
      expect(told).toEqual([
        expect.stringContaining("The event can't be written: $.data is text with a NUL"),
        expect.stringContaining("`id` is longer than 512 bytes"),
        "The event e-large",
        expect.stringContaining("tenant is blank"),
        expect.stringContaining("Unexpected token"),
        expect.stringContaining("it has no id"),
        expect.stringContaining("its data is binary"),
        "The message is no UTF-8.",
        expect.stringContaining("names no tenant"),
      ]);
      const hello = rows.find(({ attempts }) => attempts === 2);
      expect(hello).toMatchObject({ tenant: "acme", source: `rabbitmq:${queue}`, event: null });
      expect(JSON.parse(hello?.raw ?? "")).toEqual({
        bytes: 5,
        cut: false,
        encoding: "utf8",
        body: "hello",
        properties: { routingKey: queue, type: "order.paid", "nevertwice-tenant": "acme" },
      });
      expect(rows.every(({ raw }) => !raw?.includes("secret"))).toBe(true);
      const tenants = rows.map(({ tenant }) => tenant).filter((tenant) => tenant !== "acme");
      expect(tenants).toEqual([noTenant, noTenant]);
    });

    it("what is no event stays in the queue while the store is away", async () => {
      const { world, channel, queue, dead, left } = await setUp(suite);
      channel.sendToQueue(queue, Buffer.from("hello"));
      let away = true;
      const inbox: EventInbox = {
        ...world.inbox,
        reject: async (message) => {
          if (away) throw new NeverTwiceError("STORE_UNAVAILABLE", "The store is away.");
          return world.inbox.reject(message);
        },
      };
      consume({ ...world, inbox }, queue);
      await expect.poll(() => world.warnings.join()).toContain("was not received");
      expect(await deadLetters(world)).toEqual([]);
      away = false;
      await expect.poll(() => deadLetters(world)).toHaveLength(1);
      expect([await left(), await left(dead)]).toEqual([0, 0]);
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
