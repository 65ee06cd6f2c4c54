/**
 * Failures that users of other stacks have reported of queues and webhooks beside an agent. Each ends
 * with one effect per matter.
 */
import { expect } from "vitest";
import {
  type Delivery,
  type EventHandler,
  type Json,
  createInbox,
  createRelay,
  flow,
  runIdOfEvent,
} from "../../src/index.ts";
import { book, bookings, createBookings } from "../support/bookings.ts";
import { flowsOf, run, ticket, workOn } from "../support/flow-world.ts";
import { refundArgs, scenario } from "../support/world.ts";

scenario(
  "a redriven event and the model's own retry have one effect, and each is told who acts (case 90)",
  {},
  async (world) => {
    const refundTicket = flow("refund-ticket", (f) => f.act("refund", world.refund, refundArgs));
    const flows = flowsOf(world, [refundTicket]);
    const inbox = createInbox({ store: world.opened.store, poisonAfter: 1 });
    const complained: Delivery = {
      tenant: "acme",
      consumer: "refunds",
      source: "desk",
      id: "evt-1",
      type: "ticket.opened",
      data: ticket,
    };
    let broken = true;
    const handler: EventHandler<unknown> = async (tx, event) => {
      const id = { tenant: "acme", runId: runIdOfEvent(event) };
      await flows.start(refundTicket, id, event.data as Json, tx);
      if (broken) throw new Error("the queue's own time-out");
    };
    expect((await inbox.receive(complained, handler)).status).toBe("dead");
    broken = false;
    await inbox.redrive(complained);
    world.provider.fault({ gate: "queue" });
    expect(await inbox.retryDue({ consumer: "refunds", handler })).toBe(1);
    const working = flows.workOnce();
    await world.provider.parked("queue");
    const meanwhile = await world.run();
    world.provider.release("queue");
    await working;
    const later = await world.run();

    expect([meanwhile.told, later.told]).toEqual(["IN_PROGRESS", "REPLAYED"]);
    expect((meanwhile.error as Error).message).toContain(
      "being executed right now by another call",
    );
    // The broker delivers it once more after all.
    expect((await inbox.receive(complained, handler)).status).toBe("duplicate");
    expect(await flows.workOnce()).toBe(0);
    world.assertEffects(1);
  },
);

for (const first of ["ours", "the provider's"] as const) {
  scenario(
    `a refund and the provider's webhook of it are booked once, ${first} first (case 107)`,
    {},
    async (world) => {
      const { opened } = world;
      await createBookings(opened);
      const inbox = createInbox({ store: opened.store });
      const bookIt: EventHandler<unknown> = (tx, event) =>
        book(opened, tx, `-48000 for ${event.subject}`);
      /** Both tell the fact that this refund was made. */
      const receive = (source: string, id: string, refundId: string) =>
        inbox.receive(
          {
            tenant: "acme",
            consumer: "balance",
            source,
            id,
            type: "refund.made",
            subject: refundId,
            fact: "subject+type",
          },
          bookIt,
        );
      const refundTicket = flow("refund-ticket", async (f) => {
        const refund = (await f.act("refund", world.refund, refundArgs)) as { id: string };
        await f.emit("refund.made", refund, { subject: refund.id });
      });
      const flows = flowsOf(world, [refundTicket]);
      const relay = createRelay({
        store: opened.store,
        publish: async (event) => {
          await receive(event.source, event.id, event.subject ?? "");
        },
      });
      const webhooks = async (): Promise<void> => {
        for (const [at, { effectId }] of world.provider.ledger().entries()) {
          await receive("provider", `evt-${at}`, effectId);
        }
      };
      await flows.run(refundTicket, run, ticket);
      // The agent comes back to the matter: another run, and another event of ours.
      await flows.run(refundTicket, { tenant: "acme", runId: "again" }, ticket);
      await workOn(world, flows);
      const ours = async (): Promise<void> => void (await relay.publishOnce());
      for (const tell of first === "ours" ? [ours, webhooks] : [webhooks, ours]) await tell();
      await ours();
      await webhooks();

      world.assertEffects(1);
      const made = world.provider.ledger().map(({ effectId }) => `-48000 for ${effectId}`);
      expect(await bookings(opened)).toEqual(made);
    },
  );
}
