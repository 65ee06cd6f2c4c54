/**
 * Closed operations are looked at again for some days: an effect that came later than every bound
 * said is found, and a person hears of it (R22, R14).
 */
import { expect } from "vitest";
import { type LookedAgain, type Tool, days, hours, minutes } from "../../src/index.ts";
import type { ProviderEffect } from "../../src/testing/fake-provider/index.ts";
import { dropCalls, interceptStore } from "../support/store-faults.ts";
import { type World, refundArgs, scenario } from "../support/world.ts";

const withId = { providerId: (result: unknown) => (result as ProviderEffect).id };

/** The gateway in front says 402, and the refund is made all the same. */
async function refusedWithEffect(world: World, ticketId = "5521"): Promise<void> {
  world.provider.fault({ status: 402, effect: true });
  const told = await world.run({ args: { ...refundArgs, ticketId } });
  expect(told.told).toBe("OPERATION_FAILED");
}

/** The first request stays on its way for longer than its contract says, and lands as a second effect. */
async function doubledLate(world: World): Promise<void> {
  world.provider.fault({ gate: "late", before: "key", thenReply: false });
  const first = world.run();
  await world.provider.parked("late");
  expect((await first).told).toBe("OUTCOME_UNKNOWN");
  world.advance(minutes(1));
  expect((await world.run()).told).toBe("EXECUTED");
  world.advance(minutes(10));
  world.provider.release("late");
  await expect.poll(() => world.provider.ledger().length).toBe(2);
}

function outcomes(looked: readonly LookedAgain[]): string[] {
  return looked.map((one) => one.outcome);
}

async function incidents(world: World): Promise<(string | null)[]> {
  return (await world.rows()).map((row) => row.incident);
}

scenario(
  "a refund that was made although it was refused is found after an hour, and told once",
  {},
  async (world) => {
    await refusedWithEffect(world);
    expect(await world.guard.lookAgain()).toEqual([]);
    world.advance(hours(1) - 1000);
    expect(await world.guard.lookAgain()).toEqual([]);
    expect(world.provider.lookUps()).toHaveLength(0);
    world.advance(2000);
    expect(outcomes(await world.guard.lookAgain())).toEqual(["incident"]);

    const { effectId: id } = world.provider.ledger()[0] ?? {};
    expect(await incidents(world)).toEqual([
      `a late look found an effect (${id}), although the operation had been settled as FAILED`,
    ]);
    expect((await world.run()).told).toBe("NEEDS_REVIEW");
    world.advance(days(5));
    expect(await world.guard.lookAgain()).toEqual([]);
    world.assertEffects(1);
  },
);

scenario(
  "a second effect that landed late is found, and once a person has dealt with it not told again",
  { contract: withId, behaviour: { retentionMs: minutes(5) } },
  async (world) => {
    await doubledLate(world);
    world.advance(hours(1));
    expect(outcomes(await world.guard.lookAgain())).toEqual(["incident"]);
    const flagged = await world.row();
    const ids = world.provider.ledger().map(({ effectId }) => effectId);
    expect(flagged.incident).toBe(
      `a late look found 2 effects for this intent (${ids.join(", ")}): keep one and compensate the others`,
    );
    const { tenant, key, version } = flagged;
    const word = { by: "ana", why: "one was paid back", decision: "happened" } as const;
    await world.guard.resolve({ tenant, key, version, ...word });
    for (const spanMs of [hours(1), days(1), days(3)]) {
      world.advance(spanMs + 1);
      expect(outcomes(await world.guard.lookAgain())).toEqual(["unchanged"]);
    }
    expect(await incidents(world)).toEqual([null]);
    world.assertEffects(2);
  },
);

scenario(
  "what was answered well at once is looked at only where all are to be",
  { contract: withId },
  async (world) => {
    await world.run();
    const { key } = await world.row();
    const plain = await world.another({ tools: [world.refund] });
    const all = await world.another({ tools: [world.refund], lateLooks: { all: true } });
    const none = await world.another({ tools: [world.refund], lateLooks: { afterMs: [] } });
    world.advance(hours(1) + 1);
    expect([await none.lookAgain(), await plain.lookAgain()]).toEqual([[], []]);
    world.advance(days(1));
    expect(outcomes(await all.lookAgain())).toEqual(["unchanged"]);
    // A network that doubles requests: the same, without our doing.
    await world.client.createEffect({ operation: "refund", body: {}, tag: key });
    world.advance(days(3));
    expect(outcomes(await all.lookAgain())).toEqual(["incident"]);
    world.assertEffects(2);
  },
);

scenario(
  "a look without an answer concludes nothing, and the next one comes",
  {},
  async (world) => {
    await refusedWithEffect(world);
    world.provider.behave({ lookUps: "fail" });
    world.advance(hours(1) + 1);
    expect(outcomes(await world.guard.lookAgain())).toEqual(["unsure"]);
    expect(await incidents(world)).toEqual([null]);
    world.provider.behave({ lookUps: "answer" });
    expect(await world.guard.lookAgain()).toEqual([]);
    world.advance(days(1));
    expect(outcomes(await world.guard.lookAgain())).toEqual(["incident"]);
    world.assertEffects(1);
  },
);

scenario("many workers share the looks, page by page", {}, async (world) => {
  for (const ticketId of ["a", "b", "c", "d", "e"]) await refusedWithEffect(world, ticketId);
  world.advance(hours(1) + 1);
  const workers = await Promise.all([0, 1, 2].map(() => world.another({ tools: [world.refund] })));
  const first = (await Promise.all(workers.map((worker) => worker.lookAgain({ limit: 2 })))).flat();
  expect(first.length % 2).toBe(0);
  expect(first.length).toBeGreaterThanOrEqual(2);
  const rest: LookedAgain[] = [];
  for (const worker of workers) rest.push(...(await worker.lookAgain({ limit: 2 })));

  const looked = [...first, ...rest];
  expect(outcomes(looked)).toEqual(Array.from({ length: 5 }, () => "incident"));
  expect(new Set(looked.map((one) => one.key)).size).toBe(5);
  expect(world.provider.lookUps()).toHaveLength(5);
  world.assertEffects(5);
});

scenario("who dies in a round leaves it to others, once the lease is over", {}, async (world) => {
  await refusedWithEffect(world);
  world.advance(hours(1) + 1);
  const store = dropCalls(await world.opened.again({ clock: world.clock }), {
    methods: ["recordIncident"],
    when: "before",
    times: 1,
  });
  const cut = await world.another({ store, tools: [world.refund] });
  await expect(cut.lookAgain()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  expect(await world.guard.lookAgain()).toEqual([]);
  world.advance(minutes(5));
  expect(outcomes(await world.guard.lookAgain())).toEqual(["incident"]);
  world.assertEffects(1);
});

scenario(
  "what can't be read or belongs to another account is left alone, and the others are looked at",
  {},
  async (world) => {
    for (const ticketId of ["broken", "moved", "sound", "odd"]) {
      await refusedWithEffect(world, ticketId);
      world.advance(1000);
    }
    const update = (assignment: string, ticket: string): Promise<unknown> =>
      world.opened.sql(
        `update :schema.operations set ${assignment} where intent like '%:ticket-${ticket}"%'`,
      );
    await update("arguments = '{'", "broken");
    await update("fingerprint = 'of another account'", "moved");
    world.advance(hours(1));
    const odd = (await world.rows()).find((row) => row.intent.includes("odd"))?.key;
    const plain = await world.opened.again({ clock: world.clock });
    const store = interceptStore(plain, (method, call, params) =>
      method === "readJournal" && (params as { key: string }).key === odd
        ? Promise.reject(new Error("a defect"))
        : call(),
    );
    const warnings: string[] = [];
    const onWarning = ({ message }: { message: string }): void => void warnings.push(message);
    const worker = await world.another({ store, tools: [world.refund], onWarning });

    const looked = await worker.lookAgain();
    expect(outcomes(looked)).toEqual(["skipped", "skipped", "incident", "skipped"]);
    expect(warnings).toEqual(["a late look stopped here: a defect"]);
    world.assertEffects(4);
  },
);

scenario(
  "the sweeper makes late looks by itself, also past a store that was away",
  {},
  async (world) => {
    await refusedWithEffect(world);
    world.advance(hours(1) + 1);
    const warnings: string[] = [];
    const stop = new AbortController();
    const worker = await world.another({
      tools: [world.refund],
      onWarning: ({ message }) => void warnings.push(message),
    });
    const sweeping = worker.keepSweeping({ signal: stop.signal, everyMs: 10 });
    const flagged = async (): Promise<boolean> => (await world.row()).incident !== null;
    await expect.poll(flagged).toBe(true);
    stop.abort();
    await sweeping;

    expect(warnings).toEqual([]);
    expect(world.provider.lookUps()).toHaveLength(1);
    world.assertEffects(1);
  },
);

scenario("a long journal is read to its end before a person is asked again", {}, async (world) => {
  await refusedWithEffect(world);
  const { tenant, key } = await world.row();
  for (let count = 0; count < 1100; count += 1) {
    const detail = JSON.stringify({ incident: `number ${count}` });
    await world.opened.store.recordIncident({ tenant, key, incident: "another", detail });
  }
  await world.opened.sql("update :schema.operations set incident = null");
  world.advance(hours(1) + 1);
  expect(outcomes(await world.guard.lookAgain())).toEqual(["incident"]);
  await world.opened.sql("update :schema.operations set incident = null");
  world.advance(days(1));
  expect(outcomes(await world.guard.lookAgain())).toEqual(["unchanged"]);
  world.assertEffects(1);
});

scenario(
  "a tool without a look-up is never asked about, and a store without late looks has none",
  {},
  async (world) => {
    await refusedWithEffect(world);
    world.advance(hours(1) + 1);
    const plain = await world.opened.again({ clock: world.clock });
    const bare = new Proxy(plain, {
      get: (target, name) => {
        const member: unknown = name === "lateLooks" ? undefined : Reflect.get(target, name);
        return typeof member === "function" ? (member.bind(target) as unknown) : member;
      },
    });
    const blind: Tool = world.tool({ contract: { lookUp: undefined } as never });
    const without = await world.another({ store: bare, tools: [world.refund] });
    const asked = await world.another({ tools: [blind] });
    expect([await without.lookAgain(), await asked.lookAgain()]).toEqual([[], []]);
    expect(outcomes(await world.guard.lookAgain())).toEqual(["incident"]);
    world.assertEffects(1);
  },
);

scenario("an effect that the provider gives no id of is found as well", {}, async (world) => {
  await refusedWithEffect(world);
  world.advance(hours(1) + 1);
  const effects = [{ status: "succeeded", result: {} }] as const;
  const lookUp = { find: () => ({ answer: "found", effects }) as const };
  const worker = await world.another({ tools: [world.tool({ contract: { lookUp } })] });
  expect(outcomes(await worker.lookAgain())).toEqual(["incident"]);
  expect(await incidents(world)).toEqual([expect.stringContaining("(one without an id)")]);
  world.assertEffects(1);
});
