/**
 * `compensate`: an effect is undone once, however often and by however many it is asked for, and only
 * when it is proved. Judged by the provider's ledger.
 */
import { expect, it } from "vitest";
import { z } from "zod";
import { findActEffect } from "../../src/effects/compensate.ts";
import { compensate, days, defineTool } from "../../src/index.ts";
import { recordWith } from "../ledger/records.ts";
import { codeOf } from "../support/flow-world.ts";
import { type World, keyedContract, refundLookUp, scenario } from "../support/world.ts";

function undoable(world: World) {
  const undo = defineTool({
    name: "take_refund_back",
    kind: "non-idempotent",
    arguments: z.object({ refundId: z.string() }),
    intent: ({ args }) => `take-back:${args.refundId}`,
    businessArguments: ["refundId"],
    contract: { ...keyedContract, lookUp: refundLookUp(world.client) } as never,
    execute: (args, { key, wireKey, signal, beforeWrite }) =>
      world.client.createEffect({
        operation: "take-back",
        body: { ...args },
        key: wireKey,
        tag: key,
        signal,
        beforeWrite,
      }),
  });
  const refund = world.tool({
    compensation: {
      tool: undo,
      arguments: ({ providerId }: { providerId: string | null }) => ({ refundId: providerId }),
    },
    contract: { providerId: (result: unknown) => (result as { id: string }).id },
  });
  const ask = (key: string, guard = world.guard, effect?: string) =>
    compensate(guard, world.opened.store, [refund], {
      tenant: "acme",
      key,
      ...(effect === undefined ? {} : { effect }),
    });
  const operations = () => world.provider.ledger().map(({ operation }) => operation);
  return { refund, ask, operations };
}

scenario("an effect is undone once, also by two at once and asked again", {}, async (world) => {
  const { refund, ask, operations } = undoable(world);
  await world.run({ tool: refund });
  const { key } = await world.row();
  const other = await world.another();
  await Promise.allSettled([ask(key), ask(key, other), ask(key), ask(key, other)]);
  expect(await ask(key)).toMatchObject({ replayed: true });
  expect(operations()).toEqual(["refund", "take-back"]);
});

scenario("an undo of unknown outcome is reconciled by the same call", {}, async (world) => {
  const { refund, ask, operations } = undoable(world);
  await world.run({ tool: refund });
  const { key } = await world.row();
  world.provider.fault({ dropReplyAfterCommit: true });
  expect(await codeOf(ask(key))).toBe("OUTCOME_UNKNOWN");
  expect(await ask(key)).toMatchObject({ replayed: true });
  expect(operations()).toEqual(["refund", "take-back"]);
});

scenario("what is not proved is not undone", {}, async (world) => {
  const { refund, ask, operations } = undoable(world);
  world.provider.fault({ dropReplyAfterCommit: true });
  await world.run({ tool: refund });
  const { key } = await world.row();
  expect(await codeOf(ask(key))).toBe("INTENT_UNSETTLED");
  expect(await codeOf(ask("0".repeat(64)))).toBe("OPERATION_NOT_FOUND");
  const { opened, guard } = world;
  const of = { tenant: "acme", key };
  await world.run({ tool: refund });
  expect(await codeOf(compensate(guard, opened.store, [world.refund], of))).toBe("TOOL_INVALID");
  expect(await codeOf(compensate(guard, opened.store, [], of))).toBe("TOOL_INVALID");
  expect(operations()).toEqual(["refund"]);
});

scenario("a second effect that a person found is undone by its id, once", {}, async (world) => {
  const { refund, ask, operations } = undoable(world);
  await world.run({ tool: refund });
  const { key } = await world.row();
  const incident = "a second refund, re_2";
  await world.opened.store.recordIncident({ tenant: "acme", key, incident, detail: "{}" });
  const undone = await ask(key, world.guard, "re_2");
  const again = await ask(key, world.guard, "re_2");
  expect([undone.replayed, again.replayed]).toEqual([false, true]);
  expect(operations()).toEqual(["refund", "take-back"]);
});

scenario("the effect of the row is undone once, named by its id or not", {}, async (world) => {
  const { refund, ask, operations } = undoable(world);
  await world.run({ tool: refund });
  const { key, providerId } = await world.row();
  const own = String(providerId);
  const undone = [await ask(key), await ask(key, world.guard, own), await ask(key)];
  expect(undone.map(({ replayed }) => replayed)).toEqual([false, true, true]);
  expect(operations()).toEqual(["refund", "take-back"]);
});

scenario("an effect undone by its id is not undone again as the row's own", {}, async (world) => {
  const { refund, ask, operations } = undoable(world);
  world.provider.fault({ decline: true });
  const { opened, guard } = world;
  await world.run({ tool: refund });
  const { key } = await world.row();
  const incident = "a refund after all, re_2";
  await opened.store.recordIncident({ tenant: "acme", key, incident, detail: "{}" });
  await ask(key, guard, "re_2");
  const { version } = await world.row(key);
  const decision = { decision: "happened", providerId: "re_2", result: { id: "re_2" } } as const;
  await guard.resolve({ tenant: "acme", key, version, by: "ann", why: "seen", ...decision });
  expect(await ask(key)).toMatchObject({ replayed: true });
  expect(operations()).toEqual(["take-back"]);
});

scenario("a named effect beside one without an id is not undone", {}, async (world) => {
  const { refund, operations } = undoable(world);
  const contract = { ...refund.guarded?.contract, providerId: () => null };
  const nameless = {
    ...refund,
    guarded: { ...refund.guarded, contract },
  } as never as typeof refund;
  await world.run({ tool: nameless });
  const { key } = await world.row();
  const { opened, guard } = world;
  const named = { tenant: "acme", key, effect: "re_2" };
  expect(await codeOf(compensate(guard, opened.store, [nameless], named))).toBe("INTENT_INVALID");
  expect(operations()).toEqual(["refund"]);
});

scenario("what is purged is not undone, and is told so for good", {}, async (world) => {
  const { refund, ask, operations } = undoable(world);
  await world.run({ tool: refund });
  const { key } = await world.row();
  world.advance(days(46));
  expect(await world.guard.purge()).toBe(1);
  expect(await codeOf(ask(key))).toBe("KEY_EXPIRED");
  expect(await codeOf(ask(key))).toBe("KEY_EXPIRED");
  expect(operations()).toEqual(["refund"]);
});

it.each([
  ["proved", recordWith({ status: "DONE", resultKind: "undefined" })],
  ["none", recordWith({ status: "FAILED", error: "{}" })],
  ["unsettled", recordWith({ status: "DONE", resultKind: "json", result: "{" })],
  ["none", recordWith({ status: "DONE", fingerprint: "another call's" })],
  ["none", undefined],
  ["unsettled", recordWith({ status: "IN_PROGRESS" })],
  ["unsettled", recordWith({ status: "UNKNOWN" })],
  ["unsettled", recordWith({ status: "NEEDS_REVIEW" })],
  ["unsettled", recordWith({ status: "FAILED", incident: "a refund after all, re_2" })],
] as const)("an act without an answer had the effect: %s", async (answer, record) => {
  const store = { read: async () => record };
  const { tenant, key, fingerprint } = recordWith();
  expect(await findActEffect(store, { tenant, key, fingerprint })).toBe(answer);
});
