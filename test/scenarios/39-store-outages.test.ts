/**
 * The store is away, or its acknowledgement is lost: before the claim is confirmed nothing is sent
 * (R28), and after the effect nothing is lost (case 46; R15).
 */
import { expect } from "vitest";
import type { Store } from "../../src/index.ts";
import {
  type Drop,
  dropCalls,
  interceptStore,
  movableRuntime,
  stopAt,
} from "../support/store-faults.ts";
import { type Told, refundArgs, scenario, type World } from "../support/world.ts";

async function dropping(world: World, drop: Drop): Promise<Store> {
  return dropCalls(await world.opened.again({ clock: world.clock }), drop);
}

/** Runs by a guard whose store drops calls for good; time flies, so that it soon gives up. */
async function runWithout(
  world: World,
  methods: Drop["methods"],
  when: Drop["when"] = "before",
): Promise<Told> {
  const runtime = movableRuntime();
  const onDrop = (): void => runtime.move(60_000);
  const store = await dropping(world, { methods, when, onDrop });
  return world.run({ guard: await world.another({ store, runtime }) });
}

scenario("without a confirmed claim nothing is sent", {}, async (world) => {
  const told = [];
  for (const when of ["before", "after"] as const) {
    told.push((await runWithout(world, ["claim"], when)).told);
  }
  world.assertEffects(0);
  expect(told).toEqual(["STORE_UNAVAILABLE", "STORE_UNAVAILABLE"]);
  expect(world.provider.arrivals()).toEqual([]);
  // The second claim was written, only nobody heard of it: it is reconciled like any other.
  world.advance(60_000);
  expect((await world.run()).told).toBe("EXECUTED");
  world.assertEffects(1);
});

scenario(
  "a claim whose acknowledgement is lost is recognised and executed once",
  {},
  async (world) => {
    const store = await dropping(world, { methods: ["claim"], when: "after", times: 2 });
    const first = await world.run({ guard: await world.another({ store }) });
    const second = await world.run();

    expect([first.told, second.told]).toEqual(["EXECUTED", "REPLAYED"]);
    expect(await world.row()).toMatchObject({ attempts: 1, status: "DONE" });
    world.assertEffects(1);
  },
);

scenario("an error of a store that is no outage isn't tried again", {}, async (world) => {
  let claims = 0;
  const store = interceptStore(await world.opened.again({ clock: world.clock }), (method, call) => {
    if (method !== "claim") return call();
    claims += 1;
    return Promise.reject(new Error("a defect"));
  });
  const told = await world.run({ guard: await world.another({ store }) });
  expect([told.told, claims]).toEqual(["OTHER", 1]);
  world.assertEffects(0);
});

scenario("a completion that is dropped once is told again, and done", {}, async (world) => {
  const store = await dropping(world, { methods: ["complete"], when: "before", times: 1 });
  const first = await world.run({ guard: await world.another({ store }) });
  const second = await world.run();

  expect([first.told, second.told]).toEqual(["EXECUTED", "REPLAYED"]);
  expect(first.outcome?.recorded).toBe(true);
  world.assertEffects(1);
});

scenario(
  "a completion that was written, only nobody heard, is taken as done",
  {},
  async (world) => {
    const store = await dropping(world, { methods: ["complete"], when: "after", times: 1 });
    const first = await world.run({ guard: await world.another({ store }) });
    const row = await world.row();

    expect(first.told).toBe("EXECUTED");
    expect(row).toMatchObject({ status: "DONE", incident: null });
    expect((await world.run()).outcome?.value).toEqual(first.outcome?.value);
    world.assertEffects(1);
  },
);

scenario(
  "a completion that can't be recorded at all is given with a warning, and found later",
  {},
  async (world) => {
    const first = await runWithout(world, ["complete"]);
    const between = await world.row();
    const early = await world.run();
    world.advance(60_000);
    const late = await world.run();

    expect([first.told, early.told, late.told]).toEqual(["EXECUTED", "IN_PROGRESS", "REPLAYED"]);
    expect(first.outcome).toMatchObject({ recorded: false, status: "DONE", replayed: false });
    expect(first.outcome?.warnings).toHaveLength(1);
    expect(between.status).toBe("IN_PROGRESS");
    expect(late.outcome?.value).toEqual(first.outcome?.value);
    expect(world.provider.arrivals()).toHaveLength(1);
    world.assertEffects(1);
  },
);

scenario(
  "a completion that can't be recorded is found by the sweeper where nobody comes back",
  {},
  async (world) => {
    await runWithout(world, ["complete"]);
    world.advance(60_000);
    const sweeper = await world.another({ tools: [world.refund] });
    expect((await sweeper.sweep()).map((one) => one.outcome)).toEqual(["DONE"]);
    world.assertEffects(1);
  },
);

scenario(
  "a finding that can't be recorded is given as well, and looked up again later",
  {},
  async (world) => {
    world.provider.fault({ dropReplyAfterCommit: true });
    await world.run();
    const second = await runWithout(world, ["complete"]);
    world.advance(60_000);
    const third = await world.run();

    expect(second.outcome).toMatchObject({ recorded: false });
    expect(third.told).toBe("REPLAYED");
    expect(third.outcome?.value).toEqual(second.outcome?.value);
    world.assertEffects(1);
  },
);

scenario(
  "a row that vanished by another hand takes no result from its caller",
  {},
  async (world) => {
    world.provider.fault({ gate: "in-flight" });
    const first = world.run();
    await world.provider.parked("in-flight");
    const { key } = await world.row();
    await world.opened.sql(`delete from :schema.operations where key = '${key}'`);
    world.provider.release("in-flight");

    expect((await first).outcome).toMatchObject({ recorded: false });
    world.assertEffects(1);
  },
);

scenario(
  "a row that vanished by another hand is no reason to tell of a failure",
  {},
  async (world) => {
    world.provider.fault({ gate: "in-flight", before: "key" });
    world.provider.behave({ saves: "all" });
    const tool = world.tool({ contract: { classify: () => "definitive" } });
    const send = world.run({ tool });
    await world.provider.parked("in-flight");
    await world.opened.sql("delete from :schema.operations");
    world.provider.behave({ keys: "natural", naturalField: "orderId" });
    await world.client.createEffect({ operation: "refund", body: { orderId: "8812" } });
    world.provider.release("in-flight");

    // The provider refuses, and the row that would hold the failure is gone.
    expect((await send).told).toBe("LEASE_LOST");
    world.assertEffects(1);
  },
);

const settling: [
  method: Drop["methods"][number],
  fault: Parameters<World["provider"]["fault"]>[0],
][] = [
  ["fail", { decline: true }],
  ["markUnknown", { failBeforeCommit: true }],
  ["release", { rateLimited: true }],
];

for (const [method, fault] of settling) {
  scenario(
    `an outcome that the store can't be told of by ${method} is unknown, and nobody is told more`,
    {},
    async (world) => {
      world.provider.fault(fault, fault);
      const first = await runWithout(world, [method]);
      expect(first.told).toBe("OUTCOME_UNKNOWN");
      expect((await world.row()).status).toBe("IN_PROGRESS");
      world.advance(60_000);
      const store = await dropping(world, { methods: [method], when: "before", times: 1 });
      const second = await world.run({ guard: await world.another({ store }) });
      expect(second.told).toMatch(/OPERATION_FAILED|OUTCOME_UNKNOWN/);
      world.assertEffects(0);
    },
  );

  scenario(
    `an outcome told by ${method}, whose acknowledgement is lost, is answered from the row`,
    {},
    async (world) => {
      world.provider.fault(fault);
      const store = await dropping(world, { methods: [method], when: "after", times: 1 });
      const told = await world.run({ guard: await world.another({ store }) });
      const { status } = await world.row();
      const answers = { fail: "OPERATION_FAILED", markUnknown: "OUTCOME_UNKNOWN" };
      expect(status).toBe(
        { fail: "FAILED", markUnknown: "UNKNOWN", release: "IN_PROGRESS" }[method as "fail"],
      );
      expect(told.told).toMatch(answers[method as "fail"] ?? /LEASE_LOST|NOT_SENT/);
      world.assertEffects(0);
    },
  );
}

scenario("a take-over whose acknowledgement is lost is recognised", {}, async (world) => {
  world.provider.fault({ dropReplyAfterCommit: true });
  await world.run();
  const store = await dropping(world, { methods: ["takeOver"], when: "after", times: 1 });
  const second = await world.run({ guard: await world.another({ store }) });
  expect(second.told).toBe("REPLAYED");
  world.assertEffects(1);
});

scenario(
  "a take-over that never happened is not taken for one, and nothing is sent",
  {},
  async (world) => {
    world.provider.fault({ failBeforeCommit: true });
    await world.run();
    const told = [];
    for (const failure of [undefined, new Error("a defect")]) {
      const plain = await world.opened.again({ clock: world.clock });
      const store =
        failure === undefined
          ? dropCalls(plain, { methods: ["takeOver"], when: "before" })
          : interceptStore(plain, (method, call) =>
              method === "takeOver" ? Promise.reject(failure) : call(),
            );
      told.push((await world.run({ guard: await world.another({ store }) })).told);
    }
    expect(told).toEqual(["STORE_UNAVAILABLE", "OTHER"]);
    expect(world.provider.arrivals()).toHaveLength(1);
    expect((await world.run()).told).toBe("EXECUTED");
    world.assertEffects(1);
  },
);

scenario(
  "an arming whose acknowledgement is lost is recognised, and sent once",
  { contract: { mode: "strict" } },
  async (world) => {
    const store = await dropping(world, { methods: ["arm"], when: "after", times: 1 });
    const first = await world.run({ guard: await world.another({ store }) });
    expect(first.told).toBe("EXECUTED");
    expect((await world.row()).attempts).toBe(1);
    world.assertEffects(1);
  },
);

scenario(
  "an arming that never happened keeps the request at home",
  { contract: { mode: "strict" } },
  async (world) => {
    const told = [];
    for (const when of ["before", "after"] as const) {
      const methods: Drop["methods"] = when === "before" ? ["arm"] : ["arm", "read"];
      const store = await dropping(world, { methods, when });
      told.push((await world.run({ guard: await world.another({ store }) })).told);
      world.advance(60_000);
    }
    const defect = interceptStore(
      await world.opened.again({ clock: world.clock }),
      (method, call) => (method === "arm" ? Promise.reject(new Error("a defect")) : call()),
    );
    const args = { ...refundArgs, ticketId: "other" };
    told.push((await world.run({ guard: await world.another({ store: defect }), args })).told);

    expect(told).toEqual(["STORE_UNAVAILABLE", "STORE_UNAVAILABLE", "OTHER"]);
    expect(world.provider.arrivals()).toEqual([]);
    world.assertEffects(0);
  },
);

scenario(
  "a store that goes away while a doubt is settled leaves the outcome unknown",
  {},
  async (world) => {
    world.provider.fault({ failBeforeCommit: true });
    await world.run();
    const store = await dropping(world, { methods: ["arm", "read"], when: "before" });
    const second = await world.run({ guard: await world.another({ store }) });

    expect(second.told).toBe("OUTCOME_UNKNOWN");
    expect(second.error).toMatchObject({ cause: { code: "STORE_UNAVAILABLE" } });
    expect(world.provider.arrivals()).toHaveLength(1);
    world.assertEffects(0);
  },
);

scenario(
  "a failover to another, empty store is not what a guard does by itself",
  {},
  async (world) => {
    const stop = stopAt("before-settle");
    const first = world.run({ guard: await world.another({ onPoint: stop.onPoint }) });
    await stop.reached(first);
    const told = await runWithout(world, ["claim", "read"]);
    stop.release();

    expect(told.told).toBe("STORE_UNAVAILABLE");
    expect((await first).told).toBe("EXECUTED");
    world.assertEffects(1);
  },
);
