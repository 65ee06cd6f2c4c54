/**
 * The opening story: three attempts, one refund.
 */
import { expect } from "vitest";
import { refundArgs, scenario } from "../support/world.ts";

scenario(
  "a timed-out call that had in fact worked is found, not sent again, whatever the agent says",
  { behaviour: {} },
  async (world) => {
    world.provider.fault({ dropReplyAfterCommit: true });
    const first = await world.run();
    const second = await world.run({ guard: await world.another() });
    const reworded = { ...refundArgs, reason: "The item was damaged on arrival" };
    const third = await world.run({ guard: await world.another(), args: reworded });

    expect([first.told, second.told, third.told]).toEqual([
      "OUTCOME_UNKNOWN",
      "REPLAYED",
      "REPLAYED",
    ]);
    expect(third.outcome?.value).toEqual(second.outcome?.value);
    expect(world.provider.arrivals().map((arrival) => arrival.bodyText)).toEqual([
      '{"amountMinor":48000,"currency":"EUR","orderId":"8812"}',
    ]);
    world.assertEffects(1);
  },
);
