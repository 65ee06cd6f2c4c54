/**
 * What a duplicate does while the first is at work (case 115), and people who click twice (case 106).
 */
import { expect } from "vitest";
import { interceptStore, stopAt } from "../support/store-faults.ts";
import { scenario } from "../support/world.ts";

scenario(
  "a duplicate is told when to come back: a second at least, a minute at most, never after the lease",
  {},
  async (world) => {
    world.provider.fault({ gate: "busy" });
    const busy = world.run();
    await world.provider.parked("busy");
    const retryAfterMs = [];
    for (const stepMs of [0, 22_000, 2500]) {
      world.advance(stepMs);
      const told = await world.run();
      expect(told.told).toBe("IN_PROGRESS");
      const { details } = told.error as { details: Record<string, number> };
      retryAfterMs.push([details["retryAfterMs"], details["leaseLeftMs"]]);
    }
    world.provider.release("busy");
    await busy;

    // The lease of the contract is 25 s.
    expect(retryAfterMs).toEqual([
      [25_000, 25_000],
      [3000, 3000],
      [1000, 500],
    ]);
    world.assertEffects(1);
  },
);

scenario(
  "a duplicate that waits gets the outcome, holding neither connection nor transaction meanwhile",
  {},
  async (world) => {
    // One connection for the waiting one and for the one that it waits for.
    const store = await world.opened.again({ clock: world.clock, poolSize: 1 });
    const guard = await world.another({ store });
    world.provider.fault({ gate: "busy" });
    const busy = world.run({ guard });
    await world.provider.parked("busy");
    const context = { onInProgress: { waitMs: 20_000 } };
    const waiting = Array.from({ length: 5 }, () => world.run({ guard, context }));
    const other = await world.run({ guard });
    world.provider.release("busy");

    expect(other.told).toBe("IN_PROGRESS");
    expect((await busy).told).toBe("EXECUTED");
    const told = (await Promise.all(waiting)).map((one) => one.told);
    expect(told).toEqual(Array(5).fill("REPLAYED"));
    world.assertEffects(1);
  },
);

scenario(
  "a duplicate that waits for a call that dies takes it over when the lease is over",
  {},
  async (world) => {
    const crash = stopAt("after-execute");
    const dead = world.run({ guard: await world.another({ onPoint: crash.onPoint }) });
    await crash.reached(dead);
    let looks = 0;
    const plain = await world.opened.again({ clock: world.clock });
    const store = interceptStore(plain, (method, call) => {
      if (method === "read") looks += 1;
      return call();
    });
    const guard = await world.another({ store });
    const waiting = world.run({ guard, context: { onInProgress: { waitMs: 60_000 } } });
    await expect.poll(() => looks).toBeGreaterThan(1);
    world.advance(60_000);

    expect((await waiting).told).toBe("REPLAYED");
    expect(world.provider.arrivals()).toHaveLength(1);
    world.assertEffects(1);
  },
);

scenario("a duplicate that waits for a refusal is told of the refusal", {}, async (world) => {
  const stop = stopAt("before-settle");
  world.provider.fault({ decline: true });
  const busy = world.run({ guard: await world.another({ onPoint: stop.onPoint }) });
  await stop.reached(busy);
  const waiting = world.run({ context: { onInProgress: { waitMs: 20_000 } } });
  stop.release();
  expect([(await busy).told, (await waiting).told]).toEqual([
    "OPERATION_FAILED",
    "OPERATION_FAILED",
  ]);
  world.assertEffects(0);
});

scenario(
  "a row that a waiting duplicate doesn't see for a moment is claimed anew, and met again",
  {},
  async (world) => {
    let blind = 1;
    const plain = await world.opened.again({ clock: world.clock });
    const store = interceptStore(plain, async (method, call) => {
      if (method !== "read" || blind === 0) return call();
      blind -= 1;
      return undefined;
    });
    world.provider.fault({ gate: "busy" });
    const busy = world.run();
    await world.provider.parked("busy");
    expect((await world.row()).status).toBe("IN_PROGRESS");
    const context = { onInProgress: { waitMs: 20_000 } };
    const waiting = world.run({ guard: await world.another({ store }), context });
    await expect.poll(() => blind).toBe(0);
    world.provider.release("busy");

    expect([(await busy).told, (await waiting).told]).toEqual(["EXECUTED", "REPLAYED"]);
    world.assertEffects(1);
  },
);

scenario("a row that somebody deletes is not taken for a free key", {}, async (world) => {
  expect((await world.run()).told).toBe("EXECUTED");
  await world.opened.sql("delete from :schema.operations");
  const told = await world.run();

  // Its journal is still there.
  expect(told.told).toBe("STORE_UNAVAILABLE");
  expect(world.provider.arrivals()).toHaveLength(1);
  world.assertEffects(1);
});

scenario(
  "a double click in front of a slow refund is one refund, whichever click is answered first",
  {},
  async (world) => {
    // The token was made when the form was rendered, not at the click.
    const tool = world.tool({
      intent: ({ trusted }: { trusted: { formToken: string } }) => `console:${trusted.formToken}`,
    });
    const click = (formToken: string): ReturnType<typeof world.run> =>
      world.run({
        tool,
        context: { trusted: { formToken }, onInProgress: { waitMs: 20_000 } },
      });
    world.provider.fault({ replyDelayMs: 60 });
    const told = (await Promise.all([click("form-1"), click("form-1")])).map((one) => one.told);
    world.assertEffects(1);
    // A form that is opened anew is meant.
    told.push((await click("form-2")).told);

    expect(told.toSorted()).toEqual(["EXECUTED", "EXECUTED", "REPLAYED"]);
    world.assertEffects(2);
  },
);

scenario(
  "a duplicate under a row that changes all the time is told to come back, in the end",
  {},
  async (world) => {
    world.provider.fault({ failBeforeCommit: true });
    await world.run();
    // Each time that it would take over, somebody else has just done so, and died.
    const base = world.opened.store;
    let tokens = 0;
    const store = new Proxy(base, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function") return member;
        if (name !== "takeOver") return member.bind(target) as unknown;
        return async () => {
          tokens += 1;
          return undefined;
        };
      },
    });
    const told = await world.run({ guard: await world.another({ store }) });
    expect(told.told).toBe("IN_PROGRESS");
    expect(tokens).toBe(20);
    expect((await world.run()).told).toBe("EXECUTED");
    world.assertEffects(1);
  },
);
