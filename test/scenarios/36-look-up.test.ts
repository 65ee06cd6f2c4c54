/**
 * The look-up: what it may say, and what each answer is worth (cases 60 and 70; R18).
 */
import { expect } from "vitest";
import type { LookUpAnswer, LookUpQuestion } from "../../src/index.ts";
import {
  type RefundContract,
  keyedContract,
  refundArgs,
  scenario,
  type World,
} from "../support/world.ts";

type Find = (question: LookUpQuestion<unknown>) => unknown;

/** No resend possible, so that the look-up's word is all there is. */
const strict: Partial<RefundContract> = { mode: "strict", giveUpAfterMs: 10_000 };
/** W + F + L + margin of the contract below. */
const quietMs =
  keyedContract.sendWithinMs + keyedContract.flightMs + 1000 + (keyedContract.marginMs ?? 0);

/** The effect exists, the reply was lost, and the look-up answers as it is told to. */
async function doubtful(
  world: World,
  find: Find,
  ticketId = "5521",
): Promise<() => Promise<string>> {
  const lookUp = { find, lagMs: 1000, authoritative: true, timeoutMs: 100 };
  const tool = world.tool({ name: `tool-${ticketId}`, contract: { ...strict, lookUp } as never });
  const change = { tool, args: { ...refundArgs, ticketId } };
  world.provider.fault({ dropReplyAfterCommit: true });
  expect((await world.run(change)).told).toBe("OUTCOME_UNKNOWN");
  return async () => (await world.run(change)).told;
}

function found(...effects: unknown[]): Find {
  return () => ({ answer: "found", effects });
}
const refund = { id: "eff_1", amountMinor: 48_000 };

scenario("an effect that is found is the outcome", {}, async (world) => {
  const effect = { status: "succeeded", result: refund, providerId: "eff_1" };
  const call = await doubtful(world, found(effect));
  expect([await call(), await call()]).toEqual(["REPLAYED", "REPLAYED"]);
  expect(await world.row()).toMatchObject({ status: "DONE", providerId: "eff_1" });
  world.assertEffects(1);
});

scenario(
  "an effect that is pending is not done, and one that stays pending goes to a person",
  {},
  async (world) => {
    let status = "pending";
    const call = await doubtful(world, () => found({ status, result: refund })({} as never));
    expect(await call()).toBe("OUTCOME_UNKNOWN");
    world.advance(quietMs + 10_000);
    expect(await call()).toBe("OUTCOME_UNKNOWN");
    world.advance(1);
    expect([await call(), await call()]).toEqual(["NEEDS_REVIEW", "NEEDS_REVIEW"]);
    // Evidence that arrives wins (R30).
    status = "succeeded";
    expect(await call()).toBe("REPLAYED");
    world.assertEffects(1);
  },
);

scenario("an effect that was pending and succeeded is found later", {}, async (world) => {
  let status = "pending";
  const call = await doubtful(world, () => found({ status, result: refund })({} as never));
  expect(await call()).toBe("OUTCOME_UNKNOWN");
  status = "succeeded";
  expect(await call()).toBe("REPLAYED");
  world.assertEffects(1);
});

scenario(
  "an effect of which the look-up says that it isn't what was asked for goes to a person",
  {},
  async (world) => {
    const effect = { status: "succeeded", result: refund, differsIn: "amount" };
    const call = await doubtful(world, found(effect));
    expect(await call()).toBe("NEEDS_REVIEW");
    expect((await world.row()).reviewReason).toContain("differs in amount");
    world.assertEffects(1);
  },
);

scenario("an effect that failed, of the only attempt, is a failure", {}, async (world) => {
  const call = await doubtful(world, found({ status: "failed", result: refund }));
  expect([await call(), await call()]).toEqual(["OPERATION_FAILED", "OPERATION_FAILED"]);
  expect(world.provider.arrivals()).toHaveLength(1);
});

const forPeople: [title: string, find: Find, reason: RegExp][] = [
  [
    "two effects for one intent are for a person, with both ids",
    found(
      { status: "succeeded", result: 1, providerId: "eff_1" },
      { status: "succeeded", result: 2 },
    ),
    /shows 2 effects for this intent: eff_1, one without an id/,
  ],
  [
    "an effect that contradicts the arguments is for a person, with the field",
    found({ status: "succeeded", result: refund, arguments: { amountMinor: 96_000 } }),
    /differs in amountMinor/,
  ],
  [
    "a failed effect that contradicts the arguments is for a person, too",
    found({ status: "failed", result: refund, arguments: { currency: "USD" } }),
    /differs in currency/,
  ],
];

for (const [title, find, reason] of forPeople) {
  scenario(title, {}, async (world) => {
    const call = await doubtful(world, find);
    expect([await call(), await call()]).toEqual(["NEEDS_REVIEW", "NEEDS_REVIEW"]);
    expect((await world.row()).reviewReason).toMatch(reason);
    expect(world.provider.arrivals()).toHaveLength(1);
    world.assertEffects(1);
  });
}

scenario("arguments that agree, or that aren't ours, contradict nothing", {}, async (world) => {
  const effect = {
    status: "succeeded",
    result: refund,
    arguments: { amountMinor: 48_000, fee: 12 },
  };
  const call = await doubtful(world, found(effect));
  expect(await call()).toBe("REPLAYED");
  world.assertEffects(1);
});

const unsure: [title: string, find: Find][] = [
  ["is unsure", () => ({ answer: "unsure" })],
  ["is unsure and says why", () => ({ answer: "unsure", reason: "the index is behind" })],
  [
    "throws",
    () => {
      throw new Error("connection reset");
    },
  ],
  ["rejects with nothing", () => Promise.reject(null)],
  ["rejects with something unreadable", () => Promise.reject(Object.create(null) as Error)],
  ["never answers", () => new Promise(() => {})],
  ["forgets to answer", () => undefined],
  ["answers null", () => null],
  ["answers with a list", () => []],
  ["answers in other words", () => ({ answer: "not found" })],
  ["says found and names nothing", found()],
  ["says found and forgets the effects", () => ({ answer: "found" })],
  ["says found and gives no list", () => ({ answer: "found", effects: refund })],
  ["says found and gives a list of nothing", found(null)],
  ["finds a status that nobody knows", found({ status: "refunded", result: refund })],
  ["finds an effect without a status", found({ result: refund })],
  [
    "finds an argument that is undefined",
    found({ status: "succeeded", result: refund, arguments: { currency: undefined } }),
  ],
  [
    "finds an argument that is no JSON",
    found({ status: "succeeded", result: refund, arguments: { amountMinor: 48_000n } }),
  ],
];

scenario("whatever a look-up does but answer well settles nothing", {}, async (world) => {
  const told: Record<string, readonly string[]> = {};
  for (const [index, [title, find]] of unsure.entries()) {
    const call = await doubtful(world, find, `${index}`);
    const early = await call();
    world.advance(quietMs + 10_000);
    const late = await call();
    world.advance(1);
    told[title] = [early, late, await call()];
  }
  const settledNothing = ["OUTCOME_UNKNOWN", "OUTCOME_UNKNOWN", "NEEDS_REVIEW"];
  expect(told).toEqual(Object.fromEntries(unsure.map(([title]) => [title, settledNothing])));
  expect(world.provider.arrivals()).toHaveLength(unsure.length);
  world.assertEffects(unsure.length);
});

scenario("an absence is no proof before everything has settled", {}, async (world) => {
  let answer: LookUpAnswer<unknown> = { answer: "absent", final: true };
  const call = await doubtful(world, () => answer);
  world.advance(quietMs);
  expect(await call()).toBe("OUTCOME_UNKNOWN");
  expect((await world.row()).status).toBe("UNKNOWN");
  world.advance(1);
  expect(await call()).toBe("OPERATION_FAILED");
  answer = { answer: "unsure" };
  expect(await call()).toBe("OPERATION_FAILED");
});

scenario(
  "a look-up that began before everything had settled proves nothing when it ends later",
  {},
  async (world) => {
    const call = await doubtful(world, () => {
      world.clock.advance(quietMs + 10);
      return { answer: "absent", final: true };
    });
    expect(await call()).toBe("OUTCOME_UNKNOWN");
    expect((await world.row()).status).toBe("UNKNOWN");
    world.assertEffects(1);
  },
);

scenario(
  "an absence that isn't final is for a person where the tool may not send again",
  {},
  async (world) => {
    const call = await doubtful(world, () => ({ answer: "absent" }));
    world.advance(quietMs + 1);
    expect(await call()).toBe("NEEDS_REVIEW");
    expect(world.provider.arrivals()).toHaveLength(1);
    world.assertEffects(1);
  },
);

scenario(
  "an index that lags behind is not believed before its lag is over, and nothing is sent",
  { behaviour: { lookUpLagMs: 30_000 }, contract: { ...strict, mode: "proved-absence" } },
  async (world) => {
    const { lookUp } = keyedLookUp(world, 30_000);
    const tool = world.tool({ contract: { key: undefined, lookUp } as never });
    world.provider.fault({ dropReplyAfterCommit: true });
    const first = await world.run({ tool });
    world.advance(5000);
    const second = await world.run({ tool });
    world.advance(26_000);
    const third = await world.run({ tool });

    expect([first.told, second.told, third.told]).toEqual([
      "OUTCOME_UNKNOWN",
      "OUTCOME_UNKNOWN",
      "REPLAYED",
    ]);
    expect(world.provider.arrivals()).toHaveLength(1);
    world.assertEffects(1);
  },
);

scenario(
  "an index whose lag nobody knows never proves anything: a key resends, else a person decides",
  { behaviour: { lookUpLagMs: 3_600_000 } },
  async (world) => {
    const { lookUp } = keyedLookUp(world, undefined);
    const contracts = [{ lookUp }, { lookUp, key: undefined, mode: "strict" }];
    const told = [];
    for (const [index, contract] of contracts.entries()) {
      const tool = world.tool({ name: `tool-${index}`, contract: contract as never });
      const change = { tool, args: { orderId: `${index}`, amountMinor: 1, currency: "EUR" } };
      world.provider.fault({ dropReplyAfterCommit: true });
      await world.run(change);
      world.advance(100_000);
      told.push((await world.run(change)).told);
    }
    expect(told).toEqual(["EXECUTED", "NEEDS_REVIEW"]);
    world.assertEffects(2);
  },
);

/** The world's look-up, with another lag. */
function keyedLookUp(
  world: World,
  lagMs: number | undefined,
): { lookUp: NonNullable<RefundContract["lookUp"]> } {
  const { lookUp } = world.refund.guarded?.contract ?? {};
  if (lookUp === undefined) throw new Error("the world's tool has a look-up");
  const { lagMs: _lag, authoritative: _authoritative, ...rest } = lookUp;
  return { lookUp: lagMs === undefined ? rest : { ...rest, lagMs, authoritative: true } };
}
