/**
 * An event is handled once per consumer: its dedupe row commits with the state change, whatever is
 * delivered again, together or later, under another id, or after a handler broke off.
 */
import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import {
  type Delivery,
  type EventHandler,
  type Json,
  createFlows,
  createGuard,
  createInbox,
  emit,
  flow,
  runIdOfEvent,
} from "../../src/index.ts";
import { book, bookings, createBookings } from "../support/bookings.ts";
import { codeOf } from "../support/flow-world.ts";
import { naiveInbox } from "../support/naive-events.ts";
import { type OpenStore, type StoreSuite, TestClock, describeStores } from "../support/stores.ts";

const paid: Delivery = {
  tenant: "acme",
  consumer: "bookkeeping",
  source: "shop",
  id: "evt-1",
  type: "order.paid",
  subject: "8812",
  data: { amountMinor: 48_000 },
};

/** Retries are spread downwards by a quarter at most. */
const within = (fullMs: number): unknown =>
  expect.toSatisfy((ms: number) => ms >= (fullMs * 3) / 4 && ms <= fullMs);

const byAnn = { by: "Ann Lee", reason: " paid by hand " };

async function setUp(suite: StoreSuite) {
  const clock = new TestClock();
  const opened = await suite.open({ clock });
  await createBookings(opened);
  const inbox = createInbox({ store: opened.store, poisonAfter: 3 });
  const handler: EventHandler<unknown> = async (tx, event) => {
    await book(opened, tx, `${event.subject} paid`);
  };
  return { clock, opened, inbox, handler, row: () => rowOf(opened) };
}

async function rowOf(opened: OpenStore, id = "evt-1") {
  const { tenant, consumer, source } = paid;
  return opened.store.inbox.read({ tenant, consumer, source, id, fact: null });
}

function breaking(opened: OpenStore): EventHandler<unknown> {
  return async (tx) => {
    await book(opened, tx, "half done");
    throw new Error("the ledger is closed");
  };
}

describeStores("the inbox", (suite) => {
  it("deliveries together and later are handled once, by each consumer", async () => {
    const { opened, handler, row } = await setUp(suite);
    const inboxes = await Promise.all(
      [1, 2, 3].map(async () => createInbox({ store: await opened.again() })),
    );
    const together = await Promise.all(inboxes.map((each) => each.receive(paid, handler)));
    expect(together.map(({ status }) => status).toSorted()).toEqual([
      "duplicate",
      "duplicate",
      "handled",
    ]);
    const [inbox] = inboxes;
    // Later, in another process, after it was handled.
    expect(await inbox?.receive(paid, handler)).toEqual({ status: "duplicate" });
    expect(await row()).toMatchObject({ status: "DONE", attempts: 1, event: null });
    const other = await inbox?.receive({ ...paid, consumer: "shipping" }, handler);
    expect(other?.status).toBe("handled");
    const tenant = await inbox?.receive({ ...paid, tenant: "globex" }, handler);
    expect(tenant?.status).toBe("handled");
    expect(await bookings(opened)).toHaveLength(3);
  });

  it("without a dedupe row each delivery would be handled", async () => {
    const { opened, inbox, handler } = await setUp(suite);
    const naive = naiveInbox(opened.store, inbox);
    for (let n = 0; n < 3; n += 1) await naive.receive(paid, handler);
    await naive.receive({ ...paid, id: "evt-2", fact: "subject+type" }, handler);
    expect(await bookings(opened)).toHaveLength(4);
  });

  it("a retry that is the first delivery to arrive is handled", async () => {
    const { opened, inbox, handler } = await setUp(suite);
    const retry = { ...paid, data: { retry: 1 } };
    expect((await inbox.receive(retry, handler)).status).toBe("handled");
    expect((await inbox.receive(paid, handler)).status).toBe("duplicate");
    expect(await bookings(opened)).toEqual(["8812 paid"]);
  });

  it("two ids for one fact are handled once, together and later", async () => {
    const { opened, handler } = await setUp(suite);
    const inboxes = await Promise.all(
      [1, 2, 3, 4].map(async () => createInbox({ store: await opened.again() })),
    );
    const together = await Promise.all(
      inboxes.map((each, n) =>
        each.receive({ ...paid, id: `evt-${n}`, fact: "subject+type" }, handler),
      ),
    );
    expect(together.map(({ status }) => status).toSorted()).toEqual([
      "duplicate",
      "duplicate",
      "duplicate",
      "handled",
    ]);
    const late = { ...paid, id: "evt-late", source: "shop-2", fact: "subject+type" } as const;
    expect((await inboxes[0]?.receive(late, handler))?.status).toBe("duplicate");
    const another = { ...late, id: "evt-o", subject: "8813" };
    expect((await inboxes[0]?.receive(another, handler))?.status).toBe("handled");
    expect(await bookings(opened)).toEqual(["8812 paid", "8813 paid"]);
  });

  it("a handler that throws leaves nothing of itself, and the event is handled later", async () => {
    const { clock, opened, inbox, handler, row } = await setUp(suite);
    const told = await inbox.receive(paid, breaking(opened));
    expect(told).toMatchObject({ status: "will-retry", attempts: 1, retryAfterMs: within(1000) });
    expect(await bookings(opened)).toEqual([]);
    expect(await row()).toMatchObject({ status: "PENDING", error: "the ledger is closed" });
    const retry = { consumer: "bookkeeping", handler };
    expect(await inbox.retryDue(retry)).toBe(0);
    clock.advance(1000);
    expect(await inbox.retryDue({ ...retry, consumer: "shipping" })).toBe(0);
    expect(await inbox.retryDue(retry)).toBe(1);
    expect(await inbox.retryDue(retry)).toBe(0);
    expect((await inbox.receive(paid, handler)).status).toBe("duplicate");
    expect(await bookings(opened)).toEqual(["8812 paid"]);
  });

  it("an event that fails too often is dead: not run, until it is redriven or given up", async () => {
    const { clock, opened, inbox, handler, row } = await setUp(suite);
    const told = [];
    for (let n = 0; n < 3; n += 1) told.push(await inbox.receive(paid, breaking(opened)));
    expect(told.map(({ status }) => status)).toEqual(["will-retry", "will-retry", "dead"]);
    expect(told[1]).toMatchObject({ retryAfterMs: within(2000) });
    const dead = { status: "dead", error: "the ledger is closed" };
    expect(await inbox.receive(paid, handler)).toEqual(dead);
    clock.advance(1_000_000);
    expect(await inbox.retryDue({ consumer: "bookkeeping", handler })).toBe(0);
    expect(await bookings(opened)).toEqual([]);

    expect(await inbox.redrive(paid)).toMatchObject({ status: "PENDING", attempts: 0 });
    expect(await inbox.redrive(paid)).toBeUndefined();
    const seen: unknown[] = [];
    const watching: EventHandler<unknown> = async (tx, event) => {
      seen.push(event.data);
      await handler(tx, event);
    };
    expect(await inbox.retryDue({ consumer: "bookkeeping", handler: watching })).toBe(1);
    expect(seen).toEqual([{ amountMinor: 48_000 }]);
    expect(await bookings(opened)).toEqual(["8812 paid"]);
    expect(await inbox.discard(paid, byAnn)).toBeUndefined();

    const second = { ...paid, id: "evt-2" };
    for (let n = 0; n < 3; n += 1) await inbox.receive(second, breaking(opened));
    expect(await codeOf(inbox.discard(second, { by: "Ann Lee", reason: " " }))).toBe(
      "CONFIGURATION_INVALID",
    );
    expect(await inbox.discard(second, byAnn)).toMatchObject({
      status: "DONE",
      event: null,
      error: "the ledger is closed",
      discardedBy: "Ann Lee",
      discardReason: "paid by hand",
    });
    expect(await inbox.discard(second, byAnn)).toBeUndefined();
    expect((await inbox.receive(second, handler)).status).toBe("duplicate");
    expect(await bookings(opened)).toEqual(["8812 paid"]);
    expect((await row())?.status).toBe("DONE");
  });

  it("a kept event whose fact came under another id is a duplicate, and rests", async () => {
    const { clock, opened, inbox, handler } = await setUp(suite);
    const first = { ...paid, fact: "subject+type" } as const;
    await inbox.receive(first, breaking(opened));
    expect((await inbox.receive({ ...first, id: "evt-2" }, handler)).status).toBe("handled");
    clock.advance(10_000);
    const retry = { consumer: "bookkeeping", handler };
    expect(await inbox.retryDue(retry)).toBe(1);
    expect(await inbox.retryDue(retry)).toBe(0);
    expect(await bookings(opened)).toEqual(["8812 paid"]);
  });

  it("two processes that retry the same kept event handle it once", async () => {
    const { clock, opened, inbox, handler } = await setUp(suite);
    await inbox.receive(paid, breaking(opened));
    clock.advance(5000);
    const other = createInbox({ store: await opened.again() });
    const retry = { consumer: "bookkeeping", handler };
    await Promise.all([inbox.retryDue(retry), other.retryDue(retry)]);
    expect(await bookings(opened)).toEqual(["8812 paid"]);
  });

  it("what is no event is refused before anything is recorded", async () => {
    const { opened, inbox, handler } = await setUp(suite);
    const small = createInbox({ store: opened.store, maxEventBytes: 300 });
    const codes = await Promise.all(
      [
        codeOf(inbox.receive({ ...paid, id: "" }, handler)),
        codeOf(inbox.receive({ ...paid, source: " " }, handler)),
        codeOf(inbox.receive({ ...paid, type: undefined as unknown as string }, handler)),
        codeOf(inbox.receive({ ...paid, data: new Map() }, handler)),
        codeOf(inbox.receive({ ...paid, subject: undefined, fact: "subject+type" }, handler)),
        codeOf(inbox.receive({ ...paid, tenant: "" }, handler)),
        codeOf(small.receive({ ...paid, data: "x".repeat(300) }, handler)),
      ].map(async (code) => code),
    );
    expect(codes).toEqual([
      ...Array<string>(5).fill("EVENT_INVALID"),
      "INTENT_INVALID",
      "EVENT_TOO_LARGE",
    ]);
    const all = { tenant: null, consumer: null, status: null, after: null };
    expect(await opened.store.inbox.list({ ...all, limit: 10 })).toEqual([]);
    expect(() => createInbox({ store: opened.store, poisonAfter: 0 })).toThrow("poisonAfter");
  });

  it.each(["tenant", "consumer", "source", "id", "type", "subject"] as const)(
    "a %s that is too long for an index is refused, and one that fits is known again",
    async (part) => {
      const { inbox, handler } = await setUp(suite);
      const receive = (text: string) =>
        inbox.receive({ ...paid, fact: "subject+type", [part]: text }, handler);
      const noise = randomBytes(600).toString("base64url");
      const code = part === "tenant" || part === "consumer" ? "INTENT_INVALID" : "EVENT_INVALID";
      expect(await codeOf(receive(noise))).toBe(code);
      const longest = noise.slice(0, 512);
      expect(await receive(longest)).toMatchObject({ status: "handled" });
      expect(await receive(longest)).toEqual({ status: "duplicate" });
    },
  );

  it("ids, subject and type at their longest fit together, escapes included", async () => {
    const { inbox, handler } = await setUp(suite);
    const long = () => randomBytes(384).toString("base64url");
    const quoted = () => long().replaceAll(/[A-Ha-h]/g, '"');
    const ids = { tenant: long(), consumer: long(), source: long(), id: long() };
    const told = {
      ...paid,
      ...ids,
      type: quoted(),
      subject: quoted(),
      fact: "subject+type",
    } as const;
    expect(await inbox.receive(told, handler)).toMatchObject({ status: "handled" });
    expect(await inbox.receive({ ...told, id: "other" }, handler)).toEqual({ status: "duplicate" });
  });

  it("a message that is no event is one dead letter, looked at and given up but never handled", async () => {
    const { clock, opened, inbox, handler } = await setUp(suite);
    const small = createInbox({ store: opened.store, maxRejectedBytes: 8 });
    const message = {
      tenant: undefined,
      consumer: "bookkeeping",
      source: "queue",
      body: Buffer.from("\0 hello world"),
      properties: { routingKey: "x".repeat(300) },
      error: new Error("no JSON: \0"),
    };
    const first = await small.reject(message);
    expect(first).toMatchObject({ status: "DEAD", tenant: "(no tenant)", error: "no JSON: " });
    expect(await small.reject({ ...message, tenant: " bad " })).toMatchObject({
      id: first.id,
      attempts: 2,
    });
    expect(JSON.parse(first.raw ?? "")).toEqual({
      bytes: 13,
      cut: true,
      encoding: "utf8",
      body: "\0 hello ",
      properties: { routingKey: "x".repeat(256) },
    });
    const binary = await inbox.reject({ ...message, tenant: "acme", body: Buffer.from([255, 0]) });
    expect(JSON.parse(binary.raw ?? "")).toMatchObject({ encoding: "base64", body: "/wA=" });
    expect(await inbox.redrive(first)).toBeUndefined();
    clock.advance(1_000_000);
    expect(await inbox.retryDue({ consumer: "bookkeeping", handler })).toBe(0);
    expect(await inbox.discard(first, byAnn)).toMatchObject({ status: "DONE", raw: null });
    // What comes again after all is not swallowed.
    expect(await small.reject(message)).toMatchObject({ status: "DEAD", discardedBy: null });
    expect(await bookings(opened)).toEqual([]);
  });

  it("state change, outgoing event and started run commit with the event, or none does", async () => {
    const { opened, inbox } = await setUp(suite);
    const guard = await createGuard({ store: opened.store });
    const ship = flow("ship", async () => "shipped");
    const flows = createFlows({ store: opened.store, guard, flows: [ship] });
    let breaks = true;
    const handler: EventHandler<unknown> = async (tx, event) => {
      await book(opened, tx, "paid");
      await emit(tx.outbox, {
        tenant: event.tenant,
        id: `${event.id}:booked`,
        source: "books",
        type: "order.booked",
      });
      await flows.start(
        ship,
        { tenant: "acme", runId: runIdOfEvent(event) },
        event.data as Json,
        tx,
      );
      if (breaks) throw new Error("not now");
    };
    const outgoing = () =>
      opened.store.outbox.list({ tenant: null, status: null, beforePosition: null, limit: 10 });
    const runs = () =>
      opened.store.runs.list({
        tenant: null,
        flow: null,
        status: null,
        after: null,
        limit: 10,
      });
    await inbox.receive(paid, handler);
    expect([await bookings(opened), await outgoing(), await runs()]).toEqual([[], [], []]);
    breaks = false;
    await inbox.receive(paid, handler);
    await inbox.receive(paid, handler);
    expect(await bookings(opened)).toEqual(["paid"]);
    expect(await outgoing()).toHaveLength(1);
    expect((await runs()).map(({ runId }) => runId)).toEqual([runIdOfEvent(paid)]);
    expect(runIdOfEvent(paid)).not.toBe(runIdOfEvent({ source: "shop", id: "evt-2" }));
    expect(runIdOfEvent(paid, "ship")).not.toBe(runIdOfEvent(paid));
  });
});
