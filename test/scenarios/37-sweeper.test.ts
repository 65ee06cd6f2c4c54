/**
 * The sweeper: what no caller comes back for is reconciled, a bounded number of times (R22).
 */
import { expect } from "vitest";
import { hours, seconds } from "../../src/index.ts";
import { dropCalls, interceptStore, stopAt } from "../support/store-faults.ts";
import {
  type RefundContract,
  executeRefund,
  refundArgs,
  refundLookUp,
  scenario,
  type World,
} from "../support/world.ts";

/** Leaves an operation without an owner, after its effect. */
async function orphan(world: World, ticketId: string): Promise<void> {
  const crash = stopAt("before-settle");
  const guard = await world.another({ onPoint: crash.onPoint });
  const dead = world.run({ guard, args: { ...refundArgs, ticketId } });
  await crash.reached(dead);
}

scenario(
  "every open status is picked up exactly once, and what is settled or decided is left alone",
  {},
  async (world) => {
    const run = (ticketId: string): Promise<unknown> =>
      world.run({ args: { ...refundArgs, ticketId } });
    await run("done");
    world.provider.fault({ decline: true });
    await run("failed");
    await orphan(world, "in-progress");
    world.provider.fault({ dropReplyAfterCommit: true });
    await run("unknown");
    const claimed = stopAt("before-arm");
    const strict = world.tool({ name: "strict_refund", contract: { mode: "strict" } });
    const guard = await world.another({ onPoint: claimed.onPoint });
    const dead = world.run({ guard, tool: strict, args: { ...refundArgs, ticketId: "unarmed" } });
    await claimed.reached(dead);
    world.advance(seconds(120));

    const sweeper = await world.another({ tools: [world.refund, strict] });
    const swept = await sweeper.sweep();
    const again = await sweeper.sweep();

    expect(swept.map((one) => one.outcome)).toEqual(["DONE", "DONE"]);
    expect(again).toEqual([]);
    const statuses = (await world.rows()).map((row) => row.status);
    expect(statuses.toSorted()).toEqual(["DONE", "DONE", "DONE", "FAILED", "IN_PROGRESS"]);
    expect(world.provider.arrivals()).toHaveLength(4);
    world.assertEffects(3);
  },
);

scenario(
  "a claim of which nothing was sent is left to its caller, who sends it once",
  { contract: { mode: "strict" } },
  async (world) => {
    const crash = stopAt("before-arm");
    const dead = world.run({ guard: await world.another({ onPoint: crash.onPoint }) });
    await crash.reached(dead);
    world.advance(hours(100));
    const sweeper = await world.another({ tools: [world.refund] });

    expect(await sweeper.sweep()).toEqual([]);
    world.assertEffects(0);
    expect((await world.run()).told).toBe("EXECUTED");
    world.assertEffects(1);
  },
);

scenario("two sweepers at once take each operation once", {}, async (world) => {
  for (const ticketId of ["a", "b", "c", "d"]) await orphan(world, ticketId);
  world.advance(seconds(120));
  const sweepers = [
    await world.another({ tools: [world.refund] }),
    await world.another({ tools: [world.refund] }),
  ];
  const swept = (await Promise.all(sweepers.map((sweeper) => sweeper.sweep()))).flat();
  const done = swept.filter((one) => one.outcome === "DONE");

  expect(new Set(done.map((one) => one.key)).size).toBe(4);
  expect(done).toHaveLength(4);
  const rest = swept.filter((one) => one.outcome !== "DONE");
  expect(rest.every((one) => one.outcome === "skipped")).toBe(true);
  expect(world.provider.lookUps()).toHaveLength(4);
  world.assertEffects(4);
});

scenario("a sweep takes no more than its limit, oldest first", {}, async (world) => {
  for (const ticketId of ["a", "b", "c"]) {
    await orphan(world, ticketId);
    world.advance(1000);
  }
  world.advance(seconds(120));
  const sweeper = await world.another({ tools: [world.refund] });
  const first = await sweeper.sweep({ limit: 2 });
  const intents = [];
  for (const { key } of first) intents.push((await world.row(key)).intent);

  expect(intents.map((intent) => /ticket-(.)/.exec(intent)?.[1])).toEqual(["a", "b"]);
  expect(await sweeper.sweep({ limit: 2 })).toHaveLength(1);
  world.assertEffects(3);
});

scenario(
  "an orphan is found by the sweeper, is never called a failure, and waits for nobody",
  {},
  async (world) => {
    await orphan(world, "5521");
    for (let lease = 1; lease <= 10; lease += 1) world.advance(seconds(10));
    const sweeper = await world.another({ tools: [world.refund] });
    world.provider.behave({ lookUps: "fail" });
    await sweeper.sweep();
    const during = await world.row();
    world.provider.behave({ lookUps: "answer" });
    world.advance(hours(1));
    await sweeper.sweep();

    expect(during.status).not.toBe("FAILED");
    expect((await world.run()).told).toBe("REPLAYED");
    world.assertEffects(1);
  },
);

const stubborn: [title: string, contract: Partial<RefundContract>][] = [
  ["with a key", { maxAttempts: 3 }],
  ["that sends once", { mode: "strict" }],
  ["that looks before it takes a new key", { mode: "proved-absence", maxAttempts: 3 }],
  [
    "without a key, that sends anew after each proof of absence",
    { mode: "proved-absence", maxAttempts: 3, key: undefined } as never,
  ],
];

for (const [title, contract] of stubborn) {
  scenario(
    `a tool ${title}, whose provider is broken for good, ends in review after a bounded number of sends`,
    { contract: { giveUpAfterMs: seconds(60), ...contract } },
    async (world) => {
      world.provider.faultAlways({ status: 500, effect: false, saved: false });
      await world.run();
      const sweeper = await world.another({ tools: [world.refund] });
      for (let round = 1; round <= 60; round += 1) {
        world.advance(hours(1));
        await sweeper.sweep();
      }
      expect((await world.row()).status).toBe("NEEDS_REVIEW");
      expect(world.provider.arrivals().length).toBeLessThanOrEqual(10);
      expect(await sweeper.sweep()).toEqual([]);
      world.assertEffects(0);
    },
  );
}

scenario(
  "a resend that is turned away again and again is not sent at every sweep for ever",
  { contract: { maxAttempts: 3, giveUpAfterMs: seconds(60) } },
  async (world) => {
    world.provider.fault({ failBeforeCommit: true });
    await world.run();
    world.provider.faultAlways({ rateLimited: true });
    const sweeper = await world.another({ tools: [world.refund] });
    for (let round = 1; round <= 30; round += 1) {
      world.advance(seconds(10));
      await sweeper.sweep();
    }
    expect((await world.row()).attempts).toBe(1);
    expect(world.provider.arrivals().length).toBeLessThanOrEqual(15);
    world.assertEffects(0);
  },
);

scenario(
  "a sweeper asks less and less often while a look-up stays unsure",
  { contract: { mode: "strict", giveUpAfterMs: hours(1) } },
  async (world) => {
    world.provider.fault({ failBeforeCommit: true });
    world.provider.behave({ lookUps: "fail" });
    await world.run();
    const sweeper = await world.another({ tools: [world.refund] });
    for (let round = 1; round <= 360; round += 1) {
      world.advance(seconds(10));
      await sweeper.sweep();
    }
    const asked = world.provider.lookUps().length;
    expect(asked).toBeGreaterThan(8);
    expect(asked).toBeLessThan(30);
    world.advance(seconds(600));
    await sweeper.sweep();
    expect((await world.row()).status).toBe("NEEDS_REVIEW");
    world.assertEffects(0);
  },
);

scenario(
  "a sweeper leaves the tools that it doesn't know, and reads what it does as its callers would",
  {},
  async (world) => {
    const other = world.tool({ name: "other_refund" });
    await world.run({ tool: other, args: { ...refundArgs, ticketId: "ok" } });
    world.provider.fault({ dropReplyAfterCommit: true });
    await world.run({ tool: other });
    world.advance(seconds(120));
    const stranger = await world.another({ tools: [world.refund] });
    expect(await stranger.sweep()).toEqual([]);
    const knowing = await world.another({ tools: [other] });
    expect((await knowing.sweep()).map((one) => one.outcome)).toEqual(["DONE"]);
    world.assertEffects(2);
  },
);

scenario(
  "a sweeper whose tool has another account by now doesn't ask or send there",
  {},
  async (world) => {
    const inAccount = (account: string): ReturnType<World["tool"]> => {
      const client = {
        ...world.client,
        createEffect: (request: Parameters<typeof world.client.createEffect>[0]) =>
          world.client.createEffect({ ...request, account }),
        findEffects: (query: Parameters<typeof world.client.findEffects>[0]) =>
          world.client.findEffects({ ...query, account }),
      };
      const contract = { account, lookUp: refundLookUp(client) };
      return world.tool({ contract, execute: executeRefund(client) });
    };
    world.provider.fault({ dropReplyAfterCommit: true });
    const first = await world.run({ tool: inAccount("acct_1") });
    world.advance(seconds(120));
    const sweeper = await world.another({ tools: [inAccount("acct_2")] });
    await sweeper.sweep();

    world.assertEffects(1);
    expect(first.told).toBe("OUTCOME_UNKNOWN");
    expect((await world.row()).status).not.toBe("DONE");
    expect(world.provider.arrivals()).toHaveLength(1);

    // No worker with the old declaration comes: in the end it is a person's matter, and stays sent once.
    world.advance(hours(2));
    expect((await sweeper.sweep()).map((one) => one.outcome)).toEqual(["NEEDS_REVIEW"]);
    expect((await world.row()).reviewReason).toContain("another account or endpoint");
    expect(world.provider.arrivals()).toHaveLength(1);
  },
);

scenario("an operation that can't be swept stops no other", {}, async (world) => {
  for (const ticketId of ["a", "b", "c"]) {
    await orphan(world, ticketId);
    world.advance(1000);
  }
  world.advance(seconds(120));
  const plain = await world.opened.again({ clock: world.clock });
  const [broken] = (await world.rows()).map((row) => row.key);
  const failing = interceptStore(plain, (method, call, params) =>
    method === "takeOver" && (params as { key: string }).key === broken
      ? Promise.reject(new Error("a defect"))
      : call(),
  );
  const warnings: string[] = [];
  const sweeper = await world.another({
    store: failing,
    tools: [world.refund],
    onWarning: ({ message }) => void warnings.push(message),
  });
  const outcomes = (await sweeper.sweep()).map((one) => one.outcome);

  expect(outcomes.toSorted()).toEqual(["DONE", "DONE", "error"]);
  expect(warnings).toEqual(["the sweep stopped here: a defect"]);
  world.assertEffects(3);
});

scenario(
  "sweeping goes on until it is stopped, also past a store that was away",
  {},
  async (world) => {
    await orphan(world, "5521");
    world.advance(seconds(120));
    const store = dropCalls(await world.opened.again({ clock: world.clock }), {
      methods: ["findDue"],
      when: "before",
      times: 2,
    });
    const warnings: string[] = [];
    const sweeper = await world.another({
      store,
      tools: [world.refund],
      onWarning: ({ message }) => void warnings.push(message),
    });
    const stop = new AbortController();
    const sweeping = sweeper.keepSweeping({ signal: stop.signal, everyMs: 10 });
    await expect.poll(async () => (await world.row()).status).toBe("DONE");
    stop.abort();
    await sweeping;

    expect(warnings).toHaveLength(2);
    expect(warnings[0]).toMatch(/^a sweep could not begin: .*it is away/);
    world.assertEffects(1);
  },
);
