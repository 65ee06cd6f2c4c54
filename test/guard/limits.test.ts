import { describe, expect, it } from "vitest";
import { leaseSlackMs } from "../../src/ledger/window.ts";
import { startLimits } from "../../src/guard/limits.ts";
import { recordWith } from "../ledger/records.ts";
import { armedWith, environmentWith, turnWith } from "./units.ts";

/** The call itself has no end in these tests: only the lease is looked at. */
const renewing = {
  contract: {
    timeoutMs: 1_000_000,
    leaseMs: 21_000,
    renewLease: true,
    lookUp: { find: () => ({ answer: "unsure" }) as const, timeoutMs: 1000 },
  },
};
const third = 7000;

/** Lets everything that was promised come about. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

async function reached(limits: { reached: Promise<string> }): Promise<string | undefined> {
  return Promise.race([limits.reached, settled().then(() => undefined)]);
}

describe("the limits of a call", () => {
  it("the time-out ends it, and its signal says why", async () => {
    const env = environmentWith({});
    const limits = startLimits(env, armedWith(turnWith()));
    env.runtime.advance(999);
    expect(limits.signal.aborted).toBe(false);
    env.runtime.advance(1);
    expect(await reached(limits)).toBe("no answer within 1000 ms");
    expect(limits.signal.reason).toEqual(new Error("no answer within 1000 ms"));
  });

  it("the caller ends it", async () => {
    const caller = new AbortController();
    const env = environmentWith({});
    const turn = { ...turnWith(), signal: caller.signal };
    const limits = startLimits(env, armedWith(turn));
    caller.abort();
    expect(await reached(limits)).toMatch(/^the caller withdrew/);
    expect(limits.signal.aborted).toBe(true);
  });

  it("when it is over no timer is left, and the caller's signal ends nothing any more", async () => {
    const caller = new AbortController();
    const env = environmentWith({ renew: () => Promise.resolve(recordWith()) });
    const turn = { ...turnWith({}, renewing), signal: caller.signal };
    const limits = startLimits(env, armedWith(turn));
    expect(env.runtime.waiting()).toHaveLength(3);
    limits.stop();
    caller.abort();
    env.runtime.advance(100_000);
    expect(env.runtime.waiting()).toEqual([]);
    expect(await reached(limits)).toBeUndefined();
  });
});

describe("a lease that is renewed", () => {
  it("is renewed at each third of its length, and outlives itself", async () => {
    let renewals = 0;
    const renew = async () => {
      renewals += 1;
      return recordWith();
    };
    const env = environmentWith({ renew });
    const limits = startLimits(env, armedWith(turnWith({}, renewing)));
    for (let round = 1; round <= 9; round += 1) {
      env.runtime.advance(third);
      await settled();
    }
    expect(renewals).toBe(9);
    expect(await reached(limits)).toBeUndefined();
    limits.stop();
  });

  it("ends the call before itself when no renewal is answered", async () => {
    const env = environmentWith({ renew: () => new Promise(() => {}) });
    const limits = startLimits(env, armedWith(turnWith({}, renewing)));
    env.runtime.advance(21_000 - leaseSlackMs / 2 - 1);
    expect(await reached(limits)).toBe(undefined);
    env.runtime.advance(1);
    expect(await reached(limits)).toBe("the lease could not be renewed");
    limits.stop();
  });

  it("is tried again after an error, and lives on when the store is back", async () => {
    let away = true;
    const renew = async () => {
      if (away) throw new Error("away");
      return recordWith();
    };
    const env = environmentWith({ renew });
    const limits = startLimits(env, armedWith(turnWith({}, renewing)));
    env.runtime.advance(third);
    await settled();
    away = false;
    env.runtime.advance(third);
    await settled();
    env.runtime.advance(third);
    await settled();
    expect(await reached(limits)).toBeUndefined();
    limits.stop();
  });

  it("ends the call at once when another worker has it", async () => {
    const env = environmentWith({ renew: async () => undefined });
    const limits = startLimits(env, armedWith(turnWith({}, renewing)));
    env.runtime.advance(third);
    expect(await reached(limits)).toBe("another worker took the operation over");
    limits.stop();
  });

  it("is left alone by a renewal that is answered after the call is over", async () => {
    let answer: (record: undefined) => void = () => {};
    const env = environmentWith({ renew: () => new Promise((resolve) => (answer = resolve)) });
    const limits = startLimits(env, armedWith(turnWith({}, renewing)));
    env.runtime.advance(third);
    limits.stop();
    answer(undefined);
    await settled();
    expect(limits.signal.aborted).toBe(false);
    expect(env.runtime.waiting()).toEqual([]);
  });
});
