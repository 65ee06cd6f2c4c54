/**
 * The relay publishes each event of the outbox at least once, under its own id and in the order of
 * its subject; nothing counts as published that nobody confirmed.
 */
import { expect, it } from "vitest";
import { type CloudEventJson, type Publish, createRelay, emit } from "../../src/index.ts";
import { codeOf } from "../support/flow-world.ts";
import { naiveRelay } from "../support/naive-events.ts";
import { type OpenStore, type StoreSuite, TestClock, describeStores } from "../support/stores.ts";

async function setUp(suite: StoreSuite) {
  const clock = new TestClock();
  const opened = await suite.open({ clock });
  const published: string[] = [];
  const publish: Publish = async (event) => {
    published.push(event.id);
  };
  return { clock, opened, published, publish };
}

/** Waited for by one side, opened by the other. */
function createGate(): { opened: Promise<void>; open(): void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open: () => open() };
}

function write(opened: OpenStore, id: string, subject?: string): Promise<unknown> {
  return opened.store.transaction((tx) =>
    emit(tx.outbox, { tenant: "acme", id, source: "shop", type: "order.paid", subject }),
  );
}

async function statuses(opened: OpenStore): Promise<string[]> {
  const all = { tenant: null, status: null, beforePosition: null, limit: 100 };
  const rows = await opened.store.outbox.list(all);
  return rows.map(({ id, status }) => `${id} ${status}`).toSorted();
}

describeStores("the relay", (suite) => {
  it("publishes the event as it was written, and once when nothing goes wrong", async () => {
    const { opened } = await setUp(suite);
    await write(opened, "e1", "8812");
    const seen: [CloudEventJson, string, string][] = [];
    const publish: Publish = async (event, { text, tenant }) => {
      seen.push([event, text, tenant]);
    };
    const relay = createRelay({ store: opened.store, publish });
    expect(await relay.publishOnce()).toBe(1);
    expect(await relay.publishOnce()).toBe(0);
    const event = { specversion: "1.0", id: "e1", source: "shop", type: "order.paid" };
    expect(seen).toMatchObject([[{ ...event, subject: "8812" }, expect.any(String), "acme"]]);
    expect(JSON.parse(seen[0]?.[1] ?? "")).toEqual(seen[0]?.[0]);
    expect(await statuses(opened)).toEqual(["e1 PUBLISHED"]);
  });

  it("the same event again stays as it was written; another one under its id is refused", async () => {
    const { opened } = await setUp(suite);
    const tell = (type: string, atMs: number) =>
      opened.store.transaction(async (tx) => {
        await emit(tx.outbox, { tenant: "acme", id: `beside-${type}`, source: "shop", type });
        return emit(tx.outbox, { tenant: "acme", id: "e1", source: "shop", type, data: 1, atMs });
      });
    const first = await tell("order.paid", 1);
    expect(await tell("order.paid", 2)).toMatchObject({ event: first.event });
    expect(await codeOf(tell("order.sent", 1))).toBe("PAYLOAD_MISMATCH");
    expect(await statuses(opened)).toEqual(["beside-order.paid PENDING", "e1 PENDING"]);
  });

  it("events of one subject leave in their order, also past a failure; others don't wait", async () => {
    const { clock, opened, published } = await setUp(suite);
    for (const id of ["a1", "a2", "a3"]) await write(opened, id, "a");
    for (const id of ["b1", "b2"]) await write(opened, id, "b");
    await write(opened, "free");
    let refusals = 2;
    const publish: Publish = async ({ id }) => {
      if (id === "a1" && refusals > 0) {
        refusals -= 1;
        throw new Error("refused");
      }
      published.push(id);
    };
    const relays = [
      createRelay({ store: opened.store, publish }),
      createRelay({ store: await opened.again(), publish }),
    ];
    for (let round = 0; round < 12; round += 1) {
      await Promise.all(relays.map((relay) => relay.publishOnce()));
      if (published.length === 3) expect(published.filter((id) => id.startsWith("a"))).toEqual([]);
      clock.advance(1000);
    }
    expect(published.filter((id) => id.startsWith("a"))).toEqual(["a1", "a2", "a3"]);
    expect(published.filter((id) => id.startsWith("b"))).toEqual(["b1", "b2"]);
    expect(published).toHaveLength(6);
    expect(published.indexOf("b2")).toBeLessThan(published.indexOf("a1"));
  });

  it("relays at once publish each event once", async () => {
    const { opened, published, publish } = await setUp(suite);
    for (let n = 0; n < 30; n += 1) await write(opened, `e${n}`);
    const relays = await Promise.all(
      [1, 2, 3].map(async () => createRelay({ store: await opened.again(), publish })),
    );
    for (let round = 0; round < 4; round += 1) {
      await Promise.all(relays.map((relay) => relay.publishOnce({ limit: 7 })));
    }
    expect(published).toHaveLength(30);
    expect(new Set(published).size).toBe(30);
  });

  it("an event that nobody confirms is dead after its limit, and can be redriven or given up", async () => {
    const { clock, opened, published } = await setUp(suite);
    await write(opened, "e1");
    await write(opened, "e2");
    let broken = true;
    const warnings: string[] = [];
    const publish: Publish = async ({ id }) => {
      if (broken) throw new Error("no queue takes it");
      published.push(id);
    };
    const onWarning = (message: string): void => void warnings.push(message);
    const relay = createRelay({ store: opened.store, publish, poisonAfter: 3, onWarning });
    for (let round = 0; round < 6; round += 1) {
      await relay.publishOnce();
      clock.advance(60_000);
    }
    expect(await statuses(opened)).toEqual(["e1 DEAD", "e2 DEAD"]);
    expect(warnings).toHaveLength(6);
    broken = false;
    expect(await relay.publishOnce()).toBe(0);
    expect(await relay.redrive({ tenant: "acme", id: "e1" })).toMatchObject({ status: "PENDING" });
    const discard = { by: "Ann Lee", reason: "told by phone" };
    expect(await relay.discard({ tenant: "acme", id: "e2" }, discard)).toMatchObject({
      status: "DEAD",
      discardedBy: "Ann Lee",
      discardReason: "told by phone",
    });
    expect(await relay.discard({ tenant: "acme", id: "e2" }, discard)).toBeUndefined();
    expect(await relay.redrive({ tenant: "acme", id: "e2" })).toBeUndefined();
    // Its id stays taken: what was given up doesn't come back under it.
    await write(opened, "e2");
    expect(await relay.publishOnce()).toBe(1);
    expect(published).toEqual(["e1"]);
    expect(await statuses(opened)).toEqual(["e1 PUBLISHED", "e2 DEAD"]);
    expect(await relay.redrive({ tenant: "acme", id: "e1" })).toBeUndefined();
    expect(await relay.discard({ tenant: "acme", id: "e1" }, discard)).toBeUndefined();
    clock.advance(46 * 86_400_000);
    expect(await relay.purge()).toBe(2);
  });

  it("marked before it is published, an event that the broker refuses would be lost", async () => {
    const { clock, opened, published } = await setUp(suite);
    await write(opened, "e1", "a");
    let refusals = 1;
    const publish: Publish = async ({ id }) => {
      refusals -= 1;
      if (refusals >= 0) throw new Error("refused");
      published.push(id);
    };
    const naive = naiveRelay({ store: opened.store, publish });
    expect(await naive.publishOnce()).toBe(1);
    clock.advance(60_000);
    expect(await naive.publishOnce()).toBe(0);
    expect(await statuses(opened)).toEqual(["e1 PUBLISHED"]);
    expect(published).toEqual([]);
    // The real one keeps what nobody confirmed.
    await write(opened, "e2", "a");
    refusals = 1;
    const relay = createRelay({ store: opened.store, publish });
    await relay.publishOnce();
    clock.advance(60_000);
    await relay.publishOnce();
    expect(published).toEqual(["e2"]);
  });

  it("a relay that ends between publishing and marking costs a second delivery with the same id", async () => {
    const { clock, opened, published, publish } = await setUp(suite);
    await write(opened, "e1", "a");
    await write(opened, "e2", "a");
    const dead = createGate();
    const dying = createRelay({
      store: opened.store,
      publish,
      onPoint: (name) => {
        if (name !== "event-published") return undefined;
        dead.open();
        return new Promise<void>(() => {});
      },
    });
    void dying.publishOnce();
    await dead.opened;
    const next = createRelay({ store: await opened.again(), publish });
    expect(await next.publishOnce()).toBe(0);
    clock.advance(30_000);
    expect(await next.publishOnce()).toBe(1);
    expect(await next.publishOnce()).toBe(1);
    expect(published).toEqual(["e1", "e1", "e2"]);
    expect(await statuses(opened)).toEqual(["e1 PUBLISHED", "e2 PUBLISHED"]);
  });

  it("a relay whose lease ended can't say what became of the event", async () => {
    const { clock, opened } = await setUp(suite);
    await write(opened, "e1");
    const gate = createGate();
    const begun = createGate();
    const slow = createRelay({
      store: opened.store,
      publish: async () => {
        begun.open();
        await gate.opened;
        throw new Error("cut off");
      },
    });
    const slowly = slow.publishOnce();
    await begun.opened;
    clock.advance(31_000);
    const other = createRelay({ store: await opened.again(), publish: async () => {} });
    expect(await other.publishOnce()).toBe(1);
    gate.open();
    await slowly;
    expect(await statuses(opened)).toEqual(["e1 PUBLISHED"]);
  });

  it("publishing that never ends is given up before the lease is over", async () => {
    const { opened } = await setUp(suite);
    await write(opened, "e1");
    let aborted = false;
    const publish: Publish = (_event, { signal }) => {
      signal.addEventListener("abort", () => (aborted = true));
      return new Promise(() => {});
    };
    await createRelay({ store: opened.store, publish, leaseMs: 100 }).publishOnce();
    expect(aborted).toBe(true);
    expect(await statuses(opened)).toEqual(["e1 PENDING"]);
  });

  it("works until it is stopped, wakes up when told, and ends what is under way", async () => {
    const opened = await suite.open();
    const stop = new AbortController();
    const gate = createGate();
    const begun = createGate();
    const published: string[] = [];
    const publish: Publish = async ({ id }) => {
      if (id === "last") {
        begun.open();
        await gate.opened;
      }
      published.push(id);
    };
    const relay = createRelay({ store: opened.store, publish });
    // So long a rest that only a wake-up can end it in time.
    const working = relay.work({ signal: stop.signal, everyMs: 3_600_000 });
    await write(opened, "first", "a");
    await write(opened, "second", "a");
    relay.wake();
    await expect.poll(() => published).toEqual(["first", "second"]);
    await write(opened, "last");
    relay.wake();
    await begun.opened;
    stop.abort();
    gate.open();
    await working;
    expect(await statuses(opened)).toEqual([
      "first PUBLISHED",
      "last PUBLISHED",
      "second PUBLISHED",
    ]);
  });
});
