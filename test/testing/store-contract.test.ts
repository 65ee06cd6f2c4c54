/**
 * The store contract on SQLite, on PostgreSQL and on the store in memory.
 */
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { type StoreKit, storeContract } from "../../src/testing/index.ts";
import { type PostgresDatabase, createDatabase } from "../support/postgres-database.ts";
import { type OpenStore, TestClock, openPostgres, openSqlite } from "../support/stores.ts";
import { memoryKit } from "./memory-store.ts";

/** A kit on a store of the test support; each `open` is another connection. */
async function kitOf(open: (clock: TestClock) => Promise<OpenStore>): Promise<StoreKit> {
  const clock = new TestClock();
  const opened = await open(clock);
  return { clock, open: () => opened.again({ clock, poolSize: 2 }), close: () => opened.close() };
}

function testContract(createKit: () => Promise<StoreKit>): void {
  it.each(storeContract.map((storeCase) => [storeCase.rule, storeCase.name, storeCase] as const))(
    "%s: %s",
    async (_rule, _name, storeCase) => {
      const kit = await createKit();
      try {
        await storeCase.run(kit);
      } finally {
        await kit.close?.();
      }
    },
  );
}

describe("the store contract (sqlite)", () => {
  testContract(() => kitOf((clock) => openSqlite({ clock })));
});

describe.skipIf(inject("postgresUrl") === null)("the store contract (postgres)", () => {
  let database: PostgresDatabase | undefined;
  beforeAll(async () => {
    database = await createDatabase(inject("postgresUrl") ?? "");
  });
  afterAll(() => database?.drop());
  testContract(() => kitOf((clock) => openPostgres(database?.url ?? "", { clock, poolSize: 2 })));
});

describe("the store contract (in memory)", () => {
  testContract(async () => memoryKit());
});

describe("the cases", () => {
  it("have names of their own, a rule and a fault", () => {
    const names = storeContract.map((storeCase) => storeCase.name);
    expect(new Set(names).size).toBe(names.length);
    const faults = storeContract.map((storeCase) => storeCase.fault);
    expect(new Set(faults).size).toBe(faults.length);
    for (const { rule } of storeContract) expect(rule).toMatch(/^R([1-9]|[12]\d|30)$/);
  });
});
