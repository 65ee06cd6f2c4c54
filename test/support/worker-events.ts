/** A worker that publishes or consumes events. Started by `startWorker("worker-events.ts")`. */
import {
  type EffectStore,
  type EventInbox,
  type RelayPointName,
  createInbox,
  createRelay,
} from "../../src/index.ts";
import { book } from "./bookings.ts";
import { type Channel, consumeChannel, openTarget } from "./event-brokers.ts";
import { naiveInbox, naiveRelay } from "./naive-events.ts";
import { obey, report } from "./worker-commands.ts";
import { type Place, openPlace } from "./worker-place.ts";

/** What a worker has to do. */
export interface EventOrder {
  readonly place: Place;
  readonly channel: Channel;
  /** Without inbox and outbox. */
  readonly naive: boolean;
}

/** Reports `stands`, and stands still for good. */
function stand(): Promise<never> {
  report("stands");
  return new Promise<never>(() => {});
}

const commands = {
  /** Publishes once, and stands still at the point. */
  relay: async (order: EventOrder & { readonly standAt: RelayPointName }): Promise<number> => {
    const store = openPlace(order.place) as EffectStore;
    const { publish } = await openTarget(order.channel);
    const createOne = order.naive ? naiveRelay : createRelay;
    const relay = createOne({
      store,
      publish,
      onPoint: (name) => (name === order.standAt ? stand() : undefined),
    });
    return relay.publishOnce();
  },
  /** Handles an event, and stands still before it is acknowledged. */
  consume: async ({ place, channel, naive }: EventOrder): Promise<void> => {
    const store = openPlace(place) as EffectStore;
    const real = createInbox({ store });
    const inbox = naive ? naiveInbox(store, real) : real;
    const standing: EventInbox = {
      ...inbox,
      receive: async (...delivery) => {
        await inbox.receive(...delivery);
        return stand();
      },
    };
    await consumeChannel(channel, {
      inbox: standing,
      handler: (tx, event) => book(place, tx, event.id),
      signal: new AbortController().signal,
    });
  },
};

/** The commands of this worker. */
export type EventCommands = typeof commands;

obey(commands);
