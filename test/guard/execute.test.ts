import { describe, expect, it } from "vitest";
import type { ExecuteCall } from "../../src/index.ts";
import { execute } from "../../src/guard/execute.ts";
import { armedWith, environmentWith, turnWith } from "./units.ts";

describe("one attempt", () => {
  it("is told what it needs, and no attempt's number, so that requests can't differ by it", async () => {
    const calls: ExecuteCall[] = [];
    const turn = turnWith({}, { execute: (_, call) => void calls.push(call) });
    await execute(environmentWith({}), armedWith(turn));
    const [call] = calls;
    expect(Object.keys(call ?? {}).toSorted()).toEqual([
      "beforeWrite",
      "key",
      "notSent",
      "sendWithinMs",
      "signal",
      "tenant",
      "wireKey",
    ]);
    expect(call).toMatchObject({ tenant: "acme", wireKey: "w" });
    expect(Object.isFrozen(call)).toBe(true);
  });

  it("is never made without the wire key that was captured at its arm", async () => {
    const turn = turnWith({ wireKey: null });
    await expect(execute(environmentWith({}), armedWith(turn))).rejects.toThrow("wire key");
  });

  it("ends in what its tool gives back, at once or later, or throws, in whatever way", async () => {
    const error = new Error("broken");
    const ends = [];
    for (const run of [
      () => 1,
      async () => 1,
      () => {
        throw error;
      },
      () => Promise.reject(error),
    ]) {
      ends.push(await execute(environmentWith({}), armedWith(turnWith({}, { execute: run }))));
    }
    expect(ends).toEqual([
      { kind: "succeeded", value: 1 },
      { kind: "succeeded", value: 1 },
      { kind: "raised", error },
      { kind: "raised", error },
    ]);
  });

  it("is given up after its time-out and a short grace, and its end is still heard of", async () => {
    const env = environmentWith({});
    let finish: (value: string) => void = () => {};
    const turn = turnWith({}, { execute: () => new Promise((resolve) => (finish = resolve)) });
    const running = execute(env, armedWith(turn));
    await Promise.resolve();
    env.runtime.advance(1000);
    await new Promise((resolve) => setImmediate(resolve));
    env.runtime.advance(100);
    const result = await running;
    expect(result).toMatchObject({ kind: "given-up", reason: "no answer within 1000 ms" });
    finish("late");
    expect(await (result as { later: Promise<unknown> }).later).toEqual({
      kind: "succeeded",
      value: "late",
    });
  });

  it("isn't sent at all when it is late before it begins", async () => {
    const env = environmentWith({});
    let calls = 0;
    const turn = turnWith({}, { execute: () => (calls += 1) });
    env.runtime.advance(2000);
    expect((await execute(env, armedWith(turn))).kind).toBe("succeeded");
    env.runtime.advance(1);
    expect(await execute(env, armedWith(turn))).toMatchObject({ kind: "not-sent", late: true });
    expect(calls).toBe(1);
  });
});
