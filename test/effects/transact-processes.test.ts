/**
 * `transact` in processes of the operating system: killed (SIGKILL) right before and right after each
 * of its statements, and two at once on one key. Judged by the rows of the effect's own table.
 */
import { beforeAll, expect, it } from "vitest";
import { type Worker, startWorker, startWorkers } from "../support/processes.ts";
import { type OpenStore, type StoreSuite, describeStores } from "../support/stores.ts";
import type { TransactCommands } from "../support/worker-transact.ts";
import { placeOf } from "../support/worker-place.ts";

type TransactWorker = Worker<TransactCommands>;

async function openBank(suite: StoreSuite) {
  const opened = await suite.open();
  await opened.sql(
    "create table :schema.credits (order_id text not null, amount integer not null)",
  );
  const place = placeOf(opened);
  const prepare = async (worker: TransactWorker, passThrough = false): Promise<TransactWorker> => {
    await worker.call("open", { place, passThrough });
    return worker;
  };
  return {
    opened,
    place,
    /** A process that has the store open. */
    hire: async (passThrough = false) =>
      prepare(await startWorker<TransactCommands>("worker-transact.ts"), passThrough),
    hireTwo: async () => {
      const both = await startWorkers<TransactCommands>("worker-transact.ts", 2);
      return Promise.all(both.map((worker) => prepare(worker)));
    },
    counts: (orderId: string) => countsOf(opened, orderId),
  };
}

/** What is there of the order: in the effect's table, of operations that are DONE, in the outbox. */
async function countsOf(opened: OpenStore, orderId: string) {
  const count = async (what: string): Promise<number> => {
    const [row] = await opened.sql(`select count(*) as n from :schema.${what}`);
    return Number(row?.["n"]);
  };
  return {
    credits: await count(`credits where order_id = '${orderId}'`),
    done: await count(`operations where status = 'DONE' and arguments like '%"${orderId}"%'`),
    open: await count(`operations where status <> 'DONE' and arguments like '%"${orderId}"%'`),
    events: await count(`outbox where subject = '${orderId}'`),
  };
}

const nothing = { credits: 0, done: 0, open: 0, events: 0 };
const once = { credits: 1, done: 1, open: 0, events: 1 };

/** One call's statements, in their order. */
const statementsOf = { begin: 1, claim: 2, effect: 3, outbox: 4, complete: 5, commit: 6 } as const;
type Statement = keyof typeof statementsOf;
const names = Object.keys(statementsOf) as Statement[];

const places = names.flatMap((name) =>
  (["before", "after"] as const).map((when) => [when, name] as const),
);

describeStores("a process killed in the middle of transact", (suite) => {
  let bank: Awaited<ReturnType<typeof openBank>>;
  beforeAll(async () => {
    bank = await openBank(suite);
  });

  it("is killed at all statements that there are", async () => {
    const worker = await bank.hire();
    const { told, statements } = await worker.call("credit", { orderId: "whole" });
    expect(told).toBe("EXECUTED");
    expect(statements).toHaveLength(names.length);
    expect(statements.at(0)?.toLowerCase()).toMatch(/^begin/);
    expect(statements.at(-1)?.toLowerCase()).toMatch(/^commit/);
    expect(await bank.counts("whole")).toEqual(once);
  });

  it.each(places)(
    "%s its %s leaves all or nothing, and a second one makes it one",
    async (when, name) => {
      const orderId = `${name}-${when}`;
      const dying = await bank.hire();
      const dieAt = { statement: statementsOf[name], when };
      await expect(dying.call("credit", { orderId, dieAt })).rejects.toThrow("SIGKILL");
      const committed = name === "commit" && when === "after";
      expect(await bank.counts(orderId)).toEqual(committed ? once : nothing);

      const second = await bank.hire();
      const { told } = await second.call("credit", { orderId });
      expect(told).toBe(committed ? "REPLAYED" : "EXECUTED");
      expect(await bank.counts(orderId)).toEqual(once);
      expect((await second.call("credit", { orderId })).told).toBe("REPLAYED");
      expect(await bank.counts(orderId)).toEqual(once);
    },
  );

  it("after its commit would make a second effect without the claim", async () => {
    const orderId = "unclaimed";
    const dying = await bank.hire(true);
    // Begin, effect, outbox row, commit.
    const dieAt = { statement: 4, when: "after" } as const;
    await expect(dying.call("credit", { orderId, dieAt })).rejects.toThrow("SIGKILL");
    await (await bank.hire(true)).call("credit", { orderId });
    expect(await bank.counts(orderId)).toMatchObject({ credits: 2, done: 0 });
  });

  it("that ends by itself once it is answered leaves DONE behind", async () => {
    const orderId = "answered";
    const worker = await bank.hire();
    await expect(worker.call("credit", { orderId, exitAfter: true })).rejects.toThrow("ended (0)");
    expect(await bank.counts(orderId)).toEqual(once);
  });
});

describeStores("two processes on one key at the same moment", (suite) => {
  it("the one that comes second waits for the transaction under way, and replays", async () => {
    const { opened, hireTwo, counts } = await openBank(suite);
    const [first, second] = await hireTwo();
    const orderId = "8812";
    const holding = first?.call("credit", { orderId, standInside: true });
    await first?.reported("inside");
    const waiting = second?.call("credit", { orderId });
    await second?.reported("asked");
    await untilBlocked(opened);
    expect(await counts(orderId)).toEqual(nothing);
    await first?.call("goOn");
    expect([(await holding)?.told, (await waiting)?.told]).toEqual(["EXECUTED", "REPLAYED"]);
    expect(await counts(orderId)).toEqual(once);
  });

  it("the one that comes second makes the effect when the first one dies", async () => {
    const { opened, hireTwo, counts } = await openBank(suite);
    const [first, second] = await hireTwo();
    const orderId = "8813";
    void first?.call("credit", { orderId, standInside: true });
    await first?.reported("inside");
    const waiting = second?.call("credit", { orderId });
    await second?.reported("asked");
    await untilBlocked(opened);
    await first?.kill();
    expect((await waiting)?.told).toBe("EXECUTED");
    expect(await counts(orderId)).toEqual(once);
  });

  it("thirty times over, one executes and the other replays", async () => {
    const { opened, hireTwo } = await openBank(suite);
    const workers = await hireTwo();
    for (let round = 0; round < 30; round += 1) {
      const orderId = `order-${round}`;
      const both = await Promise.all(workers.map((worker) => worker.call("credit", { orderId })));
      expect(both.map(({ told }) => told).toSorted()).toEqual(["EXECUTED", "REPLAYED"]);
    }
    const [row] = await opened.sql(
      "select count(*) as n, count(distinct order_id) as orders from :schema.credits",
    );
    expect({ n: Number(row?.["n"]), orders: Number(row?.["orders"]) }).toEqual({
      n: 30,
      orders: 30,
    });
  });
});

/** On PostgreSQL the second claim waits for the first's lock; SQLite's waits where nobody can look. */
async function untilBlocked(opened: OpenStore): Promise<void> {
  if (opened.kind === "sqlite") return;
  const blocked =
    "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
  await expect.poll(() => opened.sql(blocked)).toHaveLength(1);
}
