/**
 * Duplicated calls through the gateway: repeated, reworded, at the same time, from two gateways. The
 * server's ledger holds one effect for each intent, and every answer says what it is.
 */
import { expect } from "vitest";
import {
  gatewayScenario,
  operationOf,
  textOf,
  toldBy,
  twoTenants,
} from "./support/gateway-world.ts";

gatewayScenario("a call that is repeated in other words takes effect once", {}, async (world) => {
  const first = await world.refund({ reason: "arrived broken" });
  const second = await world.refund({ reason: "the parcel was damaged" });
  const third = await world.refund({ reason: "broken", order_id: " 8812 " });
  world.assertEffects(1);
  expect([first, second, third].map(toldBy)).toEqual(["DONE", "REPLAYED", "REPLAYED"]);
  // The tool's own structure stays its own; what is ours stands beside it.
  expect(second.structuredContent).toEqual({ id: "re_1", order_id: "8812" });
  expect(second.content[0]).toEqual(first.content[0]);
  expect(textOf(second)).toContain("Already done: this intent took effect once");
  expect(textOf(second)).toContain(operationOf(first).key);
  expect(world.effects()[0]).not.toHaveProperty("reason");
});

gatewayScenario("six identical calls at once take effect once", {}, async (world) => {
  const answers = await Promise.all(Array.from({ length: 6 }, () => world.refund()));
  world.assertEffects(1);
  expect(answers.map(toldBy).toSorted()).toEqual(["DONE", ...Array(5).fill("REPLAYED")]);
  expect(new Set(answers.map((answer) => operationOf(answer).key)).size).toBe(1);
});

gatewayScenario("two gateways on one store let an intent take effect once", {}, async (world) => {
  const other = await world.another();
  const answers = await Promise.all([world.refund(), world.refund({}, other.agent)]);
  world.assertEffects(1);
  expect(answers.map(toldBy).toSorted()).toEqual(["DONE", "REPLAYED"]);
});

gatewayScenario(
  "two intents with the same arguments take effect twice, and each once",
  {
    intent: "refund:{args.order_id}:{trusted.ticket}",
    config: `context:
  tenant: { value: acme }
  trusted: { ticket: { header: x-ticket } }`,
    agent: { headers: { "x-ticket": "5521" } },
  },
  async (world) => {
    const another = await world.connect({ headers: { "x-ticket": "5522" } });
    const answers = [
      await world.refund(),
      await world.refund({}, another),
      await world.refund(),
      await world.refund({}, another),
    ];
    world.assertEffects(2);
    expect(answers.map(toldBy)).toEqual(["DONE", "DONE", "REPLAYED", "REPLAYED"]);
  },
);

gatewayScenario(
  "the same intent of two tenants takes effect for each, by their tokens",
  twoTenants,
  async (world) => {
    const birch = await world.connect({
      headers: { authorization: "Bearer birch-token-0123456789" },
    });
    const answers = [
      await world.refund(),
      await world.refund({}, birch),
      await world.refund(),
      await world.refund({}, birch),
    ];
    world.assertEffects(2);
    expect(answers.map(toldBy)).toEqual(["DONE", "DONE", "REPLAYED", "REPLAYED"]);
    expect((await world.rows()).map(({ tenant }) => tenant).toSorted()).toEqual(["acme", "birch"]);
  },
);

gatewayScenario(
  "another amount under the same intent is refused with the field and both values",
  { policy: "    mismatch: values\n    key: { argument: idempotency_key }" },
  async (world) => {
    await world.refund();
    const other = await world.refund({ amount_minor: 50_000 });
    world.assertEffects(1);
    expect(toldBy(other)).toBe("PAYLOAD_MISMATCH");
    expect(other.content[0]?.text).toContain("they differ in amount_minor");
    expect(textOf(other)).toBe("amount_minor: recorded 48000, this call 50000.");
  },
);
