/**
 * A real NATS JetStream between outbox and inbox: what the stream hasn't stored isn't published, what
 * wasn't committed isn't acknowledged, and a message that comes twice has one effect.
 */
import { AckPolicy, type Consumer, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { describe, expect, it, onTestFinished } from "vitest";
import { consumeNats, natsTarget } from "../../../src/edges/events/nats.ts";
import { type KeptMessage, createRelay, noTenant } from "../../../src/index.ts";
import { bookings } from "../../support/bookings.ts";
import { brokerIsThere, natsUrl } from "../../support/brokers.ts";
import {
  type EventWorld,
  createEventWorld,
  deadLetters,
  eventOf,
  uniqueName,
} from "../../support/event-world.ts";
import { type StoreSuite, describeStores } from "../../support/stores.ts";

/** Longer than any machine stands still. */
const timeoutMs = 60_000;

async function setUp(suite: StoreSuite, options: { failures?: number } = {}) {
  const world = await createEventWorld(suite, options);
  const connection = await connect({ servers: natsUrl });
  const manager = await jetstreamManager(connection);
  const stream = uniqueName("orders");
  await manager.streams.add({ name: stream, subjects: [`${stream}.>`] });
  await manager.consumers.add(stream, { durable_name: "books", ack_policy: AckPolicy.Explicit });
  const js = jetstream(connection);
  const jetstreamConsumer = await js.consumers.get(stream, "books");
  const relay = createRelay({
    store: world.opened.store,
    publish: natsTarget({ jetstream: js, subject: ({ type }) => `${stream}.${type}`, timeoutMs }),
    retryAfterMs: 1,
    onWarning: world.onWarning,
  });
  onTestFinished(async () => {
    await manager.streams.delete(stream);
    await connection.close();
  });
  const stored = async () => (await manager.streams.info(stream)).state.messages;
  const open = async () => {
    const { num_ack_pending, num_pending } = await manager.consumers.info(stream, "books");
    return num_ack_pending + num_pending;
  };
  return { world, js, stream, jetstreamConsumer, relay, stored, open };
}

function consume(world: EventWorld, jetstreamConsumer: Consumer): void {
  const { inbox, handler, signal, onWarning } = world;
  world.start(
    consumeNats({ jetstreamConsumer, inbox, consumer: "books", handler, signal, onWarning }),
  );
}

describe.skipIf(!(await brokerIsThere("NATS", natsUrl)))("with NATS JetStream", () => {
  describeStores("outbox to inbox", (suite) => {
    it("an event that is published and delivered again has one effect", async () => {
      const { world, js, stream, jetstreamConsumer, relay, stored, open } = await setUp(suite);
      await world.write("e1", "8812");
      let text = "";
      const twice = createRelay({
        store: world.opened.store,
        publish: async (event, context) => {
          ({ text } = context);
          const target = natsTarget({ jetstream: js, subject: () => `${stream}.x`, timeoutMs });
          await target(event, context);
          await target(event, context);
        },
      });
      await twice.publishOnce();
      // Within the stream's window it knows the id; past it, only the inbox does.
      expect(await stored()).toBe(1);
      await js.publish(`${stream}.x`, text, { msgID: "past the window" });
      expect(await stored()).toBe(2);
      const { inbox, handler, signal } = world;
      world.start(
        consumeNats({
          jetstreamConsumer,
          inbox,
          consumer: "books",
          tenant: "acme",
          handler,
          signal,
        }),
      );
      await expect.poll(open).toBe(0);
      expect(await bookings(world.opened)).toEqual(["e1"]);
      expect(world.runs()).toBe(1);
      expect(await relay.publishOnce()).toBe(0);
    });

    it("an event whose handler throws comes back, and a poisonous one is dead", async () => {
      const { world, jetstreamConsumer, relay, open } = await setUp(suite, { failures: 3 });
      await world.write("e1");
      await relay.publishOnce();
      consume(world, jetstreamConsumer);
      const id = { tenant: "acme", consumer: "books", source: "shop", id: "e1", fact: null };
      const status = async () => (await world.opened.store.inbox.read(id))?.status;
      await expect.poll(status).toBe("DEAD");
      await expect.poll(open).toBe(0);
      expect(world.runs()).toBe(3);
      await world.write("e2");
      await relay.publishOnce();
      await expect.poll(() => bookings(world.opened)).toEqual(["e2"]);
    });

    it("what is no event is stored as a dead letter before it is acknowledged", async () => {
      const { world, js, stream, jetstreamConsumer, relay, open } = await setUp(suite);
      await js.publish(`${stream}.x`, "hello");
      await js.publish(`${stream}.x`, new Uint8Array([0xff, 0x00]));
      await js.publish(`${stream}.x`, eventOf("e-no-tenant", "x"));
      await world.write("e1");
      await relay.publishOnce();
      consume(world, jetstreamConsumer);
      await expect.poll(() => bookings(world.opened)).toEqual(["e1"]);
      await expect.poll(open).toBe(0);
      const rows = await deadLetters(world);
      const places = rows.map(({ tenant, source }) => `${tenant} ${source}`);
      expect(places).toEqual(Array<string>(3).fill(`${noTenant} nats:${stream}`));
      const kept = rows.map(({ raw }) => JSON.parse(raw ?? "") as KeptMessage);
      expect(kept.map(({ body }) => body).toSorted()).toEqual([
        "/wA=",
        "hello",
        eventOf("e-no-tenant", "x"),
      ]);
      const hello = kept.find(({ body }) => body === "hello");
      expect(hello?.properties).toEqual({ subject: `${stream}.x`, sequence: "1" });
      expect(world.warnings.join()).toContain("is a dead letter");
    });

    it("a message that no stream takes is not published", async () => {
      const { world, js } = await setUp(suite);
      await world.write("e1");
      const relay = createRelay({
        store: world.opened.store,
        publish: natsTarget({ jetstream: js, subject: () => uniqueName("nobody"), timeoutMs: 500 }),
      });
      await relay.publishOnce();
      const all = { tenant: null, status: null, beforePosition: null, limit: 2 };
      const [row] = await world.opened.store.outbox.list(all);
      expect(row?.status).toBe("PENDING");
    });
  });
});
