/**
 * Providers differ in what they do after an error, and tools in how far they go (R20, R21).
 */
import { expect } from "vitest";
import { hours } from "../../src/index.ts";
import { type RefundContract, refundLookUp, scenario, type World } from "../support/world.ts";

const key = { shape: "uuid", retentionMs: hours(24), atomic: true } as const;
const bare = { mode: "strict", key: undefined, lookUp: undefined } as never;

async function tell(world: World, calls: number): Promise<string[]> {
  const told = [];
  for (let call = 1; call <= calls; call += 1) told.push((await world.run()).told);
  return told;
}

scenario(
  "a provider that replays a stored error can't be asked by resending: a person decides",
  { contract: { key: { ...key, afterError: "replays" }, maxAttempts: 3 }, lookUp: false },
  async (world) => {
    world.provider.fault({ status: 500, effect: true });
    const told = await tell(world, 5);

    expect(told).toEqual([
      ...Array<string>(3).fill("OUTCOME_UNKNOWN"),
      "NEEDS_REVIEW",
      "NEEDS_REVIEW",
    ]);
    expect((await world.row()).reviewReason).toContain("the limit of attempts");
    expect(world.provider.counters()).toMatchObject({ arrivals: 3, replays: 2 });
    world.assertEffects(1);
  },
);

scenario(
  "a provider that replays a stored error, and can be asked, is asked",
  { contract: { key: { ...key, afterError: "replays" } } },
  async (world) => {
    world.provider.fault({ status: 500, effect: true });
    expect(await tell(world, 2)).toEqual(["OUTCOME_UNKNOWN", "REPLAYED"]);
    world.assertEffects(1);
  },
);

scenario(
  "a provider that runs again after an error gets there by a resend",
  {
    contract: { key: { ...key, afterError: "re-executes" } },
    behaviour: { saves: "success-only" },
    lookUp: false,
  },
  async (world) => {
    world.provider.fault({ status: 503, effect: false }, { status: 500, effect: false });
    expect(await tell(world, 4)).toEqual([
      "OUTCOME_UNKNOWN",
      "OUTCOME_UNKNOWN",
      "EXECUTED",
      "REPLAYED",
    ]);
    world.assertEffects(1);
  },
);

scenario(
  "a provider that burns its keys answers so for ever, and a person decides",
  {
    contract: { key: { ...key, afterError: "burnt" }, maxAttempts: 2 },
    behaviour: { saves: "burns" },
    lookUp: false,
  },
  async (world) => {
    world.provider.fault({ status: 500, effect: false });
    const told = [];
    for (let call = 1; call <= 3; call += 1) told.push(await world.run());
    expect(told.map((one) => one.told)).toEqual([
      "OUTCOME_UNKNOWN",
      "OUTCOME_UNKNOWN",
      "NEEDS_REVIEW",
    ]);
    expect(told[1]?.error).toMatchObject({ cause: { code: "key_burnt" } });
    world.assertEffects(0);
  },
);

const unfit: [title: string, contract: Partial<RefundContract>][] = [
  ["what it saves is not known", { key }],
  ["it saves no errors", { key: { ...key, afterError: "not-saved" } }],
  ["its key is not atomic", { key: { ...key, atomic: false, afterError: "replays" } }],
  ["its retention is not known", { key: { shape: "uuid", atomic: true, afterError: "replays" } }],
  ["it has no key", { key: undefined } as never],
];

for (const [title, contract] of unfit) {
  scenario(
    `a provider of which ${title} is sent nothing twice, in no mode but proved absence`,
    { behaviour: { saves: "success-only" } },
    async (world) => {
      expect(() => world.tool({ contract })).toThrow(/mode `window`/);
      const strict = world.tool({ contract: { ...contract, mode: "strict" } });
      world.provider.fault({ failBeforeCommit: true });
      const told = [];
      for (const stepMs of [0, 0, 60_000, hours(2)]) {
        world.advance(stepMs);
        told.push((await world.run({ tool: strict })).told);
      }
      expect(told).toEqual(["OUTCOME_UNKNOWN", "OUTCOME_UNKNOWN", "NEEDS_REVIEW", "NEEDS_REVIEW"]);
      expect(world.provider.arrivals()).toHaveLength(1);
      world.assertEffects(0);
    },
  );
}

scenario(
  "a strict tool arms once in its life, whoever comes and whatever they hope",
  { contract: bare, lookUp: false },
  async (world) => {
    world.provider.fault({ dropReplyAfterCommit: true });
    const told = await tell(world, 2);
    const sweeper = await world.another({ tools: [world.refund] });
    for (let round = 1; round <= 5; round += 1) {
      world.advance(hours(1));
      await sweeper.sweep();
      told.push((await world.run({ guard: await world.another() })).told);
    }
    expect(told).toEqual(["OUTCOME_UNKNOWN", ...Array<string>(6).fill("NEEDS_REVIEW")]);
    expect(await world.row()).toMatchObject({ attempts: 1, generation: 0 });
    expect(world.provider.arrivals()).toHaveLength(1);
    world.assertEffects(1);
  },
);

scenario(
  "a strict tool with a good key doesn't resend either",
  { contract: { mode: "strict", key: { ...key, afterError: "replays" } }, lookUp: false },
  async (world) => {
    world.provider.fault({ dropReplyAfterCommit: true });
    expect(await tell(world, 3)).toEqual(["OUTCOME_UNKNOWN", "NEEDS_REVIEW", "NEEDS_REVIEW"]);
    const { reviewReason } = await world.row();
    expect(reviewReason).toContain("can't be asked what happened");
    expect(world.provider.arrivals()).toHaveLength(1);
    world.assertEffects(1);
  },
);

scenario(
  "proved absence sends again under a new key, once for each proof",
  { contract: { mode: "proved-absence", key: undefined } as never },
  async (world) => {
    world.provider.fault({ failBeforeCommit: true }, { failBeforeCommit: true });
    const told = await tell(world, 2);
    world.advance(60_000);
    told.push(...(await tell(world, 2)));
    world.advance(60_000);
    told.push(...(await tell(world, 2)));

    expect(told).toEqual([...Array<string>(4).fill("OUTCOME_UNKNOWN"), "EXECUTED", "REPLAYED"]);
    const keys = world.provider.arrivals().map((arrival) => arrival.key);
    expect(new Set(keys).size).toBe(3);
    expect(await world.row()).toMatchObject({ generation: 2, attempts: 3, wireKey: keys[2] });
    world.assertEffects(1);
  },
);

scenario(
  "a look-up is given every key under which something was sent, newest first, and the stored arguments",
  { contract: { mode: "proved-absence", key: undefined } as never },
  async (world) => {
    const questions: unknown[] = [];
    const lookUp = refundLookUp(world.client);
    const tool = world.tool({
      contract: {
        lookUp: {
          ...lookUp,
          find: (question: Parameters<typeof lookUp.find>[0]) => {
            questions.push([question.tenant, question.wireKeys, question.arguments]);
            return lookUp.find(question);
          },
        },
      },
    });
    world.provider.fault({ failBeforeCommit: true }, { failBeforeCommit: true });
    for (let call = 1; call <= 3; call += 1) {
      await world.run({ tool });
      world.advance(60_000);
    }
    const [first, second] = world.provider.arrivals().map((arrival) => arrival.key);
    const sent = { amountMinor: 48_000, currency: "EUR", orderId: "8812" };
    expect(questions).toEqual([
      ["acme", [first], sent],
      ["acme", [second, first], sent],
    ]);
    world.assertEffects(1);
  },
);

scenario(
  "a new key that comes too early, because the row has moved on, is refused by the row itself",
  { contract: { mode: "proved-absence", key: undefined } as never },
  async (world) => {
    world.provider.fault({ failBeforeCommit: true });
    await world.run();
    world.advance(60_000);
    const [row] = await world.rows();
    // As if somebody had armed after this look-up began.
    const untilMs = (row?.quietUntilMs ?? 0) + hours(1);
    const guard = await world.another({
      onPoint: async ({ name }) => {
        if (name !== "before-arm") return;
        await world.opened.sql(`update :schema.operations set quiet_until_ms = ${untilMs}`);
      },
    });
    const told = await world.run({ guard });

    expect(told.told).toBe("NEEDS_REVIEW");
    expect((await world.row()).reviewReason).toBe("arming was refused");
    expect(world.provider.arrivals()).toHaveLength(1);
    world.assertEffects(0);
  },
);
