/**
 * Leases: a lease of any length means the same number of milliseconds to everybody (case 30), and a
 * worker that lost it is told so, whatever it wants to write (case 32).
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import { decide } from "../../src/ledger/decide.ts";
import { days, hours } from "../../src/index.ts";
import { TestClock, describeStores } from "../support/stores.ts";
import { claimParams } from "../support/worker-params.ts";
import { PointGate } from "../support/worker-wrappers.ts";
import { scenario } from "../support/world.ts";

const namedLeases = [1, 999, 1000, hours(1), days(30)];

describeStores("a lease of any length", (suite) => {
  it("holds to the millisecond, by the decision and by the take-over alike", async () => {
    const clock = new TestClock();
    const { store } = await suite.open({ clock });
    let count = 0;
    const holds = async (leaseMs: number): Promise<void> => {
      count += 1;
      const { token, tenant, key } = await store.claim(claimParams(`key-${count}`, { leaseMs }));
      const taker = { tenant, key, token, acquisitionId: "b", leaseMs, detail: "{}" };
      const another = { fingerprint: "fingerprint", acquisitionId: "b" };

      clock.advance(leaseMs - 1);
      const alive = await store.claim(claimParams(key));
      expect(decide(alive, another)).toEqual({ kind: "in-progress", leaseLeftMs: 1 });
      expect(await store.takeOver(taker)).toBeUndefined();

      clock.advance(1);
      const over = await store.read({ tenant, key });
      expect(over && decide(over, another)).toEqual({ kind: "take-over" });
      const taken = await store.takeOver(taker);
      expect(taken?.leaseUntilMs).toBe(clock.nowMs + leaseMs);

      clock.advance(leaseMs + 1);
      const again = { ...taker, token: taken?.token ?? 0, acquisitionId: "c" };
      expect(await store.takeOver(again)).toMatchObject({ acquisitionId: "c" });
    };
    for (const leaseMs of namedLeases) await holds(leaseMs);
    const leases = fc.integer({ min: 1, max: days(365) });
    await fc.assert(fc.asyncProperty(leases, holds), { numRuns: 25 });
  });
});

for (const [leaseMs, timeoutMs] of [
  [hours(1), 20_000],
  [days(30), 20_000],
  [21_000, 20_000],
] as const) {
  scenario(
    `a lease of ${leaseMs} ms keeps others away until its last millisecond`,
    { contract: { leaseMs, timeoutMs } },
    async (world) => {
      world.provider.fault({ gate: "in flight", before: "reply" });
      const owner = world.run();
      await world.provider.parked("in flight");
      const guard = await world.another();
      world.advance(leaseMs - 1);
      expect((await world.run({ guard })).told).toBe("IN_PROGRESS");
      world.advance(2);
      expect((await world.run({ guard })).told).toBe("REPLAYED");
      world.provider.release("in flight");
      await owner;
      world.assertEffects(1);
    },
  );
}

scenario(
  "a worker that wakes after another took over can't settle with a refusal",
  { contract: { leaseMs: 30_000 } },
  async (world) => {
    const [atSettle, atLookUp] = [new PointGate("before-settle"), new PointGate("before-look-up")];
    world.provider.fault({ decline: true });
    const zombie = world.run({ guard: await world.another({ onPoint: atSettle.onPoint }) });
    await Promise.race([atSettle.reached, zombie]);
    world.advance(30_001);
    const taker = world.run({ guard: await world.another({ onPoint: atLookUp.onPoint }) });
    await Promise.race([atLookUp.reached, taker]);
    const taken = await world.row();

    atSettle.open();
    expect((await zombie).told).toBe("LEASE_LOST");
    expect(await world.row()).toEqual(taken);
    atLookUp.open();
    expect((await taker).told).toBe("OPERATION_FAILED");
    expect((await world.run()).told).toBe("OPERATION_FAILED");
    world.assertEffects(0);
  },
);

scenario(
  "a worker that wakes with an unknown outcome after another settled gets the stored one",
  { contract: { leaseMs: 30_000 } },
  async (world) => {
    const atSettle = new PointGate("before-settle");
    world.provider.fault({ dropReplyAfterCommit: true });
    const zombie = world.run({ guard: await world.another({ onPoint: atSettle.onPoint }) });
    await Promise.race([atSettle.reached, zombie]);
    world.advance(30_001);
    const taker = await world.run({ guard: await world.another() });
    expect(taker.told).toBe("REPLAYED");
    const settled = await world.row();

    atSettle.open();
    const woken = await zombie;
    expect([woken.told, woken.outcome?.value]).toEqual(["REPLAYED", taker.outcome?.value]);
    expect(await world.row()).toEqual(settled);
    world.assertEffects(1);
  },
);

scenario(
  "a worker that wakes with a success after another took over adds what it knows",
  { contract: { leaseMs: 30_000 } },
  async (world) => {
    world.provider.fault({ gate: "in flight" });
    const zombie = world.run();
    await world.provider.parked("in flight");
    world.advance(30_001);
    // The key is in use at the provider, so the taker can neither find nor send anything.
    const taker = await world.run({ guard: await world.another() });
    expect(taker.told).toBe("OUTCOME_UNKNOWN");
    expect(await world.row()).toMatchObject({ status: "UNKNOWN", attempts: 2 });

    world.provider.release("in flight");
    expect((await zombie).told).toBe("EXECUTED");
    expect((await world.run({ guard: await world.another() })).told).toBe("REPLAYED");
    world.assertEffects(1);
  },
);
