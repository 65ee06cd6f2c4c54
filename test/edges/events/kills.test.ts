/**
 * Real processes between a store and a real broker are killed (SIGKILL) at the three places where an
 * event can be lost or doubled: after the inbox's commit and before the broker's acknowledgement, after
 * the broker's confirmation and before the outbox's mark, and before publishing. Each event has one
 * effect in the consumer's database, was published at least once under its own id, and none is lost.
 * With a naive inbox and a naive relay the same kills double it and lose it.
 */
import { AckPolicy, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect as connectNats, nanos } from "@nats-io/transport-node";
import amqp from "amqplib";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  type CloudEventJson,
  type EventInbox,
  type RelayPointName,
  createRelay,
} from "../../../src/index.ts";
import { bookings } from "../../support/bookings.ts";
import { brokerIsThere, natsUrl, rabbitMqUrl } from "../../support/brokers.ts";
import {
  type Channel,
  consumeChannel,
  durableName,
  openTarget,
} from "../../support/event-brokers.ts";
import { type EventWorld, createEventWorld, uniqueName } from "../../support/event-world.ts";
import { naiveInbox, naiveRelay } from "../../support/naive-events.ts";
import { startWorker } from "../../support/processes.ts";
import { type StoreSuite, describeStores } from "../../support/stores.ts";
import type { EventCommands } from "../../support/worker-events.ts";
import { placeOf } from "../../support/worker-place.ts";

/** What a test sees of the broker. */
interface BrokerView {
  readonly channel: Channel;
  /** The ids of all messages that the broker ever took, in their order. */
  taken(): Promise<readonly string[]>;
  /** Messages that nobody has acknowledged. */
  open(): Promise<number>;
  /** Resolves when the broker hands out again the one message that a killed consumer held. */
  takenBack(): Promise<void>;
}

function idOf(text: string): string {
  return (JSON.parse(text) as CloudEventJson).id;
}

async function openRabbitMq(): Promise<BrokerView> {
  const connection = await amqp.connect(rabbitMqUrl);
  const control = await connection.createChannel();
  const name = uniqueName("kills");
  const copies = `${name}-copies`;
  await control.assertExchange(name, "fanout");
  for (const queue of [name, copies]) {
    await control.assertQueue(queue);
    await control.bindQueue(queue, name, "");
  }
  onTestFinished(async () => {
    await control.deleteQueue(name);
    await control.deleteQueue(copies);
    await control.deleteExchange(name);
    await connection.close();
  });
  const ids: string[] = [];
  // The broker counts what waits; what is handed out comes back when its connection is gone.
  const open = async (): Promise<number> => (await control.checkQueue(name)).messageCount;
  return {
    channel: { broker: "rabbitmq", name },
    taken: async () => {
      for (;;) {
        const message = await control.get(copies, { noAck: true });
        if (message === false) return ids;
        ids.push(idOf(message.content.toString("utf8")));
      }
    },
    open,
    takenBack: () => expect.poll(open).toBe(1),
  };
}

async function openNats(): Promise<BrokerView> {
  const connection = await connectNats({ servers: natsUrl });
  const manager = await jetstreamManager(connection);
  const name = uniqueName("kills");
  await manager.streams.add({ name, subjects: [`${name}.>`] });
  await manager.consumers.add(name, {
    durable_name: durableName,
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(600_000),
  });
  const takenBack = async (): Promise<void> => {
    // What the dead held is overdue at once; whoever handles it from here on has all the time.
    await manager.consumers.update(name, durableName, { ack_wait: nanos(100) });
    const consumer = await jetstream(connection).consumers.get(name, durableName);
    const message = await consumer.next({ expires: 60_000 });
    expect(message?.info.deliveryCount).toBeGreaterThan(1);
    await manager.consumers.update(name, durableName, { ack_wait: nanos(600_000) });
    message?.nak();
    await connection.flush();
  };
  onTestFinished(async () => {
    await manager.streams.delete(name);
    await connection.close();
  });
  return {
    channel: { broker: "nats", name },
    taken: async () => {
      const { messages } = (await manager.streams.info(name)).state;
      const stored = Array.from({ length: messages }, (_, at) =>
        manager.streams.getMessage(name, { seq: at + 1 }),
      );
      return (await Promise.all(stored)).map((message) => idOf(message?.string() ?? "{}"));
    },
    open: async () => {
      const { num_ack_pending, num_pending } = await manager.consumers.info(name, durableName);
      return num_ack_pending + num_pending;
    },
    takenBack,
  };
}

const brokers = [
  { name: "RabbitMQ", url: rabbitMqUrl, open: openRabbitMq, knowsIds: false },
  { name: "NATS", url: natsUrl, open: openNats, knowsIds: true },
];

async function openHall(suite: StoreSuite, broker: (typeof brokers)[number], naive: boolean) {
  const world = await createEventWorld(suite);
  const view = await broker.open();
  const { channel } = view;
  const { store } = world.opened;
  const order = { place: placeOf(world.opened), channel, naive };
  const kill = async (command: "consume" | "relay", standAt?: RelayPointName): Promise<void> => {
    const worker = await startWorker<EventCommands>("worker-events.ts");
    const working =
      command === "consume"
        ? worker.call("consume", order)
        : worker.call("relay", { ...order, standAt: standAt ?? "event-claimed" });
    const ended = working.then(() => Promise.reject(new Error(`it didn't stand at ${standAt}`)));
    await Promise.race([worker.reported("stands"), ended]);
    await worker.kill();
    // The lease of the dead is over.
    await world.opened.sql("update :schema.outbox set due_at_ms = 0 where status = 'PENDING'");
  };
  const publishAll = async (): Promise<void> => {
    const target = await openTarget(channel);
    const relay = (naive ? naiveRelay : createRelay)({ store, publish: target.publish });
    for (let taken = 1; taken > 0;) taken = await relay.publishOnce();
    await target.close();
  };
  /** A consumer of this process, for the rest of the test. */
  const consume = (): void => {
    const inbox = naive ? naiveInbox(store, world.inbox) : world.inbox;
    const { handler, signal } = world;
    const watched: EventInbox = {
      ...inbox,
      receive: async (...delivery) => {
        const answer = await inbox.receive(...delivery);
        received.push(`${delivery[0].id} ${answer.status}`);
        return answer;
      },
    };
    world.start(consumeChannel(channel, { inbox: watched, handler, signal }));
  };
  /** What that consumer's inbox said of each delivery. */
  const received: string[] = [];
  const said = (): readonly string[] => received.toSorted();
  return { world, view, kill, publishAll, consume, said };
}

async function outboxOf({ opened }: EventWorld): Promise<string[]> {
  const all = { tenant: null, status: null, beforePosition: null, limit: 10 };
  return (await opened.store.outbox.list(all)).map(({ id, status }) => `${id} ${status}`);
}

for (const broker of brokers) {
  const isThere = await brokerIsThere(broker.name, broker.url);
  describe.skipIf(!isThere)(`processes killed beside ${broker.name}`, () => {
    describeStores("an event", (suite) => {
      it("handled and not acknowledged has one effect", async () => {
        const { world, view, kill, publishAll, consume, said } = await openHall(
          suite,
          broker,
          false,
        );
        await world.write("e1", "8812");
        await publishAll();
        await kill("consume");
        expect(await bookings(world.opened)).toEqual(["e1"]);
        await view.takenBack();
        await world.write("e2", "8812");
        await publishAll();
        consume();
        // The delivery that came again met the dedupe row.
        await expect.poll(said).toEqual(["e1 duplicate", "e2 handled"]);
        await expect.poll(() => view.open()).toBe(0);
        expect(await bookings(world.opened)).toEqual(["e1", "e2"]);
        expect(world.runs()).toBe(1);
        expect(await view.taken()).toEqual(["e1", "e2"]);
      });

      it("published and not marked is published again under its id, and has one effect", async () => {
        const { world, view, kill, publishAll, consume, said } = await openHall(
          suite,
          broker,
          false,
        );
        await world.write("e1", "8812");
        await world.write("e2", "8812");
        await kill("relay", "event-published");
        expect(await view.taken()).toEqual(["e1"]);
        expect(await outboxOf(world)).toEqual(["e2 PENDING", "e1 PENDING"]);
        await publishAll();
        // A stream that knows ids takes the second one for the first, within its window.
        expect(await view.taken()).toEqual(broker.knowsIds ? ["e1", "e2"] : ["e1", "e1", "e2"]);
        expect(await outboxOf(world)).toEqual(["e2 PUBLISHED", "e1 PUBLISHED"]);
        consume();
        const again = broker.knowsIds ? [] : ["e1 duplicate"];
        await expect.poll(said).toEqual([...again, "e1 handled", "e2 handled"]);
        await expect.poll(() => view.open()).toBe(0);
        expect(await bookings(world.opened)).toEqual(["e1", "e2"]);
      });

      it("taken and not published is published by the next relay", async () => {
        const { world, view, kill, publishAll, consume, said } = await openHall(
          suite,
          broker,
          false,
        );
        await world.write("e1", "8812");
        await kill("relay", "event-claimed");
        expect(await view.taken()).toEqual([]);
        expect(await outboxOf(world)).toEqual(["e1 PENDING"]);
        await publishAll();
        expect(await view.taken()).toEqual(["e1"]);
        consume();
        await expect.poll(said).toEqual(["e1 handled"]);
        await expect.poll(() => view.open()).toBe(0);
        expect(await bookings(world.opened)).toEqual(["e1"]);
      });

      it("would be handled twice without the inbox, and lost without the outbox", async () => {
        const { world, view, kill, publishAll, consume } = await openHall(suite, broker, true);
        await world.write("e1", "8812");
        await publishAll();
        await kill("consume");
        await view.takenBack();
        consume();
        await expect.poll(() => bookings(world.opened)).toEqual(["e1", "e1"]);
        await world.write("e2", "8812");
        await kill("relay", "event-claimed");
        await publishAll();
        expect(await outboxOf(world)).toEqual(["e2 PUBLISHED", "e1 PUBLISHED"]);
        expect(await view.taken()).toEqual(["e1"]);
      });
    });
  });
}
