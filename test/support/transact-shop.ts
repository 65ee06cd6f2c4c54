/** A shop whose credits are rows of the store's own database: what tests of `transact` share. */
import { z } from "zod";
import {
  type EffectStore,
  type TransactCall,
  createTransact,
  defineTransactTool,
} from "../../src/index.ts";
import type { OpenStore, StoreSuite } from "./stores.ts";

interface SqliteDriver {
  prepare(sql: string): { run(...values: unknown[]): unknown };
}
/** What an effect has in hand on PostgreSQL. */
export interface PostgresDriver {
  query(query: string | { text: string; values: unknown[] }): Promise<unknown>;
}

/** What a test does in the middle of the effect. */
export type Inside = (call: TransactCall<unknown>) => Promise<void> | void;

export const credit = { orderId: "8812", amountMinor: 48_000 };
export const acme = { tenant: "acme" };

/** `inside` runs before the effect's own write, `end` after its event. */
export async function openShop(suite: StoreSuite) {
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
  const text = `insert into "${schema}".credits values ($1, $2)`;
  await (driver as PostgresDriver).query({ text, values: [orderId, amountMinor] });
}
