/**
 * Requests that equal another one under another key: counted or held, never merged, and nobody is told
 * of another principal's (case 14; R5, R26).
 */
import { expect } from "vitest";
import { hours } from "../../../src/index.ts";
import { type HttpWorld, httpScenario, problemOf, refundBody } from "./world.ts";

/** Another principal of the same tenant, who pays the same. */
const stranger = { key: "stranger", principal: "user-2" };

function looking(world: HttpWorld, rule: "warn" | "hold") {
  return world.route({
    name: "looking",
    lookAlike: { rule, windowMs: hours(1), fields: ["path", "body"] },
  });
}

httpScenario(
  "a look-alike that is warned of runs, and its answer counts the warning without a name",
  async (world) => {
    const route = looking(world, "warn");
    const first = await world.send({ route });
    const second = await world.send({ route, ...stranger });
    const other = await world.send({ route, key: "other", body: { ...refundBody, orderId: "1" } });
    const told = [first, second, other].map(({ headers }) => headers.get("idempotent-outcome"));
    expect(told.map((field) => /warnings=\d+/.exec(field ?? "")?.[0])).toEqual([
      undefined,
      "warnings=1",
      undefined,
    ]);
    expect(JSON.stringify([...second.headers])).not.toContain("user-1");
    const again = await world.send({ route, ...stranger });
    expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([201, "true"]);
    expect(again.headers.get("idempotent-outcome")).not.toContain("warnings");
    world.assertEffects(3);
  },
);

httpScenario(
  "a look-alike that is held runs nothing and names no other principal, until a person lets it run",
  async (world) => {
    const route = looking(world, "hold");
    const first = await world.send({ route });
    for (let round = 1; round <= 2; round += 1) {
      const answer = await world.send({ route, ...stranger });
      const text = await answer.clone().text();
      const held = await problemOf(answer);
      expect(held).toMatchObject({ status: 409, type: "needs-review", code: "NEEDS_REVIEW" });
      expect(held.detail).toMatch(/^Nothing was run under this key/);
      const { key } = (await world.rows()).find(({ intent }) => intent.includes("user-1")) ?? {};
      for (const foreign of ["user-1", "8e03978e", key ?? "none"])
        expect(text).not.toContain(foreign);
    }
    world.assertEffects(1);

    const row = (await world.rows()).find(({ status }) => status === "NEEDS_REVIEW");
    const { tenant = "", key = "", version = -1, reviewReason } = row ?? {};
    // The person who decides does see which one it looks like.
    expect(reviewReason).toContain("user-1");
    const by = { by: "ann", why: "they bought the same" };
    await world.guard.resolve({ tenant, key, version, decision: "run-again", ...by });
    const second = await world.send({ route, ...stranger });
    expect([second.status, second.headers.has("idempotent-replayed")]).toEqual([201, false]);
    expect(await second.text()).not.toBe(await first.text());
    expect((await world.send({ route, ...stranger })).headers.has("idempotent-replayed")).toBe(
      true,
    );
    world.assertEffects(2);
  },
);

httpScenario("two look-alikes at once are never both run unseen", async (world) => {
  const route = looking(world, "hold");
  const answers = await Promise.all([world.send({ route }), world.send({ route, ...stranger })]);
  const statuses = answers.map(({ status }) => status);
  expect(statuses).toContain(409);
  expect(world.provider.ledger()).toHaveLength(statuses.filter((one) => one === 201).length);
  expect(world.runs.count).toBeLessThanOrEqual(1);
});
