/**
 * The second kind of "twice": the orchestrator calls the tool again, because a call timed out, a
 * worker died, or a client dispatched one call two times.
 */
import { expect } from "vitest";
import { stopAt } from "../support/store-faults.ts";
import { scenario } from "../support/world.ts";

scenario(
  "of two calls at once one executes, and the other is told so and changes nothing",
  {},
  async (world) => {
    world.provider.fault({ gate: "in-flight" });
    const first = world.run();
    await world.provider.parked("in-flight");
    const before = await world.row();
    const second = await world.run({ guard: await world.another() });
    const after = await world.row();
    world.provider.release("in-flight");

    expect(second.told).toBe("IN_PROGRESS");
    // A rejected duplicate writes a journal line and nothing else (R12).
    expect(after).toEqual({ ...before, journalSeq: before.journalSeq + 1 });
    expect((await first).told).toBe("EXECUTED");
    const third = await world.run({ guard: await world.another() });
    expect(third.told).toBe("REPLAYED");
    expect(third.outcome?.value).toEqual((await first).outcome?.value);
    world.assertEffects(1);
  },
);

scenario(
  "a call whose worker died after the effect is found by the next one",
  {},
  async (world) => {
    const crash = stopAt("after-execute");
    const dead = world.run({ guard: await world.another({ onPoint: crash.onPoint }) });
    await crash.reached(dead);
    world.assertEffects(1);

    const early = await world.run();
    world.advance(60_000);
    const late = await world.run();

    expect([early.told, late.told]).toEqual(["IN_PROGRESS", "REPLAYED"]);
    expect(world.provider.arrivals()).toHaveLength(1);
    world.assertEffects(1);
  },
);

scenario(
  "a call whose worker died before the send is sent once by the next one",
  {},
  async (world) => {
    const crash = stopAt("before-write");
    const dead = world.run({ guard: await world.another({ onPoint: crash.onPoint }) });
    await crash.reached(dead);
    world.advance(60_000);
    const next = await world.run();

    expect(next.told).toBe("EXECUTED");
    world.assertEffects(1);
  },
);

scenario(
  "fifty calls at once from five guards make one effect and one execution",
  {},
  async (world) => {
    const guards = await Promise.all(Array.from({ length: 5 }, () => world.another()));
    const told = await Promise.all(
      Array.from({ length: 50 }, (_, index) => {
        const guard = guards[index % guards.length];
        return world.run(guard === undefined ? {} : { guard });
      }),
    );
    const kinds = told.map((one) => one.told);

    expect(kinds.filter((kind) => kind === "EXECUTED")).toHaveLength(1);
    expect(kinds.filter((kind) => kind === "IN_PROGRESS" || kind === "REPLAYED")).toHaveLength(49);
    expect((await world.run()).told).toBe("REPLAYED");
    expect(world.provider.arrivals()).toHaveLength(1);
    world.assertEffects(1);
  },
);

scenario(
  "an orchestrator that retries blindly, whatever it is told, gets one effect",
  {},
  async (world) => {
    world.provider.fault(
      { status: 500, effect: true, saved: "success" },
      { status: 503, effect: false },
    );
    const told = [];
    for (let attempt = 1; attempt <= 6; attempt += 1) {
      told.push((await world.run({ guard: await world.another() })).told);
    }
    expect(told).toEqual(["OUTCOME_UNKNOWN", ...Array<string>(5).fill("REPLAYED")]);
    world.assertEffects(1);
  },
);

scenario(
  "a slow worker that was taken over adds its knowledge and no second effect",
  {},
  async (world) => {
    world.provider.fault({ gate: "slow", before: "reply" });
    const slow = world.run();
    await world.provider.parked("slow");
    world.advance(60_000);
    const other = await world.run({ guard: await world.another() });
    world.provider.release("slow");

    expect(other.told).toBe("REPLAYED");
    expect((await slow).outcome?.value).toEqual(other.outcome?.value);
    expect((await world.row()).incident).toBeNull();
    expect(world.provider.arrivals()).toHaveLength(1);
    world.assertEffects(1);
  },
);
