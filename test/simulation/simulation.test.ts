/**
 * A first helping of seeded schedules in every test run; `npm run sim` takes as many as you like.
 */
import { expect, it } from "vitest";
import { Laboratory } from "./run.ts";
import { simulate } from "./simulate.ts";

it("keeps every invariant over 300 schedules of crashes, losses, pauses and clock steps", async () => {
  const summary = await simulate({ from: 1, runs: 300 });
  expect(summary.failures).toEqual([]);
  // A run in which everything only ever errs proves nothing.
  expect(summary.ends["DONE"]).toBeGreaterThan(100);
  expect(summary.withEffect).toBeGreaterThan(100);
}, 120_000);

it("replays a seed to the letter", async () => {
  const laboratory = await Laboratory.open();
  const [first, second] = [await laboratory.run(11), await laboratory.run(11)];
  expect(second.log).toEqual(first.log);
  expect(first.log.length).toBeGreaterThan(10);
});
