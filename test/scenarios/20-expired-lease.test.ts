/**
 * A worker that is killed after the effect and before it was recorded: whoever comes after its lease
 * looks before it acts, and what it does then depends on what the provider promises (case 34).
 */
import { expect } from "vitest";
import { hours, minutes } from "../../src/index.ts";
import type { ProviderBehaviour } from "../../src/testing/fake-provider/index.ts";
import { type Crew, type GuardWorker, crewScenario } from "../support/worker-crew.ts";
import type { WorkerContract } from "../support/worker-tool.ts";

/** A tool, and what another worker does about it when it comes so long after the crash. */
interface Heritage {
  readonly orderId: string;
  readonly contract: WorkerContract;
  readonly keys: NonNullable<ProviderBehaviour["keys"]>;
  readonly laterMs: number;
  readonly told: string;
  readonly arrivals: number;
}

const heritages: readonly Heritage[] = [
  {
    orderId: "keyed, and it can be asked",
    contract: {},
    keys: "keyed",
    laterMs: minutes(1),
    told: "REPLAYED",
    arrivals: 1,
  },
  {
    orderId: "keyless, but it can be asked",
    contract: { mode: "strict", keyed: false },
    keys: "unkeyed",
    laterMs: minutes(1),
    told: "REPLAYED",
    arrivals: 1,
  },
  {
    orderId: "keyless, and it can't be asked",
    contract: { mode: "strict", keyed: false, lookUp: false },
    keys: "unkeyed",
    laterMs: minutes(1),
    told: "NEEDS_REVIEW",
    arrivals: 1,
  },
  {
    orderId: "keyed, can't be asked, remembers the key",
    contract: { lookUp: false },
    keys: "keyed",
    laterMs: hours(20),
    told: "EXECUTED",
    arrivals: 2,
  },
  {
    orderId: "keyed, can't be asked, has forgotten the key",
    contract: { lookUp: false },
    keys: "keyed",
    laterMs: hours(24),
    told: "NEEDS_REVIEW",
    arrivals: 1,
  },
];

crewScenario(
  "after a worker was killed between effect and record another looks, resends safely, or asks",
  {},
  async (crew) => {
    const [dying, heir] = await Promise.all([crew.hire(), crew.hire()]);
    crew.provider.behave({ retentionMs: hours(24) });
    for (const heritage of heritages) await begin(crew, dying, heritage);
    await dying.kill();
    crew.assertEffects(heritages.length);

    for (const { contract, orderId } of heritages) {
      await crew.equip(heir, { contract });
      expect({ orderId, told: await tell(heir, orderId) }).toEqual({
        orderId,
        told: "IN_PROGRESS",
      });
    }
    let agedMs = 0;
    for (const heritage of heritages) {
      await crew.age(heritage.laterMs - agedMs);
      agedMs = heritage.laterMs;
      await takeOver(crew, heir, heritage);
    }
    crew.assertEffects(heritages.length);
  },
);

/** Has the worker make the effect, and keeps the reply from it. */
async function begin(crew: Crew, worker: GuardWorker, heritage: Heritage): Promise<void> {
  const { orderId, contract, keys } = heritage;
  crew.provider.behave({ keys });
  await crew.equip(worker, { contract });
  crew.provider.fault({ gate: orderId, before: "reply" });
  void worker.call("run", { orderId });
  await crew.provider.parked(orderId);
}

async function takeOver(crew: Crew, worker: GuardWorker, heritage: Heritage): Promise<void> {
  const { orderId, contract, keys, told, arrivals } = heritage;
  crew.provider.behave({ keys });
  await crew.equip(worker, { contract });
  const first = await tell(worker, orderId);
  const second = await tell(worker, orderId);
  const arrived = crew.provider.arrivals().filter(({ bodyText }) => bodyText.includes(orderId));
  expect({ orderId, first, second, arrivals: arrived.length }).toEqual({
    orderId,
    first: told,
    second: told === "NEEDS_REVIEW" ? told : "REPLAYED",
    arrivals,
  });
  const requests = arrived.map(({ key, tag, bodyText }) => ({ key, tag, bodyText }));
  expect(new Set(requests.map((request) => JSON.stringify(request))).size).toBe(1);
}

async function tell(worker: GuardWorker, orderId: string): Promise<string> {
  return (await worker.call("run", { orderId })).told;
}
