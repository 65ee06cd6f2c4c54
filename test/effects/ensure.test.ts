/**
 * `ensure` observes before and after it changes anything: one change per drift, whoever asks and
 * whatever answer is lost, and an older desired version never overwrites a newer one.
 */
import { expect, it } from "vitest";
import { z } from "zod";
import {
  type EnsureContext,
  createEnsure,
  createGuard,
  defineEnsureTool,
} from "../../src/index.ts";
import { ProviderError } from "../../src/testing/fake-provider/index.ts";
import { codeOf } from "../support/flow-world.ts";
import { hurriedRuntime } from "../support/store-faults.ts";
import { describeStores } from "../support/stores.ts";
import { type World, scenario } from "../support/world.ts";

interface Release extends Record<string, unknown> {
  environment: string;
  commit: string;
  version: number;
}

const first: Release = { environment: "prod", commit: "c1", version: 1 };
const second: Release = { environment: "prod", commit: "c2", version: 2 };
const acme = { tenant: "acme" };

/** A platform on which the last release is what runs; `drift` is what somebody did by hand. */
function platformOf(world: World) {
  const state = { drift: undefined as string | undefined, pending: false, doubts: 0, looks: 0 };
  const tool = defineEnsureTool({
    name: "ensure_release",
    arguments: z.object({ environment: z.string(), commit: z.string(), version: z.int() }),
    target: ({ args }) => args.environment,
    version: ({ args }) => args.version,
    businessArguments: ["environment", "commit"],
    observe: async ({ environment }, { signal }) => {
      state.looks += 1;
      if (state.doubts > 0) {
        state.doubts -= 1;
        throw new Error("the platform does not answer");
      }
      const releases = await world.client.findEffects({ tag: environment, signal });
      return state.drift ?? releases.at(-1)?.["commit"];
    },
    isConverged: (commit, desired) => (state.pending ? "pending" : commit === desired.commit),
    apply: async ({ environment, commit }, call) => {
      state.drift = undefined;
      const { wireKey: key, signal, beforeWrite } = call;
      const request = { operation: "release", body: { commit }, tag: environment, key };
      await world.client.createEffect({ ...request, signal, beforeWrite });
    },
    contract: {
      // Of real time there is plenty; the rests between two looks are hurried over.
      timeoutMs: 20_000,
      sendWithinMs: 10_000,
      flightMs: 5000,
      convergeWithinMs: 10_000,
      observeEveryMs: 100,
      marginMs: 1000,
      classify: (error) =>
        error instanceof ProviderError && error.status === 402 ? "definitive" : "unknown",
    },
  });
  const run = (args: Release, context: Partial<EnsureContext> = {}, guard = world.guard) => {
    const { store } = world.opened;
    return createEnsure({ store, guard, runtime: hurriedRuntime() })(tool, args, {
      ...acme,
      ...context,
    });
  };
  const statuses = async () => (await world.rows()).map(({ status }) => status).toSorted();
  return { state, tool, run, statuses };
}

scenario(
  "a state that is there is left alone, and one that isn't is changed once",
  {},
  async (world) => {
    const { run, statuses, state } = platformOf(world);
    const made = await run(first);
    expect(made).toMatchObject({ changed: true, state: "c1", round: 1, target: "prod" });
    expect(await run(first)).toMatchObject({ changed: false, key: null });
    state.drift = "c0";
    expect(await run(first)).toMatchObject({ changed: true, round: 2 });
    world.assertEffects(2);
    expect(await statuses()).toEqual(["DONE", "DONE"]);
  },
);

scenario("twenty triggers at once make one change", {}, async (world) => {
  const { run, statuses } = platformOf(world);
  const guards = [world.guard, await world.another()];
  const onInProgress = { waitMs: 60_000 };
  const told = await Promise.all(
    Array.from({ length: 20 }, (_, index) => run(first, { onInProgress }, guards[index % 2])),
  );
  expect(told.filter(({ changed }) => changed)).toHaveLength(1);
  world.assertEffects(1);
  expect(await statuses()).toEqual(["DONE"]);
});

scenario("an older version after a newer one is refused", {}, async (world) => {
  const { run, statuses } = platformOf(world);
  await run(second);
  expect(await codeOf(run(first))).toBe("STALE_VERSION");
  expect(await codeOf(run({ ...second, commit: "c3" }))).toBe("PAYLOAD_MISMATCH");
  expect(await codeOf(run({ ...second, version: 1.5 }))).toBe("ARGUMENTS_INVALID");
  expect(await codeOf(run({ ...second, version: -1 }))).toBe("INTENT_INVALID");
  world.assertEffects(1);
  expect(await statuses()).toEqual(["DONE"]);
});

scenario("a lost answer is settled by looking, in the same call", {}, async (world) => {
  const { run } = platformOf(world);
  world.provider.fault({ dropReplyAfterCommit: true });
  expect(await run(first)).toMatchObject({ changed: true, state: "c1" });
  expect(await run(first)).toMatchObject({ changed: false });
  world.assertEffects(1);
  world.advance(60_000);
  await world.guard.sweep();
  expect((await world.row()).status).toBe("DONE");
});

scenario("a lost request is made again once it can't land any more", {}, async (world) => {
  const { run, statuses } = platformOf(world);
  world.provider.fault({ failBeforeCommit: true });
  expect(await codeOf(run(first))).toBe("OUTCOME_UNKNOWN");
  expect(await codeOf(run(first))).toBe("OUTCOME_UNKNOWN");
  world.assertEffects(0);
  world.advance(60_000);
  expect(await run(first)).toMatchObject({ changed: true, round: 2 });
  world.assertEffects(1);
  expect(await statuses()).toEqual(["DONE", "FAILED"]);
});

scenario("a newer version waits for an older change that may still land", {}, async (world) => {
  const { run, statuses } = platformOf(world);
  world.provider.fault({ gate: "late", before: "effect" });
  const stop = new AbortController();
  const withdrawn = codeOf(run(first, { signal: stop.signal }));
  await world.provider.parked("late");
  stop.abort();
  expect(await withdrawn).toBe("OUTCOME_UNKNOWN");
  expect(await codeOf(run(second))).toBe("OUTCOME_UNKNOWN");
  world.assertEffects(0);
  world.provider.release("late");
  await expect.poll(() => world.provider.ledger().length).toBe(1);
  world.advance(60_000);
  expect(await run(second)).toMatchObject({ changed: true, state: "c2" });
  expect(await codeOf(run(first))).toBe("STALE_VERSION");
  world.assertEffects(2);
  // What is known of the older change is settled without a person, and sends nothing.
  await world.guard.sweep();
  expect(await statuses()).not.toContain("NEEDS_REVIEW");
  world.assertEffects(2);
});

scenario("a state that flaps to pending makes no further change", {}, async (world) => {
  const { run, state, statuses } = platformOf(world);
  await run(first);
  state.pending = true;
  expect(await codeOf(run(first))).toBe("NOT_SENT");
  state.pending = false;
  expect(await run(first)).toMatchObject({ changed: false });
  world.assertEffects(1);
  expect(await statuses()).toEqual(["DONE"]);
});

scenario("an observation that fails is asked again, and proves nothing", {}, async (world) => {
  const { run, state, statuses } = platformOf(world);
  state.doubts = 3;
  expect(await run(first)).toMatchObject({ changed: true });
  state.doubts = 1000;
  expect(await codeOf(run(first))).toBe("NOT_SENT");
  world.assertEffects(1);
  expect(await statuses()).toEqual(["DONE"]);
});

scenario("a refused change is refused again, until a newer version comes", {}, async (world) => {
  const { run, statuses } = platformOf(world);
  world.provider.fault({ decline: true });
  expect(await codeOf(run(first))).toBe("OPERATION_FAILED");
  expect(await codeOf(run(first))).toBe("OPERATION_FAILED");
  expect(world.provider.arrivals()).toHaveLength(1);
  expect(await run(second)).toMatchObject({ changed: true });
  world.assertEffects(1);
  expect(await statuses()).toEqual(["DONE", "FAILED"]);
});

describeStores("a change of an ensure tool", (suite) => {
  it("is not sent past the target, and a lease that ran out hands the target on", async () => {
    const opened = await suite.open();
    const guard = await createGuard({ store: opened.store });
    let applied = 0;
    const tool = defineEnsureTool({
      name: "ensure_flag",
      arguments: z.object({ on: z.boolean() }),
      target: () => "flag",
      version: () => 1,
      businessArguments: ["on"],
      observe: () => applied,
      isConverged: (count) => count > 0,
      apply: () => {
        applied += 1;
      },
      contract: { timeoutMs: 100, flightMs: 100 },
    });
    const change = { target: "flag", version: 1, round: 1, desired: { on: true } };
    expect(await codeOf(guard.run(tool.change, change, acme))).toBe("OPERATION_FAILED");
    expect(applied).toBe(0);
    const id = { ...acme, operation: "ensure_flag", target: "flag" };
    const row = { ...id, version: 1, fingerprint: "f", leaseMs: 10_000 };
    const held = await opened.store.targets.claim({ ...row, acquisitionId: "a" });
    const lost = await opened.store.targets.claim({ ...row, acquisitionId: "b" });
    expect([held.acquisitionId, lost.acquisitionId]).toEqual(["a", "a"]);
    const arm = { ...id, version: 1, round: 1, quietMs: 1000, leaseMs: 10_000 };
    expect(await opened.store.targets.arm({ ...arm, token: held.token + 1 })).toBeUndefined();
    const newer = await opened.store.targets.claim({
      ...row,
      version: 2,
      fingerprint: "g",
      acquisitionId: "b",
    });
    expect(newer).toMatchObject({ version: 2, acquisitionId: "a", status: "OPEN" });
    expect(await opened.store.targets.arm({ ...arm, token: held.token })).toBeUndefined();
  });

  it("names the part that a declaration lacks", () => {
    const parts = { name: "broken", target: () => "t", version: () => 1, observe: () => 1 };
    expect(() => defineEnsureTool(parts as never)).toThrow(/`isConverged` is missing/);
    const more = { ...parts, isConverged: () => true, apply: () => 1 };
    expect(() => defineEnsureTool(more as never)).toThrow(/`contract` is missing/);
    const contract = { timeoutMs: 0, flightMs: 1 };
    expect(() => defineEnsureTool({ ...more, contract } as never)).toThrow(/contract.timeoutMs/);
  });
});
