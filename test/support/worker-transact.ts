/**
 * A worker that credits orders in the store's own database. Started by
 * `startWorker("worker-transact.ts")`.
 */
import {
  type TransactCall,
  createTransact,
  defineTransactTool,
  isNeverTwiceError,
} from "../../src/index.ts";
import type { PostgresClient } from "../../src/stores/postgres/index.ts";
import type { SqliteDatabase } from "../../src/stores/sqlite/index.ts";
import { dieHere } from "./die-here.ts";
import { passThroughTransact } from "./pass-through.ts";
import { type Watcher, openWatched } from "./watched-store.ts";
import { obey, report } from "./worker-commands.ts";
import type { Place } from "./worker-place.ts";

/** What a worker needs to begin. */
export interface TransactOrder {
  readonly place: Place;
  /** With true each call runs its effect, in a transaction that claims nothing. */
  readonly passThrough: boolean;
}

/** One call. */
export interface CreditOrder {
  readonly orderId: string;
  /** The process dies (SIGKILL) right before or right after this statement, counted from 1. */
  readonly dieAt?: { readonly statement: number; readonly when: "before" | "after" };
  /** Stands still in the transaction, after the effect, until it is told to `goOn`; reports `inside`. */
  readonly standInside?: boolean;
  /** The process ends by itself in the turn in which the answer is there. */
  readonly exitAfter?: boolean;
}

/** What came of it. */
export interface CreditReport {
  /** EXECUTED, REPLAYED, or an error's code. */
  readonly told: string;
  /** The statements that the driver saw, as their first words. */
  readonly statements: readonly string[];
}

let order: TransactOrder | undefined;
let opened: Awaited<ReturnType<typeof openWatched>> | undefined;
let goOn = (): void => {};

const commands = {
  open: async (given: TransactOrder): Promise<void> => {
    await opened?.close();
    order = given;
    opened = await openWatched(given.place);
  },
  credit: async ({
    orderId,
    dieAt,
    standInside,
    exitAfter,
  }: CreditOrder): Promise<CreditReport> => {
    if (order === undefined || opened === undefined) throw new Error("open a store first");
    const statements: string[] = [];
    const watcher: Watcher = {
      before: (sql) => {
        statements.push(sql.trim().split(/\s+/).slice(0, 3).join(" "));
        if (dieAt?.when === "before" && dieAt.statement === statements.length) dieHere();
      },
      after: () => {
        if (dieAt?.when === "after" && dieAt.statement === statements.length) dieHere();
      },
    };
    const store = opened.storeFor(watcher);
    // SQLite's store has set up its connection.
    statements.length = 0;
    const { place, passThrough } = order;
    const tool = creditTool(place, standInside === true);
    const transact = passThrough ? passThroughTransact(store) : createTransact({ store });
    report("asked");
    const told = await toldBy(transact(tool, { orderId, amountMinor: 500 }, { tenant: "acme" }));
    if (exitAfter === true) process.exit(0);
    return { told, statements };
  },
  goOn: (): void => goOn(),
};

/** The commands of this worker. */
export type TransactCommands = typeof commands;

interface CreditArgs extends Record<string, unknown> {
  orderId: string;
  amountMinor: number;
}

function creditTool(place: Place, standInside: boolean) {
  return defineTransactTool({
    name: "credit_order",
    arguments: {
      "~standard": {
        version: 1,
        vendor: "nevertwice-test",
        validate: (value) => ({ value: value as CreditArgs }),
      },
    },
    intent: ({ args }) => `credit:${args.orderId}`,
    businessArguments: ["orderId", "amountMinor"],
    execute: async ({ orderId, amountMinor }, call: TransactCall<unknown>) => {
      await insertCredit(place, call.tx.driver, orderId, amountMinor);
      await call.emit({ type: "order.credited", subject: orderId, data: { amountMinor } });
      if (standInside) {
        report("inside");
        await new Promise<void>((resolve) => (goOn = resolve));
      }
      return { orderId };
    },
  });
}

async function insertCredit(
  { kind, schema }: Place,
  driver: unknown,
  orderId: string,
  amountMinor: number,
): Promise<void> {
  if (kind === "sqlite") {
    const insert = "insert into nevertwice_credits values (?, ?) returning order_id";
    (driver as SqliteDatabase).prepare(insert).all(orderId, amountMinor);
    return;
  }
  const text = `insert into "${schema}".credits values ($1, $2)`;
  await (driver as PostgresClient).query({ text, values: [orderId, amountMinor] });
}

async function toldBy(running: Promise<{ readonly replayed: boolean }>): Promise<string> {
  try {
    return (await running).replayed ? "REPLAYED" : "EXECUTED";
  } catch (error) {
    return isNeverTwiceError(error) ? error.code : String(error);
  }
}

obey(commands);
