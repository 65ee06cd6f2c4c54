/**
 * A worker as a process of its own: places one order in the database that it is given, and stands
 * still where it is told to, so that it can be killed there.
 *
 * @module
 */
import Database from "better-sqlite3";
import { createTransact } from "nevertwice";
import { SqliteStore } from "nevertwice/sqlite";
import { type OrderRequest, placeOrder } from "./place-order.ts";

/** Where a worker can stand still: created, not saved; or saved, nobody told. */
export type Stand = "created" | "saved" | "nowhere";

/** What a worker says. */
export type WorkerNews =
  { readonly stands: Stand } | { readonly orderId: number; readonly replayed: boolean };

const [file = "", standAt = "nowhere", reading = "1"] = process.argv.slice(2);
const database = new Database(file);
const store = new SqliteStore(database);
const transact = createTransact({ store });

/** A model would have decided this; its note differs each time. */
const request: OrderRequest = {
  requisitionId: "R-1042",
  supplierId: "S-7",
  totalMinor: 1_250_000,
  note: `worded for the ${reading}. time`,
};

const tool = placeOrder(() => stand("created"));
const { value, replayed } = await transact(tool, request, { tenant: "acme" });
await stand("saved");
await say({ orderId: (value as { orderId: number }).orderId, replayed });
database.close();
process.disconnect();

async function stand(here: Stand): Promise<void> {
  if (here !== standAt) return;
  await say({ stands: here });
  await new Promise<never>(() => {});
}

/** Resolves when it is written: what a process said before it dies must arrive. */
function say(news: WorkerNews): Promise<void> {
  return new Promise((resolve) => {
    process.send?.(news, undefined, undefined, () => resolve());
  });
}
