/**
 * A crash at every single call of the store, before it applies and after, while the provider's reply is
 * lost or the request doesn't arrive, and for kinds of tool that the crash matrix doesn't have (see
 * test/crash, where real processes die). There is never a second effect, and no row is settled without
 * a result.
 */
import { expect } from "vitest";
import { hours } from "../../src/index.ts";
import { findRecordFault } from "../../src/ledger/record.ts";
import { findChainFault } from "../../src/ledger/journal.ts";
import type { FaultStep } from "../../src/testing/fake-provider/index.ts";
import { crashingStore } from "../support/store-faults.ts";
import {
  type RefundContract,
  type Told,
  refundArgs,
  scenario,
  type World,
} from "../support/world.ts";

const pass: FaultStep = { pass: true };
const lost: FaultStep = { dropReplyAfterCommit: true };
const cut: FaultStep = { failBeforeCommit: true };

interface Kind {
  readonly name: string;
  readonly contract: Partial<RefundContract>;
  readonly lookUp?: false;
  /** What a caller is told in the end, whatever happened: the kind's best. */
  readonly settles: boolean;
}

const kinds: readonly Kind[] = [
  { name: "a keyed tool with a look-up", contract: {}, settles: true },
  { name: "a keyed tool without a look-up", contract: {}, lookUp: false, settles: true },
  { name: "a strict tool with a look-up", contract: { mode: "strict" }, settles: false },
  {
    name: "a strict tool without anything",
    contract: { mode: "strict", key: undefined } as never,
    lookUp: false,
    settles: false,
  },
  {
    name: "a tool with proof of absence and no key",
    contract: { mode: "proved-absence", key: undefined } as never,
    settles: true,
  },
];

/** Runs one intent by a guard that dies at its n-th call of the store. False: it didn't get so far. */
async function runAndCrash(
  world: World,
  ticketId: string,
  atCall: number,
  when: "before" | "after",
): Promise<boolean> {
  const { store, crashed, calls } = crashingStore(world.opened.store, atCall, when);
  const guard = await world.another({ store });
  const running = world.run({ guard, args: { ...refundArgs, ticketId } });
  await Promise.race([crashed, running]);
  return calls.length === atCall;
}

/** Others come by, after lease upon lease, until the intent is settled or a person has it. */
async function finish(world: World, ticketId: string): Promise<Told> {
  for (let turn = 1; ; turn += 1) {
    world.advance(hours(1));
    const told = await world.run({ args: { ...refundArgs, ticketId } });
    if (turn === 5 || ["EXECUTED", "REPLAYED", "NEEDS_REVIEW"].includes(told.told)) return told;
  }
}

async function check(world: World, ticketId: string, told: Told, kind: Kind): Promise<void> {
  const row = (await world.rows()).find((one) => one.intent.includes(`ticket-${ticketId}"`));
  if (row === undefined) throw new Error(`${ticketId}: no row`);
  const { tenant, key } = row;
  const effects = world.provider.ledger().filter((effect) => effect.tag === key).length;
  const lines = await world.opened.store.readJournal({ tenant, key, after: null, limit: 1000 });
  const settled = told.outcome !== undefined;
  // In doubt there is one effect at most; once told of as done there is exactly one.
  expect({ ticketId, effects, told: told.told }).toEqual({
    ticketId,
    effects: settled ? 1 : expect.toBeOneOf([0, 1]),
    told: expect.stringMatching(
      kind.settles ? /^(EXECUTED|REPLAYED)$/ : /^(EXECUTED|REPLAYED|NEEDS_REVIEW)$/,
    ),
  });
  const faults = [findRecordFault(row), row.incident ?? undefined, findChainFault(lines)];
  expect({ ticketId, faults }).toEqual({ ticketId, faults: [undefined, undefined, undefined] });
}

/** What becomes of the first send. */
const stories: [title: string, fault: FaultStep][] = [
  ["good", pass],
  ["lost", lost],
  ["cut", cut],
];

for (const kind of kinds) {
  scenario(
    `${kind.name}: a crash at any call of the store, then others, make one effect at most`,
    { contract: kind.contract, ...(kind.lookUp === undefined ? {} : { lookUp: kind.lookUp }) },
    async (world) => {
      let crashes = 0;
      for (const [story, fault] of stories) {
        for (const when of ["before", "after"] as const) {
          for (let atCall = 1; ; atCall += 1) {
            const ticketId = `${story}-${when}-${atCall}`;
            world.provider.faultAlways(fault);
            const crashed = await runAndCrash(world, ticketId, atCall, when);
            world.provider.faultAlways(null);
            await check(world, ticketId, await finish(world, ticketId), kind);
            if (!crashed) break;
            crashes += 1;
          }
        }
      }
      expect(crashes).toBeGreaterThanOrEqual(12);
    },
  );
}

scenario("the sweeper may crash at any call of the store, too", {}, async (world) => {
  for (const when of ["before", "after"] as const) {
    for (let atCall = 1; atCall <= 4; atCall += 1) {
      const ticketId = `${when}-${atCall}`;
      world.provider.fault(lost);
      await world.run({ args: { ...refundArgs, ticketId } });
      world.advance(hours(1));
      const plain = await world.opened.again({ clock: world.clock });
      const { store, crashed } = crashingStore(plain, atCall, when);
      const sweeper = await world.another({ store, tools: [world.refund] });
      await Promise.race([crashed, sweeper.sweep()]);
      const told = await finish(world, ticketId);
      await check(world, ticketId, told, { name: "", contract: {}, settles: true });
    }
  }
  expect(world.provider.arrivals()).toHaveLength(8);
  world.assertEffects(8);
});
