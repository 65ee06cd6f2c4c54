/**
 * What the database may do to a transaction of `transact`: end it as a deadlock, refuse to serialise
 * it, or lose its answer to the commit. The whole unit runs again, or the same call finds out; the
 * effect stays one. Judged by the rows of the effect's own table.
 */
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { createTransact } from "../../src/index.ts";
import { createDatabase } from "../support/postgres-database.ts";
import {
  type OpenStore,
  type StoreSuite,
  describeStores,
  openPostgres,
} from "../support/stores.ts";
import { codeOf } from "../support/flow-world.ts";
import { meeting } from "../support/meeting.ts";
import { type PostgresDriver, acme, credit, openShop } from "../support/transact-shop.ts";
import { type Watcher, openWatched } from "../support/watched-store.ts";

const hasPostgres = inject("postgresUrl") !== null;

/** The suite of `describeStores`, for what only PostgreSQL does. */
async function postgresSuite(): Promise<StoreSuite> {
  const database = await createDatabase(inject("postgresUrl") ?? "");
  const open = async (): Promise<OpenStore> => {
    const opened = await openPostgres(database.url);
    onTestFinished(() => opened.close());
    return opened;
  };
  return { kind: "postgres", open };
}

const driverOf = (tx: { readonly driver: unknown }): PostgresDriver => tx.driver as PostgresDriver;

describe.skipIf(!hasPostgres)("a transaction that PostgreSQL ends", () => {
  it("as a deadlock runs again as a whole, and each effect is one", async () => {
    const { opened, hooks, counts, runOn } = await openShop(await postgresSuite());
    await opened.sql("create table :schema.stock (item text primary key, left_over integer)");
    await opened.sql("insert into :schema.stock values ('a', 100), ('b', 100)");
    const meet = meeting(2);
    const runs = new Map<string, number>();
    hooks.inside = async ({ tx, key }) => {
      const number = (runs.get(key) ?? 0) + 1;
      runs.set(key, number);
      const isFirst = [...runs.keys()][0] === key;
      const take = (item: string) =>
        driverOf(tx).query(
          `update "${opened.schema}".stock set left_over = left_over - 1 where item = '${item}'`,
        );
      await take(isFirst ? "a" : "b");
      if (number === 1) await meet();
      await take(isFirst ? "b" : "a");
    };
    const told = await Promise.all([
      runOn(opened.store, { ...credit, orderId: "1" }),
      runOn(await opened.again(), { ...credit, orderId: "2" }),
    ]);
    expect(told.map(({ replayed }) => replayed)).toEqual([false, false]);
    // One of them was ended by the database, and ran a second time.
    expect([...runs.values()].toSorted((a, b) => a - b)).toEqual([1, 2]);
    expect(await counts()).toMatchObject({ credits: 2, operations: 2, outbox: 2 });
    const stock = await opened.sql("select left_over from :schema.stock");
    expect(stock.map((row) => row["left_over"])).toEqual([98, 98]);
  });

  it.each(["40001", "40P01", "55P03"])("with %s runs again as a whole", async (state) => {
    const { hooks, counts, run } = await openShop(await postgresSuite());
    let runs = 0;
    hooks.end = async ({ tx }) => {
      runs += 1;
      if (runs > 2) return;
      await driverOf(tx).query(`do $$ begin raise exception using errcode = '${state}'; end $$`);
    };
    expect(await run()).toMatchObject({ replayed: false });
    expect(runs).toBe(3);
    expect(await counts()).toMatchObject({ credits: 1, operations: 1, outbox: 1 });
    expect(await run()).toMatchObject({ replayed: true });
    expect(runs).toBe(3);
  });

  it("with 40001 at its commit runs again as a whole", async () => {
    const { opened, counts, run } = await openShop(await postgresSuite());
    await opened.sql("create sequence :schema.commits");
    await opened.sql(`create function :schema.refuse_first() returns trigger language plpgsql as $$
      begin
        if nextval('"${opened.schema}".commits') = 1 then
          raise exception using errcode = '40001';
        end if;
        return null;
      end $$`);
    await opened.sql(`create constraint trigger refuse_first after insert on :schema.credits
      deferrable initially deferred for each row execute function :schema.refuse_first()`);
    expect(await run()).toMatchObject({ replayed: false });
    const [row] = await opened.sql("select last_value from :schema.commits");
    expect(Number(row?.["last_value"])).toBe(2);
    expect(await counts()).toMatchObject({ credits: 1, operations: 1, outbox: 1 });
  });

  it("with 40001 for ever is given up within a limit, and nothing of it is left", async () => {
    const { hooks, counts, run } = await openShop(await postgresSuite());
    let runs = 0;
    hooks.end = async ({ tx }) => {
      runs += 1;
      await driverOf(tx).query("do $$ begin raise exception using errcode = '40001'; end $$");
    };
    await expect(run()).rejects.toMatchObject({ code: "40001" });
    expect(runs).toBeLessThanOrEqual(20);
    expect(await counts()).toMatchObject({ credits: 0, operations: 0, outbox: 0 });
    hooks.end = () => {};
    expect(await run()).toMatchObject({ replayed: false });
  });
});

describe.skipIf(!hasPostgres)("the commit of transact", () => {
  async function watchedShop(watcher: Partial<Watcher>) {
    const shop = await openShop(await postgresSuite());
    const watched = await openWatched(shop.opened);
    onTestFinished(() => watched.close());
    const nobody = { before: () => {}, after: () => {} };
    const transact = createTransact({ store: watched.storeFor({ ...nobody, ...watcher }) });
    return { ...shop, runWatched: () => transact(shop.tool, credit, acme) };
  }

  it("that is done, and whose answer is lost, is found out by the same call", async () => {
    let lost = 0;
    const { counts, run, runWatched } = await watchedShop({
      after: (sql) => {
        if (sql !== "commit" || lost > 0) return;
        lost += 1;
        throw Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
      },
    });
    expect(await codeOf(runWatched())).toBe("STORE_UNAVAILABLE");
    expect(lost).toBe(1);
    expect(await counts()).toMatchObject({ credits: 1, operations: 1, outbox: 1 });
    expect(await runWatched()).toMatchObject({ replayed: true });
    expect(await run()).toMatchObject({ replayed: true });
    expect(await counts()).toMatchObject({ credits: 1, operations: 1, outbox: 1 });
  });

  it("is awaited before anybody is answered, the duplicate included (case 109)", async () => {
    let arrive = (): void => {};
    const arrived = new Promise<void>((resolve) => (arrive = resolve));
    let release = (): void => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    const { opened, counts, run, runWatched } = await watchedShop({
      before: async (sql) => {
        if (sql !== "commit") return;
        arrive();
        await released;
      },
    });
    const answers: string[] = [];
    const first = runWatched().then(({ replayed }) => answers.push(`first ${replayed}`));
    await arrived;
    const duplicate = run().then(({ replayed }) => answers.push(`duplicate ${replayed}`));
    const blocked =
      "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
    await expect.poll(() => opened.sql(blocked)).toHaveLength(1);
    expect(answers).toEqual([]);
    expect(await counts()).toMatchObject({ credits: 0, operations: 0, outbox: 0 });
    release();
    await Promise.all([first, duplicate]);
    expect(answers.toSorted()).toEqual(["duplicate true", "first false"]);
    expect(await counts()).toMatchObject({ credits: 1, operations: 1, outbox: 1 });
  });
});

describeStores("many transactions of the same intents in opposite orders", (suite) => {
  it("are all answered, and each intent has one effect (case 112)", async () => {
    const { opened, counts, runOn } = await openShop(suite);
    const orders = Array.from({ length: 20 }, (_, index) => ({ ...credit, orderId: `o${index}` }));
    const stores = [opened.store, await opened.again()];
    const told = await Promise.all(
      [orders, orders.toReversed()].flatMap((all, index) =>
        all.map((args) => runOn(stores[index] ?? opened.store, args)),
      ),
    );
    expect(told.filter(({ replayed }) => !replayed)).toHaveLength(20);
    expect(await counts()).toMatchObject({ credits: 20, operations: 20, outbox: 20 });
  });
});
