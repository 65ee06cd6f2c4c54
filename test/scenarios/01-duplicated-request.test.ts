/**
 * The first kind of "twice": the same request goes out again below the guard, in an SDK, a proxy or
 * a load balancer. What stops it is the wire key, which is the same on every send.
 */
import { expect } from "vitest";
import type { ExecuteCall, Tool } from "../../src/index.ts";
import { executeRefund, scenario, type World } from "../support/world.ts";

scenario(
  "an SDK that sends the request again by itself sends it under the same wire key",
  {},
  async (world) => {
    world.provider.fault({ dropReplyAfterCommit: true }, { dropReplyAfterCommit: true });
    const tool = world.tool({ execute: retryingExecute(world, 3) });
    const first = await world.run({ tool });
    const second = await world.run({ tool, guard: await world.another() });

    expect([first.told, second.told]).toEqual(["EXECUTED", "REPLAYED"]);
    expect(second.outcome?.value).toEqual(first.outcome?.value);
    const { wireKey } = await world.row();
    expect(world.provider.arrivals().map(({ key }) => key)).toEqual([wireKey, wireKey, wireKey]);
    expect(new Set(world.provider.arrivals().map(({ bodyText }) => bodyText)).size).toBe(1);
    world.assertEffects(1);
  },
);

scenario(
  "a proxy that doubles the request on the wire gets one effect, whichever of the two lands",
  {},
  async (world) => {
    world.provider.fault({ gate: "proxy" });
    const tool = world.tool({ execute: doublingExecute(world) });
    const first = await world.run({ tool });
    const second = await world.run({ tool, guard: await world.another() });

    // The twin is told that the key is in use, and the guard hears only of the one that landed.
    expect([first.told, second.told]).toEqual(["EXECUTED", "REPLAYED"]);
    const { wireKey } = await world.row();
    expect(world.provider.arrivals().map(({ key }) => key)).toEqual([wireKey, wireKey]);
    world.assertEffects(1);
  },
);

scenario(
  "an SDK that retries although it was told not to is harmless across a take-over, too",
  { lookUp: false },
  async (world) => {
    world.provider.fault(
      { failBeforeCommit: true },
      { dropReplyAfterCommit: true },
      { dropReplyAfterCommit: true },
    );
    const tool = world.tool({ execute: retryingExecute(world, 2) });
    const first = await world.run({ tool });
    const second = await world.run({ tool, guard: await world.another() });

    expect([first.told, second.told]).toEqual(["OUTCOME_UNKNOWN", "EXECUTED"]);
    const { wireKey } = await world.row();
    const keys = world.provider.arrivals().map(({ key }) => key);
    expect(keys).toEqual([wireKey, wireKey, wireKey, wireKey]);
    world.assertEffects(1);
  },
);

/** An SDK with retries of its own. */
function retryingExecute(world: World, tries: number): Tool["execute"] {
  const send = executeRefund(world.client);
  return async (args, call) => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await send(args, call);
      } catch (error) {
        if (attempt === tries) throw error;
      }
    }
  };
}

/** The first request hangs at the gate "proxy" until its twin has been answered. */
function doublingExecute(world: World): Tool["execute"] {
  const send = executeRefund(world.client);
  return async (args, call: ExecuteCall) => {
    const first = send(args, call);
    if (world.provider.arrivals().length > 1) return first;
    await world.provider.parked("proxy");
    const twin = await Promise.allSettled([send(args, call)]);
    world.provider.release("proxy");
    expect(twin[0].status).toBe("rejected");
    return first;
  };
}
