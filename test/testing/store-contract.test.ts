/**
 * The store contract on SQLite, on PostgreSQL and on the store in memory.
 */
import { AssertionError } from "node:assert";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import type { LateLooks, Store } from "../../src/index.ts";
import {
  type StoreCase,
  type StoreKit,
  lateLooksContract,
  storeContract,
} from "../../src/testing/index.ts";
import { type PostgresDatabase, createDatabase } from "../support/postgres-database.ts";
import { type OpenStore, TestClock, openPostgres, openSqlite } from "../support/stores.ts";
import { memoryKit } from "./memory-store.ts";

/** A kit on a store of the test support; each `open` is another connection. */
async function kitOf(open: (clock: TestClock) => Promise<OpenStore>): Promise<StoreKit> {
  const clock = new TestClock();
  const opened = await open(clock);
  return { clock, open: () => opened.again({ clock, poolSize: 2 }), close: () => opened.close() };
}

function testContract(
  createKit: () => Promise<StoreKit>,
  cases: readonly StoreCase[] = [...storeContract, ...lateLooksContract],
): void {
  it.each(cases.map((storeCase) => [storeCase.rule, storeCase.name, storeCase] as const))(
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
  testContract(async () => memoryKit(), storeContract);
});

/** What a store may get wrong of late looks, each caught by the case beside it. */
const wrongLooks: readonly [string, string, (looks: LateLooks) => Partial<LateLooks>][] = [
  [
    "knows no lease",
    "two at one stage",
    (looks) => ({ claim: (params) => looks.claim({ ...params, leaseMs: 0 }) }),
  ],
  [
    "keeps no position",
    "a position that goes back",
    (looks) => ({ pass: (params) => looks.pass({ ...params, key: "" }) }),
  ],
  [
    "begins each page anew",
    "closed operations missed",
    (looks) => ({
      find: (params) => looks.find({ ...params, settledAtMs: 0, tenant: "", key: "" }),
    }),
  ],
];

it.each(wrongLooks)("a store whose late looks: %s, fails in: %s", async (_fault, caught, wrong) => {
  const found = lateLooksContract.find(({ fault }) => fault === caught);
  const kit = await kitOf((clock) => openSqlite({ clock }));
  onTestFinished(async () => kit.close?.());
  const open = async (): Promise<Store> => {
    const store = await kit.open();
    const looks = store.lateLooks as LateLooks;
    const lateLooks = { ...looks, ...wrong(looks) };
    return new Proxy(store, {
      get: (target, name) => {
        if (name === "lateLooks") return lateLooks;
        const part: unknown = Reflect.get(target, name, target);
        return typeof part === "function" ? (part.bind(target) as unknown) : part;
      },
    });
  };
  await expect(found?.run({ ...kit, open })).rejects.toThrow(AssertionError);
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
