/**
 * A row that can't be read is never taken for no row, and never run afresh (R23).
 */
import { expect } from "vitest";
import { hours } from "../../src/index.ts";
import { refundArgs, scenario, type World } from "../support/world.ts";

async function reviewKeys(world: World): Promise<(string | null)[]> {
  const all = { tenant: null, status: null, operation: null, after: null, limit: 100 };
  const rows = await world.opened.store.list({ ...all, review: true });
  return rows.map((row) => row.incident);
}

/** Each damage, the status it is done to, and what is said of it. */
const damages: [assignment: string, status: "DONE" | "FAILED" | "UNKNOWN", reason: RegExp][] = [
  ["arguments = 'not json'", "DONE", /business arguments are not JSON/],
  ["arguments = '[1]'", "DONE", /business arguments are not JSON/],
  ["arguments = null", "DONE", /business arguments are not JSON/],
  ["wire_key = null", "DONE", /armed without a wire key/],
  ["result = '{\"cut'", "DONE", /stored result is not JSON/],
  ["result = null", "DONE", /stored result is not JSON/],
  ["result_kind = null", "DONE", /no result/],
  ["result_kind = 'omitted', result = '1'", "DONE", /note in place of the result is not JSON/],
  ["error = null", "FAILED", /stored error is not JSON/],
  ["error = '{'", "FAILED", /stored error is not JSON/],
  ["arguments = '{'", "UNKNOWN", /business arguments are not JSON/],
  ["wire_key = null", "UNKNOWN", /armed without a wire key/],
  ["token = -1", "UNKNOWN", /not a whole number/],
];

scenario(
  "a damaged row is told of, is opened for review, and is never run again",
  { lookUp: false },
  async (world) => {
    let effects = 0;
    for (const [index, [assignment, status, reason]] of damages.entries()) {
      const args = { ...refundArgs, ticketId: `t-${index}` };
      if (status === "FAILED") world.provider.fault({ decline: true });
      if (status === "UNKNOWN") world.provider.fault({ dropReplyAfterCommit: true });
      await world.run({ args });
      effects += status === "FAILED" ? 0 : 1;
      const like = `%:ticket-t-${index}"%`;
      await world.opened.sql(
        `update :schema.operations set ${assignment} where intent like '${like}'`,
      );
      const told = [await world.run({ args }), await world.run({ args })];

      expect(told.map((one) => one.told)).toEqual(["RECORD_CORRUPT", "RECORD_CORRUPT"]);
      expect(told[0]?.error).toMatchObject({ message: expect.stringMatching(reason) });
      const incidents = await reviewKeys(world);
      expect([assignment, incidents.length]).toEqual([assignment, index + 1]);
      expect(incidents.every((incident) => incident?.includes("can't be read"))).toBe(true);
      world.assertEffects(effects);
    }
    expect(world.provider.arrivals()).toHaveLength(damages.length);
  },
);

scenario("a damaged row is flagged once, however often it is met", {}, async (world) => {
  await world.run();
  await world.opened.sql("update :schema.operations set result = '{'");
  await world.run();
  const { version } = await world.row();
  for (let call = 1; call <= 3; call += 1) {
    expect((await world.run()).told).toBe("RECORD_CORRUPT");
  }
  expect((await world.row()).version).toBe(version);
  world.assertEffects(1);
});

scenario(
  "a sweeper flags a damaged row, sends nothing, and comes back to it no more",
  { lookUp: false },
  async (world) => {
    world.provider.fault({ dropReplyAfterCommit: true });
    await world.run();
    await world.opened.sql("update :schema.operations set arguments = 'x'");
    world.advance(60_000);
    const sweeper = await world.another({ tools: [world.refund] });
    const outcomes = (await sweeper.sweep()).map((one) => one.outcome);
    world.advance(hours(10));

    expect(outcomes).toEqual(["RECORD_CORRUPT"]);
    expect(await sweeper.sweep()).toEqual([]);
    expect(await reviewKeys(world)).toHaveLength(1);
    expect(world.provider.arrivals()).toHaveLength(1);
    world.assertEffects(1);
  },
);

scenario("a damaged row that was mended by hand is the outcome again", {}, async (world) => {
  const first = await world.run();
  const [row] = await world.opened.sql("select result from :schema.operations");
  await world.opened.sql("update :schema.operations set result = '{'");
  expect((await world.run()).told).toBe("RECORD_CORRUPT");
  await world.opened.sql(`update :schema.operations set result = '${String(row?.["result"])}'`);
  const told = await world.run();
  expect(told.told).toBe("REPLAYED");
  expect(told.outcome?.value).toEqual(first.outcome?.value);
  world.assertEffects(1);
});

const decidable: [assignment: string, open: boolean][] = [
  ["result = '{'", false],
  ["arguments = 'x'", true],
];

for (const [assignment, open] of decidable) {
  scenario(
    `a damaged row (${assignment}) can be decided by the person who was asked`,
    { lookUp: false },
    async (world) => {
      if (open) world.provider.fault({ dropReplyAfterCommit: true });
      await world.run();
      await world.opened.sql(`update :schema.operations set ${assignment}`);
      await world.run();
      const { tenant, key, version } = await world.row();
      const decision = { decision: "happened", by: "ann", why: "seen", result: { id: "eff_1" } };
      await world.guard.resolve({ tenant, key, version, ...decision } as never);
      const told = await world.run();

      expect(told.told).toBe("REPLAYED");
      expect(told.outcome?.value).toEqual({ id: "eff_1" });
      expect(await reviewKeys(world)).toEqual([]);
      world.assertEffects(1);
    },
  );
}
