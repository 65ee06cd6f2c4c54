/**
 * Scenarios whose workers are operating-system processes: on each store, by the database's own clock,
 * with a provider that keeps the ledger. Each is also played with pass-through guards, and must break.
 */
import { expect, onTestFinished } from "vitest";
import { type FakeProvider, startFakeProvider } from "../../src/testing/fake-provider/index.ts";
import { passThroughGuard } from "./pass-through.ts";
import { type Worker, startWorker } from "./processes.ts";
import { itHoldsAndCanFail } from "./scenario.ts";
import { type OpenStore, describeStores } from "./stores.ts";
import type { GuardCommands, GuardOrder } from "./worker-guard.ts";
import { placeOf } from "./worker-place.ts";
import type { WorkerContract } from "./worker-tool.ts";

/** A guarded worker. */
export type GuardWorker = Worker<GuardCommands>;

export interface Crew {
  readonly opened: OpenStore;
  readonly provider: FakeProvider;
  readonly passThrough: boolean;
  /** Starts a worker with a guard on the store. */
  hire(change?: Partial<GuardOrder>): Promise<GuardWorker>;
  /** Gives a worker another guard; calls under way go on with the one they have. */
  equip(worker: GuardWorker, change: Partial<GuardOrder>): Promise<void>;
  /** Makes everything that is stored older, and moves the provider's clock on. */
  age(spanMs: number): Promise<void>;
  statusOf(): Promise<readonly string[]>;
  /** Asserts how many effects the ledger holds. THE verdict. */
  assertEffects(count: number): void;
}

/** Registers the scenario on both stores, and the check that it can fail. */
export function crewScenario(
  title: string,
  contract: WorkerContract,
  play: (crew: Crew) => Promise<void>,
): void {
  describeStores(title, (suite) => {
    itHoldsAndCanFail({
      build: async (create) => gather(await suite.open(), contract, create === passThroughGuard),
      play,
      limitMs: 8000,
    });
  });
}

const agingColumns = [
  "lease_until_ms",
  "due_at_ms",
  "quiet_until_ms",
  "first_armed_at_ms",
  "last_armed_at_ms",
  "created_at_ms",
  "settled_at_ms",
];

async function gather(
  opened: OpenStore,
  contract: WorkerContract,
  passThrough: boolean,
): Promise<Crew> {
  const provider = await startFakeProvider();
  onTestFinished(() => provider.close());
  const equip: Crew["equip"] = (worker, change) => {
    const place = placeOf(opened);
    const order = { place, providerUrl: provider.url, contract, passThrough, ...change };
    return worker.call("open", order);
  };
  return {
    opened,
    provider,
    passThrough,
    hire: async (change = {}) => {
      const worker = await startWorker<GuardCommands>("worker-guard.ts");
      await equip(worker, change);
      return worker;
    },
    equip,
    age: async (spanMs) => {
      const older = agingColumns.map((column) => `${column} = ${column} - ${spanMs}`);
      await opened.sql(`update :schema.operations set ${older.join(", ")}`);
      provider.advance(spanMs);
    },
    statusOf: async () => {
      const rows = await opened.sql("select status from :schema.operations order by key");
      return rows.map((row) => String(row["status"]));
    },
    assertEffects: (count) =>
      expect(provider.ledger(), "effects in the provider's ledger").toHaveLength(count),
  };
}
