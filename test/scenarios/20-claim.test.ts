/**
 * Claiming: of all who claim a key at once, in several processes, one gets it, and every other is
 * told so in good order (cases 23, 24).
 */
import { expect, it } from "vitest";
import { type Point, isNeverTwiceError } from "../../src/index.ts";
import { startWorkers, whenSettled } from "../support/processes.ts";
import { describeStores } from "../support/stores.ts";
import { crewScenario } from "../support/worker-crew.ts";
import { claimParams } from "../support/worker-params.ts";
import { placeOf } from "../support/worker-place.ts";
import type { StoreCommands } from "../support/worker-store.ts";
import { scenario } from "../support/world.ts";

describeStores("a claim of a key that exists", (suite) => {
  it("returns the row as it is and is not taken for a new one", async () => {
    const { store } = await suite.open();
    const first = claimParams("k");
    const owner = await store.claim(first);
    const loser = await store.claim(claimParams("k", { fingerprint: "other", arguments: "{}" }));
    expect(owner.acquisitionId).toBe(first.acquisitionId);
    expect(loser).toMatchObject({ ...owner, journalSeq: 3, readAtMs: expect.any(Number) });
  });

  it("is recognised as one's own when the first acknowledgement was lost", async () => {
    const { store } = await suite.open();
    const params = claimParams("k");
    const first = await store.claim(params);
    const again = await store.claim(params);
    expect([again.acquisitionId, again.token]).toEqual([params.acquisitionId, first.token]);
  });
});

describeStores("fifty parallel claims of each key, from four processes", (suite) => {
  it("create each key once, and each claim is answered", async () => {
    const opened = await suite.open();
    const keys = Array.from({ length: 200 }, (_, index) => `key-${String(index).padStart(3, "0")}`);
    const workers = await startWorkers<StoreCommands>("worker-store.ts", 4);
    await Promise.all(workers.map((worker) => worker.call("open", { place: placeOf(opened) })));
    const created: string[] = [];
    // Key by key for some, so that all claims of a key meet; many at once, in another order in each
    // process, for the others.
    const parts = [
      { keys: keys.slice(0, 10), together: 1, turn: 0 },
      { keys: keys.slice(10), together: 38, turn: 38 },
    ];
    for (const { keys: some, together, turn } of parts) {
      const orders = workers.map((worker, index) => {
        const turned = [...some.slice(index * turn), ...some.slice(0, index * turn)];
        return worker.call("claim", { keys: turned, copies: index < 2 ? 13 : 12, together });
      });
      const reports = await Promise.all(orders);
      expect(reports.flatMap((report) => report.failures)).toEqual([]);
      expect(reports.reduce((sum, report) => sum + report.answers, 0)).toBe(50 * some.length);
      created.push(...reports.flatMap((report) => report.created));
    }
    expect(created.toSorted()).toEqual(keys);
  });
});

crewScenario("of four processes that run one intent at once", {}, async (crew) => {
  const workers = await Promise.all(Array.from({ length: 4 }, () => crew.hire()));
  crew.provider.fault({ gate: "in flight" });
  const running = workers.map((worker) => worker.call("run", { orderId: "8812" }));
  await crew.provider.parked("in flight");
  // The one in flight can't be answered yet, so these three are the losers.
  await whenSettled(running, 3);
  crew.provider.release("in flight");
  const answers = await Promise.all(running);
  expect(answers.map((answer) => answer.told).toSorted()).toEqual([
    "EXECUTED",
    "IN_PROGRESS",
    "IN_PROGRESS",
    "IN_PROGRESS",
  ]);
  const again = await Promise.all(workers.map((worker) => worker.call("run", { orderId: "8812" })));
  expect(again.map((answer) => answer.told)).toEqual(Array.from({ length: 4 }, () => "REPLAYED"));
  crew.assertEffects(1);
});

scenario(
  "callers that meet between their arrival and the claim get one execution and conflicts, no fault",
  {},
  async (world) => {
    // Everybody waits right before the claim until all have arrived.
    const arrivals: (() => void)[] = [];
    const meeting = async ({ name }: Point): Promise<void> => {
      if (name !== "before-claim") return;
      await new Promise<void>((resolve) => {
        arrivals.push(resolve);
        if (arrivals.length === 3) for (const goOn of arrivals) goOn();
      });
    };
    const guards = await Promise.all(
      Array.from({ length: 3 }, () => world.another({ onPoint: meeting })),
    );
    world.provider.fault({ gate: "in flight" });
    const running = guards.map((guard) => world.run({ guard }));
    await world.provider.parked("in flight");
    await whenSettled(running, 2);
    world.provider.release("in flight");
    const answers = await Promise.all(running);

    expect(answers.map((answer) => answer.told).toSorted()).toEqual([
      "EXECUTED",
      "IN_PROGRESS",
      "IN_PROGRESS",
    ]);
    for (const { error } of answers) {
      if (isNeverTwiceError(error))
        expect([error.entry.httpStatus, error.cause]).toEqual([409, undefined]);
    }
    expect((await world.run()).told).toBe("REPLAYED");
    world.assertEffects(1);
  },
);
