/**
 * The store contract catches what it says it catches: every wrong store fails some case, every case
 * fails some wrong store, and the golden file says exactly which. `vitest -u` writes it anew.
 */
import { expect, it } from "vitest";
import type { OperationRecord } from "../../src/ledger/record.ts";
import { runStoreContract, storeContract } from "../../src/testing/index.ts";
import { MemoryStore, memoryKit } from "./memory-store.ts";
import type { Conditions, QueryName, Row, Write, WriteName } from "./memory-table.ts";
import { conditionNames, fieldNames } from "./wrong-parts.ts";
import { wrongStores } from "./wrong-stores.ts";

const caught = new Map<string, readonly string[]>();

it.each(wrongStores.map((wrong) => [wrong.fault, wrong] as const))("%s", async (fault, wrong) => {
  const report = await runStoreContract(() => memoryKit(wrong.Kind));
  const failed = report.results.filter((result) => result.outcome === "failed");
  caught.set(
    fault,
    failed.map(({ name }) => name),
  );
  expect(failed.length, "how many cases catch it").toBeGreaterThan(0);
});

it("each fault is caught by just the cases of the golden file", async () => {
  expect(caught.size).toBe(wrongStores.length);
  const text = `${JSON.stringify(Object.fromEntries(caught), null, 2)}\n`;
  await expect(text).toMatchFileSnapshot("../golden/store-contract-faults.json");
});

it("each case catches a fault", () => {
  const useful = new Set([...caught.values()].flat());
  const useless = storeContract.filter((storeCase) => !useful.has(storeCase.name));
  expect(useless.map(({ name }) => name)).toEqual([]);
});

it("no condition and no value of the right store is left out of the wrong ones", async () => {
  const conditions = new Map<string, Set<string>>();
  const fields = new Map<string, Set<string>>();
  const note = (seen: Map<string, Set<string>>, name: string, parts: object): void => {
    seen.set(name, new Set([...(seen.get(name) ?? []), ...Object.keys(parts)]));
  };
  class Watched extends MemoryStore {
    protected override holds(name: WriteName | QueryName, asked: Conditions): boolean {
      note(conditions, name, asked);
      return super.holds(name, asked);
    }
    protected override apply(name: WriteName, row: Row, write: Write): OperationRecord {
      note(fields, name, write.set(row, 0));
      return super.apply(name, row, write);
    }
  }
  await runStoreContract(() => memoryKit(Watched));
  const shown = (seen: Map<string, Set<string>>): Record<string, readonly string[]> =>
    Object.fromEntries([...seen].map(([name, parts]) => [name, [...parts].toSorted()]));
  const named = (parts: Record<string, readonly string[]>): Record<string, readonly string[]> =>
    Object.fromEntries(Object.entries(parts).map(([name, all]) => [name, all.toSorted()]));
  // Two can't be told apart from the right store; wrong-parts.ts says why.
  const renew = [...conditionNames.renew, "inProgress"];
  const resolve = [...fieldNames.resolve, "wireKey"];
  expect(shown(conditions)).toEqual({ ...named({ ...conditionNames, renew }), recordIncident: [] });
  expect(shown(fields)).toEqual(named({ ...fieldNames, resolve }));
});
