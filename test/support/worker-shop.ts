/** A worker that keeps a shop in its size. Started by `startWorker("worker-shop.ts")`. */
import { createEnsure, createGuard, seconds } from "../../src/index.ts";
import type { EffectStore } from "../../src/ledger/transaction.ts";
import { shopTool } from "./shop-deployment.ts";
import { obey } from "./worker-commands.ts";
import { type Place, openPlace } from "./worker-place.ts";

/** What a worker has to do. */
export interface ShopOrder {
  readonly place: Place;
  readonly url: string;
  readonly size: number;
  readonly version: number;
}

const commands = {
  /** Asks for the state, waits for others who are at it, and returns whether it made a change. */
  size: async ({ place, url, ...args }: ShopOrder): Promise<boolean> => {
    const store = openPlace(place) as EffectStore;
    const ensure = createEnsure({ store, guard: await createGuard({ store }) });
    const tool = await shopTool(url, { timeoutMs: 20_000, flightMs: 5000, observeEveryMs: 50 });
    const context = { tenant: "acme", onInProgress: { waitMs: seconds(60) } };
    return (await ensure(tool, args, context)).changed;
  },
};

obey(commands);

export type ShopCommands = typeof commands;
