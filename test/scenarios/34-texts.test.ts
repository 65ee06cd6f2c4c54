/**
 * The texts that a model can see. What it reads in an answer decides whether it doubles the effect,
 * so every text says what is known, what is not, and whether the same call is safe (R29).
 */
import { expect } from "vitest";
import { days, hours } from "../../src/index.ts";
import { dropCalls, movableRuntime, stopAt } from "../support/store-faults.ts";
import { type Told, executeRefund, refundArgs, scenario, type World } from "../support/world.ts";

/** The line that a model is shown. */
function textOf(told: Told): string {
  const text = told.outcome?.text ?? (told.error as Error).message;
  return text.replaceAll(/\b[0-9a-f]{64}\b/g, "<key>");
}

/** Runs under an intent and a tool of its own, so that one world can tell many stories. */
type Story = (world: World, ticketId: string) => Promise<Told>;

function refundOf(ticketId: string): { args: unknown } {
  return { args: { ...refundArgs, ticketId } };
}

const settledStories: Record<string, Story> = {
  "a first execution": (world, id) => world.run(refundOf(id)),
  "a replay": async (world, id) => {
    await world.run(refundOf(id));
    return world.run(refundOf(id));
  },
  "a replay of what could not be stored": async (world, id) => {
    const send = executeRefund(world.client);
    const tool = world.tool({
      name: "big_refund",
      contract: { providerId: () => "eff_large" },
      execute: async (...call: Parameters<typeof send>) => {
        await send(...call);
        return { id: 1n };
      },
    });
    await world.run({ tool, ...refundOf(id) });
    return world.run({ tool, ...refundOf(id) });
  },
  "a replay of what was replaced": async (world, id) => {
    const first = await world.run(refundOf(id));
    const supersedes = { key: first.outcome?.key ?? "", reason: "the amount was wrong" };
    await world.run({
      args: { ...refundArgs, ticketId: id, amountMinor: 1 },
      context: { supersedes },
    });
    return world.run(refundOf(id));
  },
  "a success that could not be recorded": async (world, id) => {
    const runtime = movableRuntime();
    const store = dropCalls(await world.opened.again({ clock: world.clock }), {
      methods: ["complete"],
      when: "before",
      onDrop: () => runtime.move(60_000),
    });
    return world.run({ guard: await world.another({ store, runtime }), ...refundOf(id) });
  },
  "a mismatch of fields": async (world, id) => {
    await world.run(refundOf(id));
    return world.run({ args: { ...refundArgs, ticketId: id, amountMinor: 1, currency: "USD" } });
  },
  "a mismatch of tools": async (world, id) => {
    await world.run(refundOf(id));
    return world.run({ tool: world.tool({ name: "other_refund" }), ...refundOf(id) });
  },
  "a refusal": async (world, id) => {
    world.provider.fault({ decline: true });
    return world.run(refundOf(id));
  },
  "an outcome that was purged": async (world, id) => {
    await world.run(refundOf(id));
    world.advance(days(46));
    await world.guard.purge();
    return world.run(refundOf(id));
  },
  "a request that did not leave": async (world, id) => {
    world.provider.fault({ rateLimited: true });
    return world.run(refundOf(id));
  },
  "a withdrawn call": (world, id) =>
    world.run({ ...refundOf(id), context: { signal: AbortSignal.abort() } }),
  "an invalid intent": (world) => world.run({ context: { tenant: " acme" } }),
  "an argument that is no JSON": (world) => world.run({ args: { ...refundArgs, at: new Date(0) } }),
  "arguments that don't fit": (world) => world.run({ args: { orderId: 8812 } }),
  "a replacement of nothing": (world, id) =>
    world.run({
      ...refundOf(id),
      context: { supersedes: { key: "none", reason: "changed mind" } },
    }),
};

const unknownStories: Record<string, Story> = {
  "another call at work": async (world, id) => {
    const stop = stopAt("before-write");
    const busy = world.run({
      guard: await world.another({ onPoint: stop.onPoint }),
      ...refundOf(id),
    });
    await stop.reached(busy);
    const told = await world.run(refundOf(id));
    stop.release();
    await busy;
    return told;
  },
  "an answer that was lost": async (world, id) => {
    world.provider.fault({ dropReplyAfterCommit: true });
    return world.run(refundOf(id));
  },
  "a request that may still be on its way": async (world, id) => {
    const tool = world.tool({ name: "strict_refund", contract: { mode: "strict" } });
    world.provider.fault({ failBeforeCommit: true });
    await world.run({ tool, ...refundOf(id) });
    return world.run({ tool, ...refundOf(id) });
  },
  "a look-up that is out of order": async (world, id) => {
    const tool = world.tool({ name: "strict_refund_2", contract: { mode: "strict" } });
    world.provider.fault({ failBeforeCommit: true });
    await world.run({ tool, ...refundOf(id) });
    world.provider.behave({ lookUps: "fail" });
    world.advance(60_000);
    const told = await world.run({ tool, ...refundOf(id) });
    world.provider.behave({ lookUps: "answer" });
    return told;
  },
  "a store that went away": async (world, id) => {
    const runtime = movableRuntime();
    const store = dropCalls(await world.opened.again({ clock: world.clock }), {
      methods: ["markUnknown"],
      when: "before",
      onDrop: () => runtime.move(60_000),
    });
    world.provider.fault({ failBeforeCommit: true });
    return world.run({ guard: await world.another({ store, runtime }), ...refundOf(id) });
  },
  "a worker that was taken over": async (world, id) => {
    const slow = stopAt("before-settle");
    const first = world.run({
      guard: await world.another({ onPoint: slow.onPoint }),
      ...refundOf(id),
    });
    world.provider.fault({ failBeforeCommit: true });
    await slow.reached(first);
    world.advance(60_000);
    const next = stopAt("before-look-up");
    const second = world.run({
      guard: await world.another({ onPoint: next.onPoint }),
      ...refundOf(id),
    });
    await next.reached(second);
    slow.release();
    const told = await first;
    next.release();
    await second;
    return told;
  },
  "nobody to ask, the key forgotten": async (world, id) => {
    const tool = world.tool({ name: "blind_refund", contract: { lookUp: undefined } as never });
    world.provider.fault({ dropReplyAfterCommit: true });
    await world.run({ tool, ...refundOf(id) });
    world.advance(hours(25));
    return world.run({ tool, ...refundOf(id) });
  },
  "nobody to ask, no key": async (world, id) => {
    const contract = { mode: "strict", key: undefined, lookUp: undefined } as never;
    const tool = world.tool({ name: "bare_refund", contract });
    world.provider.fault({ dropReplyAfterCommit: true });
    await world.run({ tool, ...refundOf(id) });
    return world.run({ tool, ...refundOf(id) });
  },
  "an absence that proves nothing": async (world, id) => {
    const tool = world.tool({ name: "strict_refund_3", contract: { mode: "strict" } });
    world.provider.fault({ failBeforeCommit: true });
    await world.run({ tool, ...refundOf(id) });
    world.advance(60_000);
    return world.run({ tool, ...refundOf(id) });
  },
  "a look-alike that is held": async (world, id) => {
    const lookAlike = { rule: "hold", windowMs: 1000 };
    const tool = world.tool({ name: "held_refund", operation: "held", lookAlike });
    await world.run({ tool, ...refundOf(id) });
    return world.run({ tool, ...refundOf(`${id}-b`) });
  },
  "a row that can't be read": async (world, id) => {
    await world.run(refundOf(id));
    const like = `%:ticket-${id}"%`;
    await world.opened.sql(
      `update :schema.operations set result = '{' where intent like '${like}'`,
    );
    return world.run(refundOf(id));
  },
  "an intent whose replacement is not settled": async (world, id) => {
    world.provider.fault({ failBeforeCommit: true });
    const first = await world.run(refundOf(id));
    const supersedes = { key: (first.error as { key: string }).key, reason: "changed mind" };
    return world.run({
      args: { ...refundArgs, ticketId: id, amountMinor: 1 },
      context: { supersedes },
    });
  },
};

async function tell(world: World, stories: Record<string, Story>): Promise<Map<string, Told>> {
  const told = new Map<string, Told>();
  for (const [index, [name, story]] of Object.entries(stories).entries()) {
    told.set(name, await story(world, `${index}`));
  }
  return told;
}

function printed(told: ReadonlyMap<string, Told>): string {
  const lines = [...told].map(([name, one]) => `${name}\n  ${one.told}\n  ${textOf(one)}\n`);
  return lines.join("\n");
}

scenario("the texts for what is known read as they are meant to", {}, async (world) => {
  const told = await tell(world, settledStories);
  // First, so that nothing but the real guard can ever write the file.
  expect(told.get("a replay")?.told).toBe("REPLAYED");
  await expect(printed(told)).toMatchFileSnapshot("snapshots/settled-texts.txt");
});

scenario("the texts for what is not known read as they are meant to", {}, async (world) => {
  const told = await tell(world, unknownStories);
  expect(told.get("another call at work")?.told).toBe("IN_PROGRESS");
  await expect(printed(told)).toMatchFileSnapshot("snapshots/unknown-texts.txt");
});

scenario(
  "no text for an unknown outcome speaks of failing or asks to try again",
  {},
  async (world) => {
    const told = await tell(world, unknownStories);
    const misread = [...told].filter(([, one]) => /fail|try again|retry/i.test(textOf(one)));
    expect(misread.map(([name]) => name)).toEqual([]);
  },
);

scenario(
  "a text that leaves the outcome open says that the same call is safe and a changed one is not",
  {},
  async (world) => {
    const open = ["IN_PROGRESS", "OUTCOME_UNKNOWN", "NEEDS_REVIEW", "LEASE_LOST"];
    const told = [...(await tell(world, unknownStories)).values()];
    const texts = told.filter((one) => open.includes(one.told));
    expect(new Set(texts.map((one) => one.told))).toEqual(new Set(open));
    for (const one of texts) {
      expect(textOf(one)).toMatch(/same call is safe/);
      expect(textOf(one)).toMatch(/changed call\b.* is not/);
      expect(textOf(one)).toMatch(/Key <key>\.$/);
      expect((one.error as { entry: { sameCall: string } }).entry.sameCall).toBe("safe");
    }
  },
);

scenario("a row that can't be read is told with what its caller may do", {}, async (world) => {
  await world.run();
  await world.opened.sql("update :schema.operations set result = '{'");
  const told = await world.run();
  expect(told.told).toBe("RECORD_CORRUPT");
  expect(textOf(told)).toMatch(/same call/);
});

scenario(
  "an operation that is held is known not to have taken effect, and the text says so",
  {},
  async (world) => {
    const tool = world.tool({ lookAlike: { rule: "hold", windowMs: 1000 } });
    await world.run({ tool, ...refundOf("1") });
    const told = await world.run({ tool, ...refundOf("2") });
    expect(told.told).toBe("NEEDS_REVIEW");
    expect(textOf(told)).not.toMatch(/whether this intent took effect can't be settled/i);
    world.assertEffects(1);
  },
);

scenario("a store that is away is told with what its caller may do", {}, async (world) => {
  const store = dropCalls(await world.opened.again({ clock: world.clock }), {
    methods: ["claim"],
    when: "before",
  });
  const told = await world.run({ guard: await world.another({ store }) });
  expect(told.told).toBe("STORE_UNAVAILABLE");
  expect(textOf(told)).toMatch(/nothing was sent/i);
  expect(textOf(told)).toMatch(/same call is safe/i);
  world.assertEffects(0);
});

const wordsOfClients: [client: string, error: () => Error][] = [
  ["undici", () => new TypeError("fetch failed")],
  ["axios", () => new Error("Request failed with status code 504")],
  ["a tool's author", () => new Error("Refund failed, please try again")],
];

for (const [client, error] of wordsOfClients) {
  scenario(
    `the words of ${client} don't make a failure of an unknown outcome`,
    {},
    async (world) => {
      const send = executeRefund(world.client);
      const tool = world.tool({
        execute: async (...call: Parameters<typeof send>) => {
          await send(...call);
          throw error();
        },
      });
      const told = await world.run({ tool });
      expect(told.told).toBe("OUTCOME_UNKNOWN");
      expect(textOf(told)).not.toMatch(/fail|try again/i);
      // They are there for people.
      expect(told.error).toMatchObject({ cause: { message: error().message } });
      world.assertEffects(1);
    },
  );
}

scenario(
  "the words of a look-up that broke don't make a failure of an unknown outcome",
  { contract: { mode: "strict" } },
  async (world) => {
    const find = (): never => {
      throw new TypeError("fetch failed");
    };
    const tool = world.tool({ contract: { lookUp: { find, lagMs: 1000 } } });
    world.provider.fault({ dropReplyAfterCommit: true });
    await world.run({ tool });
    world.advance(60_000);
    const told = await world.run({ tool });
    expect(told.told).toBe("OUTCOME_UNKNOWN");
    expect(textOf(told)).not.toMatch(/fail|try again/i);
    world.assertEffects(1);
  },
);

scenario(
  "a failed effect that proves nothing of another attempt is told without the word",
  {
    contract: {
      key: { shape: "uuid", retentionMs: hours(24), atomic: true, afterError: "replays" },
    },
  },
  async (world) => {
    const find = (): unknown => ({ answer: "found", effects: [{ status: "failed", result: {} }] });
    const blind = world.tool({ contract: { lookUp: undefined } as never });
    world.provider.fault({ failBeforeCommit: true }, { failBeforeCommit: true });
    await world.run({ tool: blind });
    await world.run({ tool: blind });
    const seeing = world.tool({ contract: { lookUp: { find, lagMs: 1000 } } as never });
    const told = await world.run({ guard: await world.another(), tool: seeing });

    expect(told.told).toBe("NEEDS_REVIEW");
    expect(textOf(told)).not.toMatch(/fail|try again/i);
    world.assertEffects(0);
  },
);
