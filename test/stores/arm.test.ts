/**
 * "Attempt n goes now" is refused by the statement itself when sending is not safe any more (R10,
 * R19, R21).
 */
import { expect, it } from "vitest";
import { type OpenStore, TestClock, describeStores } from "../support/stores.ts";
import { linesOf, operationIn, stored, sure } from "../support/worker-operations.ts";
import { armParams, claimParams, leaseMs, quietMs } from "../support/worker-params.ts";

const resendSpanMs = 60_000;

describeStores("arming", (suite) => {
  const start = async () => {
    const clock = new TestClock();
    const opened = await suite.open({ clock });
    return { clock, opened, store: opened.store };
  };

  it("is done by the claim where the tool may send at once, and not where it may not", async () => {
    const { store, clock } = await start();
    const armed = await store.claim(claimParams("armed"));
    expect(armed).toMatchObject({
      attempts: 1,
      attemptsInGeneration: 1,
      firstArmedAtMs: clock.nowMs,
      lastArmedAtMs: clock.nowMs,
      quietUntilMs: clock.nowMs + quietMs,
      leaseUntilMs: clock.nowMs + leaseMs,
    });
    const claimed = await store.claim(claimParams("claimed", { arm: false }));
    expect(claimed).toMatchObject({
      attempts: 0,
      attemptsInGeneration: 0,
      firstArmedAtMs: null,
      lastArmedAtMs: null,
      quietUntilMs: 0,
    });
    expect((await linesOf(store, "armed")).map((line) => line.event)).toEqual([
      "operation.claimed",
      "operation.armed",
    ]);
    expect((await linesOf(store, "claimed")).map((line) => line.event)).toEqual([
      "operation.claimed",
    ]);
  });

  it("counts the first send and starts its window", async () => {
    const { store, clock } = await start();
    const claimed = await store.claim(claimParams("k", { arm: false }));
    clock.advance(500);
    const armed = sure(await store.arm(armParams(claimed, { resendSpanMs: 0, wireKey: "w" })));
    expect(armed).toMatchObject({
      attempts: 1,
      attemptsInGeneration: 1,
      generation: 0,
      firstArmedAtMs: clock.nowMs,
      quietUntilMs: clock.nowMs + quietMs,
      leaseUntilMs: clock.nowMs + leaseMs,
      wireKey: "w",
    });
    expect((await linesOf(store, "k")).at(-1)).toMatchObject({
      event: "operation.armed",
      attempts: 1,
    });
  });

  it("happens once for the attempts that its owner knows", async () => {
    const { store, opened } = await start();
    const claimed = await store.claim(claimParams("k", { arm: false }));
    const params = armParams(claimed);
    expect(await store.arm(params)).toMatchObject({ attempts: 1 });
    const before = await stored(opened);
    expect(await store.arm(params)).toBeUndefined();
    expect(await store.arm({ ...params, attempts: 2 })).toBeUndefined();
    expect(await stored(opened)).toEqual(before);
  });

  it("again is allowed to the last millisecond of the window, which starts at the first", async () => {
    const { store, opened, clock } = await start();
    const first = await operationIn(store, "k", "IN_PROGRESS");
    clock.advance(resendSpanMs / 2);
    const second = sure(await store.arm(armParams(first, { resendSpanMs })));
    clock.advance(resendSpanMs / 2 - 1);
    const third = sure(await store.arm(armParams(second, { resendSpanMs })));
    expect(third).toMatchObject({
      attempts: 3,
      attemptsInGeneration: 3,
      firstArmedAtMs: first.firstArmedAtMs,
      lastArmedAtMs: clock.nowMs,
    });
    clock.advance(1);
    const before = await stored(opened);
    expect(await store.arm(armParams(third, { resendSpanMs }))).toBeUndefined();
    clock.advance(1_000_000);
    expect(await store.arm(armParams(third, { resendSpanMs }))).toBeUndefined();
    expect(await stored(opened)).toEqual(before);
  });

  it("again is never allowed where no window is declared", async () => {
    const { store, opened } = await start();
    const first = await operationIn(store, "k", "IN_PROGRESS");
    const before = await stored(opened);
    expect(await store.arm(armParams(first, { resendSpanMs: 0 }))).toBeUndefined();
    expect(await stored(opened)).toEqual(before);
  });

  it("again is not allowed where no window is declared, though the clock stepped back", async () => {
    const { store, opened, clock } = await start();
    const first = await operationIn(store, "k", "IN_PROGRESS");
    clock.advance(-10_000);
    const before = await stored(opened);
    expect(await store.arm(armParams(first, { resendSpanMs: 0 }))).toBeUndefined();
    expect(await stored(opened)).toEqual(before);
  });

  it("never makes the quiet time end sooner", async () => {
    const { store, clock } = await start();
    const first = await operationIn(store, "k", "IN_PROGRESS");
    clock.advance(10);
    const again = sure(await store.arm(armParams(first, { quietMs: 1 })));
    expect(again.quietUntilMs).toBe(first.quietUntilMs);
    const later = sure(await store.arm(armParams(again, { quietMs: quietMs * 2 })));
    expect(later.quietUntilMs).toBe(clock.nowMs + quietMs * 2);
  });

  it.each<[string, (quietUntilMs: number) => number | null]>([
    ["without a look-up", () => null],
    ["with a look-up before everything was quiet", (quietUntilMs) => quietUntilMs - 1],
    ["with a look-up in the very last millisecond", (quietUntilMs) => quietUntilMs],
  ])("under a new provider key is refused %s", async (_, lookedAt) => {
    const { store, opened, clock } = await start();
    const first = await operationIn(store, "k", "IN_PROGRESS");
    clock.advance(quietMs * 10);
    const before = await stored(opened);
    const params = armParams(first, {
      newGeneration: true,
      lookedAtMs: lookedAt(first.quietUntilMs),
    });
    expect(await store.arm(params)).toBeUndefined();
    expect(await stored(opened)).toEqual(before);
  });

  it("under a new provider key starts another generation with a window of its own", async () => {
    const { store, opened, clock } = await start();
    const first = await operationIn(store, "k", "IN_PROGRESS");
    clock.advance(resendSpanMs * 10);
    const renewed = sure(
      await store.arm(
        armParams(first, {
          newGeneration: true,
          lookedAtMs: first.quietUntilMs + 1,
          wireKey: "another",
        }),
      ),
    );
    expect(renewed).toMatchObject({
      generation: 1,
      attempts: 2,
      attemptsInGeneration: 1,
      firstArmedAtMs: clock.nowMs,
      quietUntilMs: clock.nowMs + quietMs,
      wireKey: "another",
    });
    // What was looked up for this generation says nothing about the next one.
    const before = await stored(opened);
    const looked = { newGeneration: true, lookedAtMs: first.quietUntilMs + 1 };
    expect(await store.arm(armParams(renewed, looked))).toBeUndefined();
    expect(await stored(opened)).toEqual(before);
    expect(await store.arm(armParams(renewed, { resendSpanMs }))).toMatchObject({
      generation: 1,
      attempts: 3,
      attemptsInGeneration: 2,
      firstArmedAtMs: renewed.firstArmedAtMs,
    });
  });

  it("is one worker's, of two that took the operation over one after the other", async () => {
    const { store, clock } = await start();
    const first = await operationIn(store, "k", "UNKNOWN");
    const take = (token: number, acquisitionId: string) =>
      store.takeOver({ tenant: "acme", key: "k", token, acquisitionId, leaseMs, detail: "{}" });
    const second = sure(await take(first.token, "b"));
    clock.advance(leaseMs);
    const third = sure(await take(second.token, "c"));
    expect(await store.arm(armParams(second))).toBeUndefined();
    expect(await store.arm(armParams(third))).toMatchObject({ attempts: 2, acquisitionId: "c" });
  });

  it("of an attempt that was taken back counts anew, with a window of its own", async () => {
    const { store, clock } = await start();
    const first = await operationIn(store, "k", "IN_PROGRESS");
    const released = await releaseOf(store, first);
    clock.advance(resendSpanMs * 2);
    const armed = sure(await store.arm(armParams(released, { resendSpanMs: 0 })));
    expect(armed).toMatchObject({
      attempts: 1,
      attemptsInGeneration: 1,
      firstArmedAtMs: clock.nowMs,
    });
  });
});

async function releaseOf(
  store: OpenStore["store"],
  owner: { tenant: string; key: string; token: number; attempts: number },
) {
  const { tenant, key, token, attempts } = owner;
  return sure(
    await store.release({
      tenant,
      key,
      token,
      attempts,
      error: "{}",
      sweepAfterMs: 0,
      detail: "{}",
    }),
  );
}
