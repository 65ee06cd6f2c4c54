/**
 * The store contract without a runner: what its report says, and that a failure names everything.
 */
import { AssertionError } from "node:assert";
import { expect, it } from "vitest";
import { isNeverTwiceError } from "../../src/index.ts";
import {
  type StoreCase,
  type StoreKit,
  lateLooksContract,
  runStoreContract,
  storeContract,
} from "../../src/testing/index.ts";
import { MemoryStore, memoryKit } from "./memory-store.ts";
import { MemoryDatabase } from "./memory-table.ts";
import { wrongStores } from "./wrong-stores.ts";

function wrongKind(fault: string): typeof MemoryStore {
  const wrong = wrongStores.find((one) => one.fault === fault);
  if (wrong === undefined) throw new Error(`there is no such fault: ${fault}`);
  return wrong.Kind;
}

function caseWith(fault: string): StoreCase {
  const found = storeContract.find((storeCase) => storeCase.fault === fault);
  if (found === undefined) throw new Error(`there is no such case: ${fault}`);
  return found;
}

function withoutClock(): StoreKit {
  const kit = memoryKit();
  return { open: () => kit.open() };
}

const isRequired = ({ needsLateLooks }: StoreCase): boolean => !needsLateLooks;

it("skips the cases of late looks where the store has none, and says so", async () => {
  const only = ({ needsLateLooks }: StoreCase): boolean => needsLateLooks;
  const report = await runStoreContract(() => memoryKit(), { only });
  expect(report).toMatchObject({ passed: 0, failed: 0, skipped: lateLooksContract.length });
  const reason = "it is about late looks, and the store has no `lateLooks`";
  for (const result of report.results) expect(result).toMatchObject({ outcome: "skipped", reason });
  await expect(lateLooksContract[0]?.run(memoryKit())).rejects.toMatchObject({
    code: "CONFIGURATION_INVALID",
  });
});

it("reports every case, in order, as passed for a store that keeps the contract", async () => {
  const report = await runStoreContract(() => memoryKit(), { only: isRequired });
  expect(report).toMatchObject({ passed: storeContract.length, failed: 0, skipped: 0 });
  expect(report.results).toEqual(
    storeContract.map(({ name, rule, fault }) => ({ name, rule, fault, outcome: "passed" })),
  );
});

it("skips what needs a clock where there is none, and says so; the rest has to pass", async () => {
  const report = await runStoreContract(withoutClock, { only: isRequired });
  const timed = storeContract.filter((storeCase) => storeCase.needsClock).length;
  expect(report).toMatchObject({
    passed: storeContract.length - timed,
    failed: 0,
    skipped: timed,
  });
  expect(timed).toBeGreaterThan(10);
  // Whatever a store gets wrong about tokens, races and outcomes shows without a clock too.
  expect(timed).toBeLessThan(storeContract.length / 2);
  for (const result of report.results) {
    if (result.outcome === "skipped") expect(result.reason).toContain("the kit has no `clock`");
  }
});

it("holds for a store on the real time, which goes on between two lines", async () => {
  let passedMs = 0;
  class OnRealTime extends MemoryStore {
    protected override now(): number {
      passedMs += 1;
      return Date.now() + passedMs;
    }
  }
  const report = await runStoreContract(() => {
    const database = new MemoryDatabase();
    return { open: async () => new OnRealTime(database) };
  });
  expect(report.results.filter((result) => result.outcome === "failed")).toEqual([]);
});

it("a case that needs a clock never passes silently without one", async () => {
  const timed = caseWith("window not checked");
  const failure = await timed.run(withoutClock()).catch((error: unknown) => error);
  expect(isNeverTwiceError(failure, "CONFIGURATION_INVALID")).toBe(true);
  expect(String(failure)).toContain(timed.name);
});

it("a failure names the case, the rule, what was expected and what was seen", async () => {
  const storeCase = caseWith("claim race");
  const kit = memoryKit(wrongKind("claim looks and writes in two statements"));
  const error = await storeCase.run(kit).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(AssertionError);
  expect(error).toMatchObject({ expected: 1, actual: 24 });
  expect((error as Error).message).toBe(
    `"${storeCase.name}" (R8): how many claims created the operation.\n  expected: 1\n  seen: 24`,
  );
});

it("runs the cases that are picked, and refuses to prove nothing", async () => {
  const report = await runStoreContract(() => memoryKit(), { only: ({ rule }) => rule === "R25" });
  expect(report.results.map(({ rule }) => rule)).toEqual(["R25", "R25", "R25", "R25"]);
  const none = runStoreContract(() => memoryKit(), { only: () => false });
  await expect(none).rejects.toMatchObject({ code: "CONFIGURATION_INVALID" });
});

it("gives each case a kit of its own and closes it once, also after a failure", async () => {
  let [opened, closed] = [0, 0];
  const createKit = (): StoreKit => {
    opened += 1;
    return {
      ...memoryKit(wrongKind("there is no journal")),
      close: async () => void (closed += 1),
    };
  };
  const report = await runStoreContract(createKit);
  expect(report.failed).toBeGreaterThan(0);
  const kits = storeContract.length + lateLooksContract.length;
  expect([opened, closed]).toEqual([kits, kits]);
});

it("reports as failed what can't be opened, can't be closed or isn't fresh", async () => {
  const only = ({ fault }: StoreCase): boolean => fault === "claim race";
  const failing = async (): Promise<never> => {
    throw new Error("out of reach");
  };
  const shared = memoryKit();
  await caseWith("claim race").run(shared);
  for (const [kit, message] of [
    [{ open: failing }, "out of reach"],
    [{ ...memoryKit(), close: failing }, "out of reach"],
    [shared, "which must be fresh"],
  ] as const) {
    const { results } = await runStoreContract(() => kit, { only });
    expect(results).toEqual([
      expect.objectContaining({
        outcome: "failed",
        error: expect.objectContaining({ message: expect.stringContaining(message) }),
      }),
    ]);
  }
});

it("reports as failed what doesn't end", async () => {
  class Hanging extends MemoryStore {
    override claim(): Promise<never> {
      return new Promise(() => {});
    }
  }
  const only = ({ fault }: StoreCase): boolean => fault === "claim race";
  const { results } = await runStoreContract(() => memoryKit(Hanging), { only, timeoutMs: 20 });
  expect(results[0]).toMatchObject({
    outcome: "failed",
    error: { message: expect.stringContaining("did not end within 20 ms") },
  });
});
