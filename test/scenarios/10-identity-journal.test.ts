/**
 * A call that is suppressed leaves a line in the journal of the operation that won, so that a key which
 * is too coarse shows (case 22; R12).
 */
import { expect } from "vitest";
import { type JournalLine, type OperationRecord, days, findChainFault } from "../../src/index.ts";
import { type Told, type World, refundArgs, scenario } from "../support/world.ts";

async function journalOf(world: World, record: OperationRecord): Promise<readonly JournalLine[]> {
  const { tenant, key } = record;
  return world.opened.store.readJournal({ tenant, key, after: null, limit: 1000 });
}

/** The details of the suppressed calls, after checking that the chain is whole. */
async function suppressedCalls(
  world: World,
  record: OperationRecord,
): Promise<Record<string, unknown>[]> {
  const lines = await journalOf(world, record);
  expect(findChainFault(lines)).toBeUndefined();
  return lines
    .filter(({ event }) => event === "operation.repeated")
    .map(({ detail }) => JSON.parse(detail) as Record<string, unknown>);
}

async function rowOf(world: World, part: string): Promise<OperationRecord> {
  const found = (await world.rows()).filter(({ intent }) => intent.includes(part));
  expect(found).toHaveLength(1);
  return found[0] as OperationRecord;
}

scenario(
  "two deploys are two effects; one that is asked for twice is one, and the second leaves a line",
  {},
  async (world) => {
    const tool = world.tool({
      name: "deploy",
      operation: "deploy",
      intent: ({ trusted }: { trusted: Record<string, unknown> }) => ({
        deploy: "svc:prod",
        commit: trusted["commit"],
      }),
    });
    const told: Told["told"][] = [];
    for (const [commit, workflowId] of [
      ["c1", "push-1"],
      ["c2", "push-2"],
      ["c1", "push-3"],
    ] as const) {
      told.push((await world.run({ tool, context: { trusted: { commit }, workflowId } })).told);
    }
    const [first, second] = [await rowOf(world, '"c1"'), await rowOf(world, '"c2"')];

    expect(told).toEqual(["EXECUTED", "EXECUTED", "REPLAYED"]);
    expect(await suppressedCalls(world, first)).toEqual([
      {
        acquisition: expect.not.stringMatching(first.acquisitionId),
        fingerprint: first.fingerprint,
        workflowId: "push-3",
      },
    ]);
    expect(await suppressedCalls(world, second)).toEqual([]);
    world.assertEffects(2);
  },
);

scenario(
  "a call that comes while another runs, afterwards, or with other arguments leaves a line each",
  {},
  async (world) => {
    world.provider.fault({ gate: "g" });
    const running = world.run();
    await world.provider.parked("g");
    const meanwhile = await world.run({ guard: await world.another() });
    const waiting = world.run({ context: { onInProgress: { waitMs: 20_000 } } });
    world.provider.release("g");
    const told = [await running, meanwhile, await waiting, await world.run()];
    told.push(await world.run({ args: { ...refundArgs, amountMinor: 1 } }));
    const row = await world.row();
    const calls = await suppressedCalls(world, row);

    expect(told.map((one) => one.told)).toEqual([
      "EXECUTED",
      "IN_PROGRESS",
      "REPLAYED",
      "REPLAYED",
      "PAYLOAD_MISMATCH",
    ]);
    expect(calls).toHaveLength(4);
    expect(calls.map(({ fingerprint }) => fingerprint === row.fingerprint)).toEqual([
      true,
      true,
      true,
      false,
    ]);
    expect(new Set(calls.map(({ acquisition }) => acquisition)).size).toBe(4);
    expect(calls.map(({ acquisition }) => acquisition)).not.toContain(row.acquisitionId);
    world.assertEffects(1);
  },
);

scenario(
  "a call that meets a refused, a reviewed or a purged operation leaves a line, too",
  { lookUp: false, contract: { mode: "strict" } },
  async (world) => {
    const told: Told["told"][] = [];
    const repeat = async (ticketId: string, times: number): Promise<void> => {
      for (let time = 0; time < times; time += 1) {
        told.push((await world.run({ args: { ...refundArgs, ticketId } })).told);
      }
    };
    world.provider.fault({ decline: true });
    await repeat("refused", 2);
    world.provider.fault({ dropReplyAfterCommit: true });
    await repeat("reviewed", 3);
    await repeat("purged", 2);
    world.advance(days(46));
    expect(await world.guard.purge()).toBe(2);
    await repeat("purged", 1);

    expect(told).toEqual([
      "OPERATION_FAILED",
      "OPERATION_FAILED",
      "OUTCOME_UNKNOWN",
      "NEEDS_REVIEW",
      "NEEDS_REVIEW",
      "EXECUTED",
      "REPLAYED",
      "KEY_EXPIRED",
    ]);
    const counts: Record<string, number> = {};
    for (const ticketId of ["refused", "reviewed", "purged"]) {
      counts[ticketId] = (await suppressedCalls(world, await rowOf(world, ticketId))).length;
    }
    expect(counts).toEqual({ refused: 1, reviewed: 2, purged: 2 });
    world.assertEffects(2);
  },
);

scenario(
  "a line is in the journal of the tenant whose operation won, and in no other",
  {},
  async (world) => {
    for (const tenant of ["t1", "t2", "t1", "t1"]) await world.run({ context: { tenant } });
    const counts: Record<string, number> = {};
    for (const row of await world.rows()) {
      counts[row.tenant] = (await suppressedCalls(world, row)).length;
    }

    expect(counts).toEqual({ t1: 2, t2: 0 });
    world.assertEffects(2);
  },
);
