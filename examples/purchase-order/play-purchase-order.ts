/**
 * The story: one worker is killed between creating the order and saving it, the next one after
 * saving and before it can tell anybody. The third finds the order.
 *
 * @module
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import Database from "better-sqlite3";
import { SqliteStore } from "nevertwice/sqlite";
import { ordersTable } from "./place-order.ts";
import type { Stand, WorkerNews } from "./worker.ts";

/** What there is in the end. */
export interface OrderStory {
  readonly orders: readonly { readonly orderId: number; readonly totalMinor: number }[];
  /** Ids of the events in the outbox. */
  readonly events: readonly string[];
  /** What was saved after each worker. */
  readonly ordersAfter: readonly number[];
  readonly lastTold: WorkerNews;
}

/** Plays the story on a SQLite file that is new. `tell` gets one line per worker. */
export async function playPurchaseOrder(
  file: string,
  tell: (line: string) => void,
): Promise<OrderStory> {
  const database = new Database(file);
  try {
    const store = new SqliteStore(database);
    await store.migrate();
    database.exec(ordersTable);
    const ordersAfter: number[] = [];
    const count = (): number => {
      ordersAfter.push(readOrders(database).length);
      return ordersAfter.at(-1) ?? 0;
    };
    await runWorker(file, "created", 1);
    tell(`worker 1 created the order and was killed before the commit: ${count()} orders`);
    await runWorker(file, "saved", 2);
    tell(`worker 2 saved the order and was killed before it told anybody: ${count()} order`);
    const lastTold = await runWorker(file, "nowhere", 3);
    tell(`worker 3 got ${JSON.stringify(lastTold)}: ${count()} order`);
    const events = await store.outbox.list({
      tenant: null,
      status: null,
      beforePosition: null,
      limit: 100,
    });
    const orders = readOrders(database);
    return { orders, events: events.map(({ id }) => id), ordersAfter, lastTold };
  } finally {
    database.close();
  }
}

function readOrders(database: Database.Database): OrderStory["orders"] {
  return database
    .prepare("select order_id as orderId, total_minor as totalMinor from purchase_orders")
    .all() as OrderStory["orders"][number][];
}

/** Runs a worker to its end, or kills it where it stands. Resolves to the last thing that it said. */
async function runWorker(file: string, standAt: Stand, reading: number): Promise<WorkerNews> {
  const script = fileURLToPath(new URL("worker.ts", import.meta.url));
  const tsx = import.meta.resolve("tsx");
  const worker = fork(script, [file, standAt, `${reading}`], { execArgv: ["--import", tsx] });
  const gone = once(worker, "exit");
  const news = await firstNews(worker);
  if ("stands" in news) worker.kill("SIGKILL");
  await gone;
  return news;
}

function firstNews(worker: ChildProcess): Promise<WorkerNews> {
  return new Promise((resolve, reject) => {
    worker.once("message", (news) => resolve(news as WorkerNews));
    worker.once("error", reject);
    worker.once("exit", (code, signal) =>
      reject(new Error(`the worker ended before it said anything (${signal ?? code})`)),
    );
  });
}
