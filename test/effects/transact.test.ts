/**
 * `transact`: claim, effect, DONE and events commit together or not at all, so that a duplicate makes
 * no second effect and a rollback leaves nothing. Judged by the rows of the effect's own table.
 */
import { expect, it } from "vitest";
import { z } from "zod";
import {
  type EffectStore,
  type TransactCall,
  createGuard,
  createTransact,
  defineTool,
  defineTransactTool,
} from "../../src/index.ts";
import { codeOf } from "../support/flow-world.ts";
import { type OpenStore, type StoreSuite, describeStores } from "../support/stores.ts";

interface SqliteDriver {
  prepare(sql: string): { run(...values: unknown[]): unknown };
}
interface PostgresDriver {
  query(sql: string, values?: unknown[]): Promise<unknown>;
}

type Inside = (call: TransactCall<unknown>) => Promise<void> | void;

const credit = { orderId: "8812", amountMinor: 48_000 };
const acme = { tenant: "acme" };

async function shop(suite: StoreSuite) {
  const opened = await suite.open();
  await opened.sql(
    "create table :schema.credits (order_id text not null, amount integer not null)",
  );
  const hooks: { inside: Inside; end: Inside } = { inside: () => {}, end: () => {} };
  const tool = defineTransactTool({
    name: "credit_order",
    arguments: z.object({ orderId: z.string(), amountMinor: z.int() }),
    intent: ({ args }) => `credit:${args.orderId}`,
    businessArguments: ["orderId", "amountMinor"],
    execute: async ({ orderId, amountMinor }, call) => {
      await hooks.inside(call);
      await write(opened, call.tx.driver, orderId, amountMinor);
      await call.emit({ type: "order.credited", subject: orderId, data: { amountMinor } });
      await hooks.end(call);
      return { orderId };
    },
  });
  const count = async (table: string): Promise<number> => {
    const [row] = await opened.sql(`select count(*) as n from :schema.${table}`);
    return Number(row?.["n"]);
  };
  const counts = async () => ({
    credits: await count("credits"),
    operations: await count("operations"),
    journal: await count("journal"),
    outbox: await count("outbox"),
  });
  const runOn = (store: EffectStore, args: unknown = credit) =>
    createTransact({ store })(tool, args, acme);
  return { opened, tool, hooks, counts, runOn, run: (args?: unknown) => runOn(opened.store, args) };
}

async function write(
  { kind, schema }: OpenStore,
  driver: unknown,
  orderId: string,
  amountMinor: number,
): Promise<void> {
  if (kind === "sqlite") {
    const insert = "insert into nevertwice_credits values (?, ?)";
    (driver as SqliteDriver).prepare(insert).run(orderId, amountMinor);
    return;
  }
  const insert = `insert into "${schema}".credits values ($1, $2)`;
  await (driver as PostgresDriver).query(insert, [orderId, amountMinor]);
}

const nothing = { credits: 0, operations: 0, journal: 0, outbox: 0 };

describeStores("transact", (suite) => {
  it("leaves nothing when the effect throws at its begin or at its end, and can then be had", async () => {
    const { hooks, counts, run } = await shop(suite);
    for (const place of ["inside", "end"] as const) {
      hooks[place] = () => {
        throw new Error("out of stock");
      };
      await expect(run()).rejects.toThrow("out of stock");
      expect(await counts()).toEqual(nothing);
      hooks[place] = () => {};
    }
    expect(await run()).toMatchObject({ replayed: false, value: { orderId: "8812" } });
    expect(await counts()).toMatchObject({ credits: 1, operations: 1, outbox: 1 });
  });

  it("makes one effect of twenty duplicates over two connections", async () => {
    const { opened, counts, runOn } = await shop(suite);
    const stores = [opened.store, await opened.again()];
    const told = await Promise.all(
      Array.from({ length: 20 }, (_, index) => runOn(stores[index % 2] ?? opened.store)),
    );
    expect(told.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(await counts()).toMatchObject({ credits: 1, operations: 1, outbox: 1 });
  });

  it("refuses other arguments under the same intent, and writes nothing", async () => {
    const { counts, run } = await shop(suite);
    await run();
    expect(await codeOf(run({ ...credit, amountMinor: 1 }))).toBe("PAYLOAD_MISMATCH");
    expect(await codeOf(run({ orderId: 1 }))).toBe("ARGUMENTS_INVALID");
    expect(await counts()).toMatchObject({ credits: 1, operations: 1, outbox: 1 });
  });

  it("refuses a guarded call and another transaction inside, and nothing of it is left", async () => {
    const { opened, hooks, counts, run } = await shop(suite);
    const guard = await createGuard({ store: opened.store });
    let sent = 0;
    const mail = defineTool({
      name: "send_mail",
      kind: "non-idempotent",
      arguments: z.object({ to: z.string() }),
      intent: ({ args }) => `mail:${args.to}`,
      businessArguments: ["to"],
      contract: { timeoutMs: 1000, flightMs: 1000 },
      execute: () => {
        sent += 1;
      },
    });
    const misuses: Inside[] = [
      async () => void (await guard.run(mail, { to: "a" }, acme)),
      async () => void (await opened.store.transaction(() => 1)),
    ];
    for (const misuse of misuses) {
      hooks.inside = misuse;
      expect(await codeOf(run())).toBe("TRANSACTION_OPEN");
    }
    expect(sent).toBe(0);
    expect(await counts()).toEqual(nothing);
  });

  it("does not call it done when the database has given the transaction up", async () => {
    const { opened, hooks, counts, run } = await shop(suite);
    if (opened.kind !== "postgres") return;
    hooks.end = async ({ tx }) => {
      await (tx.driver as PostgresDriver).query("select 1 / 0").catch(() => {});
    };
    expect(await codeOf(run())).toBe("TRANSACTION_ABORTED");
    expect(await counts()).toEqual(nothing);
  });

  it("lets statements of others on the same connection wait for it", async () => {
    const { opened, hooks, run } = await shop(suite);
    let release = (): void => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    let begin = (): void => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    hooks.inside = async () => {
      begin();
      await gate;
      throw new Error("rolled back");
    };
    const running = codeOf(run());
    await begun;
    const guard = await createGuard({ store: await opened.again() });
    const outside = opened.store.outbox.emit({
      tenant: "acme",
      id: "outside",
      type: "t",
      subject: null,
      event: "{}",
      retentionMs: 1000,
    });
    release();
    expect(await running).toBe("other: Error: rolled back");
    expect(await outside).toMatchObject({ id: "outside" });
    // The rollback took nothing of the others with it.
    const [row] = await opened.sql("select count(*) as n from :schema.outbox");
    expect(Number(row?.["n"])).toBe(1);
    expect(guard).toBeDefined();
  });
});
