/**
 * Refusals: what may become FAILED, what may not, and what a later call can still do (cases 58 and 59;
 * R13, R16).
 */
import { expect } from "vitest";
import type { ErrorClass, OperationRecord, Tool } from "../../src/index.ts";
import { ProviderError } from "../../src/testing/fake-provider/index.ts";
import {
  executeRefund,
  type RefundContract,
  refundArgs,
  scenario,
  type World,
} from "../support/world.ts";

const statuses = [400, 401, 403, 404, 408, 409, 422, 425, 429, 500, 502, 503, 504] as const;

/** Sees through a status to what the provider says of itself. */
function careful(error: unknown): ErrorClass {
  if (!(error instanceof ProviderError)) return "unknown";
  if (error.code === "rate_limited") return "not-executed";
  return error.code === "card_declined" ? "definitive" : "unknown";
}

scenario(
  "any status after the effect is an unknown outcome that is found",
  { contract: { classify: careful } },
  async (world) => {
    for (const [index, status] of statuses.entries()) {
      const args = { ...refundArgs, ticketId: `t-${status}` };
      world.provider.fault({ status, effect: true });
      const first = await world.run({ args });
      expect([status, first.told]).toEqual([status, "OUTCOME_UNKNOWN"]);
      const [row] = await rowsOf(world, status);
      expect([status, row?.status]).toEqual([status, "UNKNOWN"]);
      expect([status, (await world.run({ args })).told]).toEqual([status, "REPLAYED"]);
      world.assertEffects(index + 1);
    }
  },
);

scenario(
  "any status without an effect is an unknown outcome that a later call gets over",
  { contract: { classify: careful } },
  async (world) => {
    for (const [index, status] of statuses.entries()) {
      const args = { ...refundArgs, ticketId: `t-${status}` };
      world.provider.fault({ status, effect: false, saved: false });
      const first = await world.run({ args });
      expect([status, first.told]).toEqual([status, "OUTCOME_UNKNOWN"]);
      expect([status, (await world.run({ args })).told]).toEqual([status, "EXECUTED"]);
      expect([status, (await world.run({ args })).told]).toEqual([status, "REPLAYED"]);
      world.assertEffects(index + 1);
    }
  },
);

/** A decline is kept under the key; anything else that refuses a request leaves no trace there. */
function keptOnlyDeclines(error: unknown): ErrorClass {
  if (!(error instanceof ProviderError)) return "unknown";
  if (error.status === 402) return "definitive";
  return error.status === 400 ? "refused" : "unknown";
}

scenario(
  "a refusal of which the provider keeps nothing settles the only attempt, and no later one",
  { contract: { classify: keptOnlyDeclines } },
  async (world) => {
    const invalid = { status: 400, effect: false, saved: false } as const;
    world.provider.fault(invalid);
    expect((await world.run()).told).toBe("OPERATION_FAILED");

    const args = { ...refundArgs, ticketId: "late" };
    world.provider.fault({ gate: "late", before: "key", thenReply: false }, invalid);
    expect((await world.run({ args })).told).toBe("OUTCOME_UNKNOWN");
    await world.provider.parked("late");
    expect((await world.run({ args })).told).toBe("OUTCOME_UNKNOWN");
    world.provider.release("late");
    expect((await world.run({ args })).told).toBe("REPLAYED");
    world.assertEffects(1);
  },
);

scenario(
  "a request that a rate limiter turned away was not sent, and goes through later",
  { contract: { classify: careful } },
  async (world) => {
    world.provider.fault({ rateLimited: true }, { rateLimited: true });
    const told = [];
    for (let call = 1; call <= 4; call += 1) told.push((await world.run()).told);

    expect(told).toEqual(["NOT_SENT", "NOT_SENT", "EXECUTED", "REPLAYED"]);
    expect((await world.row()).attempts).toBe(1);
    world.assertEffects(1);
  },
);

scenario(
  "a resend that a rate limiter turned away leaves the first attempt as unknown as it was",
  {},
  async (world) => {
    world.provider.fault({ failBeforeCommit: true }, { rateLimited: true });
    const told = [];
    const attempts = [];
    for (let call = 1; call <= 3; call += 1) {
      told.push((await world.run()).told);
      attempts.push((await world.row()).attempts);
    }
    expect(told).toEqual(["OUTCOME_UNKNOWN", "OUTCOME_UNKNOWN", "EXECUTED"]);
    expect(attempts).toEqual([1, 1, 2]);
    world.assertEffects(1);
  },
);

scenario(
  "a card that is declined is a failure that stays, and a new intent may try again",
  {},
  async (world) => {
    world.provider.fault({ decline: true });
    const first = await world.run();
    const second = await world.run({ guard: await world.another() });
    const key = (first.error as { key: string }).key;
    const again = { supersedes: { key, reason: "the customer gave another card" } };
    const third = await world.run({ context: again });
    const old = await world.run();

    expect([first.told, second.told, third.told, old.told]).toEqual([
      "OPERATION_FAILED",
      "OPERATION_FAILED",
      "EXECUTED",
      "OPERATION_FAILED",
    ]);
    expect((first.error as Error).message).toContain("new intent");
    expect(world.provider.arrivals()).toHaveLength(2);
    world.assertEffects(1);
  },
);

scenario(
  "arguments that don't fit the schema leave no trace, and the right ones execute",
  {},
  async (world) => {
    const told = [];
    for (const amountMinor of ["480", 480.5, undefined, Number.NaN, 48_000n]) {
      told.push((await world.run({ args: { ...refundArgs, amountMinor } })).told);
    }
    expect(told).toEqual([
      "ARGUMENTS_INVALID",
      "ARGUMENTS_INVALID",
      "ARGUMENTS_INVALID",
      "UNSUPPORTED_ARGUMENT",
      "UNSUPPORTED_ARGUMENT",
    ]);
    expect(await world.rows()).toEqual([]);
    expect((await world.run()).told).toBe("EXECUTED");
    world.assertEffects(1);
  },
);

const forgetsDeclines: Partial<RefundContract> = {
  key: {
    shape: "uuid",
    retentionMs: 86_400_000,
    atomic: true,
    afterError: "replays",
    replaysDeclines: false,
  },
};

scenario(
  "a decline of a resend fails nothing where declines are not replayed, for the first may have landed",
  { contract: forgetsDeclines, lookUp: false },
  async (world) => {
    // The first request is still on its way when the second is declined.
    world.provider.fault({ gate: "first", before: "key" }, { decline: true });
    const first = world.run();
    await world.provider.parked("first");
    world.advance(60_000);
    world.provider.behave({ saves: "no-declines" });
    const second = await world.run({ guard: await world.another() });
    expect((await world.row()).status).toBe("UNKNOWN");
    world.provider.release("first");

    expect(second.told).toBe("OUTCOME_UNKNOWN");
    expect((await first).told).toBe("EXECUTED");
    expect((await world.run()).told).toBe("REPLAYED");
    world.assertEffects(1);
  },
);

scenario(
  "a decline of a resend is a failure where the provider replays declines of a key",
  { lookUp: false },
  async (world) => {
    world.provider.fault({ failBeforeCommit: true }, { decline: true });
    const told = [];
    for (let call = 1; call <= 3; call += 1) told.push((await world.run()).told);

    expect(told).toEqual(["OUTCOME_UNKNOWN", "OPERATION_FAILED", "OPERATION_FAILED"]);
    expect((await world.row()).status).toBe("FAILED");
    world.assertEffects(0);
  },
);

scenario(
  "a decline that comes back after another worker's success is answered with the success",
  { contract: forgetsDeclines },
  async (world) => {
    world.provider.fault({ gate: "slow", before: "key" });
    const tool = world.tool({ execute: declinedInTheEnd(world) });
    const first = world.run({ tool });
    await world.provider.parked("slow");
    world.advance(60_000);
    const second = await world.run({ guard: await world.another() });
    world.provider.release("slow");

    // FAILED is never told on zero updated rows (R16).
    expect(second.told).toBe("EXECUTED");
    expect((await first).told).toBe("REPLAYED");
    expect((await first).outcome?.value).toEqual(second.outcome?.value);
    expect((await world.row()).status).toBe("DONE");
    world.assertEffects(1);
  },
);

/** The provider's answer to the slow request is read as a decline. */
function declinedInTheEnd(world: World): Tool["execute"] {
  const send = executeRefund(world.client);
  return async (args, call) => {
    await send(args, call);
    throw new ProviderError("declined", { status: 402, code: "card_declined", wroteBytes: true });
  };
}

async function rowsOf(world: World, status: number): Promise<readonly OperationRecord[]> {
  const rows = await world.rows();
  return rows.filter((row) => row.intent.includes(`t-${status}"`));
}
