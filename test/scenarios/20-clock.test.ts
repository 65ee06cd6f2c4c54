/**
 * Clocks: whatever a worker's own clock says, leases are written and judged by the store's (case 35).
 */
import { expect, vi } from "vitest";
import { minutes, seconds } from "../../src/index.ts";
import { crewScenario } from "../support/worker-crew.ts";
import { scenario } from "../support/world.ts";

crewScenario(
  "two workers whose clocks are twenty minutes apart agree on a lease of a minute",
  { leaseMs: minutes(1), timeoutMs: 20_000 },
  async (crew) => {
    const [fast, slow] = await Promise.all([crew.hire(), crew.hire()]);
    const fastNow = await fast.call("shiftDate", { byMs: minutes(10) });
    await slow.call("shiftDate", { byMs: minutes(-10) });
    expect(Date.parse(fastNow) - Date.now()).toBeGreaterThan(minutes(9));

    crew.provider.fault({ gate: "reply", before: "reply" });
    const owner = fast.call("run", { orderId: "8812" });
    await crew.provider.parked("reply");
    const times = await crew.opened.sql(
      "select created_at_ms, first_armed_at_ms, lease_until_ms from :schema.operations",
    );
    const ages = Object.values(times[0] ?? {}).map((atMs) => Math.abs(Number(atMs) - Date.now()));
    expect(ages).toHaveLength(3);
    for (const ageMs of ages) expect(ageMs).toBeLessThan(minutes(2));

    await crew.age(seconds(30));
    expect((await slow.call("run", { orderId: "8812" })).told).toBe("IN_PROGRESS");
    await crew.age(seconds(31));
    const taker = await slow.call("run", { orderId: "8812" });
    expect(taker.told).toBe("REPLAYED");
    crew.provider.release("reply");
    expect((await owner).value).toEqual(taker.value);
    crew.assertEffects(1);
  },
);

crewScenario("a clock that steps back during a call changes nothing", {}, async (crew) => {
  const worker = await crew.hire();
  crew.provider.fault({ gate: "reply", before: "reply" });
  const call = worker.call("run", { orderId: "8812" });
  await crew.provider.parked("reply");
  await worker.call("shiftDate", { byMs: minutes(-10) });
  crew.provider.release("reply");
  expect((await call).told).toBe("EXECUTED");
  const [row] = await crew.opened.sql(
    "select settled_at_ms - created_at_ms as took_ms from :schema.operations",
  );
  expect(Number(row?.["took_ms"])).toBeGreaterThanOrEqual(0);
  await worker.call("shiftDate", { byMs: minutes(10) });
  expect((await worker.call("run", { orderId: "8812" })).told).toBe("REPLAYED");
  crew.assertEffects(1);
});

for (const byMs of [minutes(-10), minutes(10), minutes(60 * 24 * 400)]) {
  scenario(
    `a worker's clock that steps by ${byMs} ms between claim and answer has no influence`,
    {},
    async (world) => {
      vi.useFakeTimers({ toFake: ["Date"] });
      try {
        world.provider.fault({ gate: "reply", before: "reply" });
        const owner = world.run();
        await world.provider.parked("reply");
        vi.setSystemTime(Date.now() + byMs);
        expect((await world.run({ guard: await world.another() })).told).toBe("IN_PROGRESS");
        world.provider.release("reply");
        expect((await owner).told).toBe("EXECUTED");
        vi.setSystemTime(Date.now() - 2 * byMs);
        expect((await world.run({ guard: await world.another() })).told).toBe("REPLAYED");
        const { createdAtMs, settledAtMs, leaseUntilMs } = await world.row();
        expect([createdAtMs, settledAtMs, leaseUntilMs]).toEqual(
          [0, 0, 0].map(() => world.clock.nowMs),
        );
        world.assertEffects(1);
      } finally {
        vi.useRealTimers();
      }
    },
  );
}
