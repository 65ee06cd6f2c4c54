/**
 * `events` on both stores: what is stuck, since when and why; what a person redrives is handled or
 * published once, and what is given up says who did it and why.
 */
import { expect, it } from "vitest";
import { type Delivery, createInbox, createRelay, emit } from "../../src/index.ts";
import { type StoreSuite, TestClock, describeStores } from "../support/stores.ts";
import { errorOf, runCli, runJson, storeArgs } from "./run-cli.ts";

interface Listed {
  readonly events: readonly Record<string, unknown>[];
  readonly next: string | null;
}

const paid: Delivery = {
  tenant: "acme",
  consumer: "books",
  source: "shop",
  id: "evt-1",
  type: "order.paid",
  subject: "8812",
  data: { amountMinor: 48_000 },
};

/** Five dead letters in the inbox, two in the outbox; all of the inbox in one millisecond. */
async function setUp(suite: StoreSuite) {
  const clock = new TestClock();
  const opened = await suite.open({ clock });
  const { store } = opened;
  const inbox = createInbox({ store, poisonAfter: 1 });
  const closed = (): never => {
    throw new Error("the ledger is closed");
  };
  for (const consumer of ["books", "mail"]) await inbox.receive({ ...paid, consumer }, closed);
  await inbox.receive({ ...paid, id: "evt-2", subject: "8813" }, closed);
  await inbox.receive({ ...paid, id: "evt-3", tenant: "globex" }, closed);
  const { id: messageId } = await inbox.reject({
    tenant: undefined,
    consumer: "books",
    source: "rabbitmq:orders",
    body: Buffer.from("hello\u001b[2J"),
    properties: { routingKey: "orders" },
    error: new Error("no JSON"),
  });
  for (const id of ["out-1", "out-2"]) {
    const event = { tenant: "acme", id, source: "shop", type: "order.booked", subject: "8812" };
    await store.transaction((tx) => emit(tx.outbox, event));
  }
  const published: string[] = [];
  let broken = true;
  const relay = createRelay({
    store,
    poisonAfter: 1,
    publish: async ({ id }) => {
      if (broken) throw new Error("no queue takes it");
      published.push(id);
    },
  });
  await relay.publishOnce();
  await relay.publishOnce();
  broken = false;
  const handled: string[] = [];
  const place = storeArgs(opened);
  const events = (...args: string[]) => runJson(["events", ...args, ...place]);
  const listed = async (...args: string[]) => (await events("list", ...args)).document as Listed;
  const retry = (consumer: string) =>
    inbox.retryDue({ consumer, handler: (_tx, event) => void handled.push(event.id) });
  return { clock, relay, published, handled, place, events, listed, retry, messageId };
}

describeStores("events on the command line", (suite) => {
  it("dead letters are listed page by page, and shown with what they say", async () => {
    const { events, listed, place, messageId } = await setUp(suite);
    const all = await listed();
    expect(all.events).toHaveLength(7);
    expect(all.events.map(({ box }) => box)).toEqual([
      ...Array<string>(5).fill("inbox"),
      "outbox",
      "outbox",
    ]);
    expect(all.events.find(({ id }) => id === "evt-2")).toMatchObject({
      tenant: "acme",
      consumer: "books",
      status: "DEAD",
      error: "the ledger is closed",
      since: "2026-05-28T20:26:40.000Z",
      attempts: 1,
    });
    const pages: Listed[] = [await listed("--limit=3")];
    for (let next = pages[0]?.next; next; next = pages.at(-1)?.next) {
      pages.push(await listed("--limit=3", `--after=${next}`));
    }
    expect(pages.map((page) => page.events.length)).toEqual([3, 3, 1]);
    expect(pages.flatMap((page) => page.events)).toEqual(all.events);
    const ids = async (...args: string[]) => (await listed(...args)).events.map(({ id }) => id);
    expect(await ids("--tenant=globex")).toEqual(["evt-3"]);
    expect(await ids("--consumer=mail")).toEqual(["evt-1"]);
    expect(await ids("--subject=8813")).toEqual(["evt-2"]);
    expect(await ids("--box=outbox")).toEqual(["out-2", "out-1"]);
    expect(await ids("--status=PENDING")).toEqual([]);
    const [shown, message, table] = await Promise.all([
      events("show", "out-1", "--tenant=acme"),
      events("show", messageId, "--tenant=(no tenant)"),
      runCli(["events", "show", messageId, "--tenant=(no tenant)", ...place]),
    ]);
    expect(shown.document).toMatchObject({
      event: { error: "no queue takes it", event: { id: "out-1", subject: "8812" } },
    });
    expect(message.document).toMatchObject({
      event: {
        type: null,
        event: null,
        message: { bytes: 9, properties: { routingKey: "orders" } },
      },
    });
    // A message can't clear the screen of who looks at it.
    expect(table.stdout).toContain(String.raw`hello\u001b[2J`);
    const refusals = await Promise.all([
      events("show", "evt-1", "--tenant=acme"),
      events("show", "evt-1", "--tenant=globex"),
      events("list", "--after=there"),
    ]);
    expect(refusals.map(errorOf).map(({ code, exitCode }) => [code, exitCode])).toEqual([
      ["EVENT_AMBIGUOUS", 5],
      ["EVENT_NOT_FOUND", 5],
      ["USAGE", 2],
    ]);
    const forPeople = await runCli(["events", "list", "--limit=2", ...place]);
    expect(forPeople.stdout).toMatch(
      /last error[\s\S]*2 events; for the next page add\n--after inbox-/,
    );
  });

  it("what is redriven is handled or published once; what is given up says who and why", async () => {
    const { clock, relay, published, handled, events, listed, retry, messageId } =
      await setUp(suite);
    const one = await events("redrive", "evt-1", "--tenant=acme", "--consumer=mail");
    expect(one.document).toMatchObject({ redriven: [{ id: "evt-1", status: "PENDING" }] });
    const books = await events("redrive", "--all", "--consumer=books", "--tenant=acme");
    expect(books.document).toMatchObject({ redriven: [{}, {}], left: [] });
    const out = await events("redrive", "--all", "--subject=8812", "--box=outbox");
    expect(out.document).toMatchObject({ redriven: [{ id: "out-1" }, { id: "out-2" }] });
    const all = await events("redrive", "--all", "--consumer=books");
    expect(all.document).toMatchObject({ redriven: [{ id: "evt-3" }], left: [{ id: messageId }] });
    // The command line goes by the database's own clock.
    clock.nowMs = Date.now() + 60_000;
    for (let round = 0; round < 3; round += 1) {
      await retry("books");
      await retry("mail");
      await relay.publishOnce();
    }
    expect(handled.toSorted()).toEqual(["evt-1", "evt-1", "evt-2", "evt-3"]);
    expect(published).toEqual(["out-1", "out-2"]);

    const said = ["--by=Ann Lee", "--reason=sent by hand"];
    const gone = ["discard", messageId, "--tenant=(no tenant)"];
    expect((await events(...gone, ...said)).document).toMatchObject({
      discarded: [{ status: "DISCARDED", discardedBy: "Ann Lee", discardReason: "sent by hand" }],
    });
    expect((await listed()).events).toEqual([]);
    expect((await listed("--all", "--tenant=(no tenant)")).events).toMatchObject([
      { id: messageId, status: "DISCARDED", discardedBy: "Ann Lee" },
    ]);
    const refusals = await Promise.all([
      events(...gone, ...said),
      events("redrive", "out-1", "--tenant=acme"),
      events("redrive", "out-1"),
      events("redrive", "--all"),
      events("redrive", "out-1", "--all", "--consumer=books"),
      events("redrive"),
      events(...gone, "--by=Ann Lee"),
      events(...gone, "--by=Ann Lee", "--reason= "),
    ]);
    expect(refusals.map(errorOf).map(({ code }) => code)).toEqual([
      "EVENT_NOT_DEAD",
      "EVENT_NOT_DEAD",
      ...Array<string>(5).fill("USAGE"),
      "CONFIGURATION_INVALID",
    ]);
  });

  it("a message that is no event is refused by name, and discarded dead letters don't come back", async () => {
    const { events, listed, messageId, relay, published } = await setUp(suite);
    const unreadable = await events("redrive", messageId, "--tenant=(no tenant)");
    expect(errorOf(unreadable)).toMatchObject({ code: "EVENT_UNREADABLE", exitCode: 5 });
    const said = ["--by=Ann Lee", "--reason=told by phone"];
    const out = await events("discard", "--all", "--subject=8812", "--box=outbox", ...said);
    expect(out.document).toMatchObject({ discarded: [{ id: "out-1" }, { id: "out-2" }] });
    expect(errorOf(await events("redrive", "out-1", "--tenant=acme"))["message"]).toContain(
      "is DISCARDED",
    );
    await relay.publishOnce();
    expect(published).toEqual([]);
    expect((await listed("--box=outbox")).events).toEqual([]);
    expect((await listed("--box=outbox", "--all")).events).toMatchObject([
      { id: "out-2", status: "DISCARDED", discardReason: "told by phone" },
      { id: "out-1", status: "DISCARDED" },
    ]);
  });
});
