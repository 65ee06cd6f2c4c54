/**
 * Claims and completions that arrive together go out together, and each is answered as if it had
 * gone alone.
 */
import { expect, it, onTestFinished } from "vitest";
import type { OperationRecord, Store } from "../../src/index.ts";
import { type OpenStore, describeStores } from "../support/stores.ts";
import { linesOf } from "../support/worker-operations.ts";
import { claimParams, completeParams, wholeList } from "../support/worker-params.ts";
import { ownStore } from "../support/worker-wrappers.ts";

const keys = Array.from({ length: 200 }, (_, index) => `key-${index}`);

/** A store that counts the statements which change something. */
function counted(opened: OpenStore): { store: Store; statements: () => number } {
  let count = 0;
  const own = ownStore(opened, {
    watch: (sql) => void (count += Number(/\b(insert into|update)\b/.test(sql))),
  });
  onTestFinished(() => own.close());
  return { store: own.store, statements: () => count };
}

describeStores("what arrives together", (suite) => {
  it("goes out in a few statements, and each claim gets its own row", async () => {
    const { store, statements } = counted(await suite.open());
    const claims = keys.map((key) => claimParams(key, { wireKey: `wire of ${key}` }));
    const records = await Promise.all(claims.map((claim) => store.claim(claim)));
    expect(
      records.map(({ key, acquisitionId, wireKey }) => ({ key, acquisitionId, wireKey })),
    ).toEqual(claims.map(({ key, acquisitionId, wireKey }) => ({ key, acquisitionId, wireKey })));
    expect(statements()).toBeLessThanOrEqual(2);

    const completions = keys.map((key) => completeParams(key, { result: `"result of ${key}"` }));
    const done = await Promise.all(completions.map((completion) => store.complete(completion)));
    expect(done.map((record) => [record?.key, record?.status, record?.result])).toEqual(
      keys.map((key) => [key, "DONE", `"result of ${key}"`]),
    );
    expect(statements()).toBeLessThanOrEqual(4);
  });

  it("goes out in bounded statements when it is a great deal", async () => {
    const { store, statements } = counted(await suite.open());
    const many = Array.from({ length: 1000 }, (_, index) => `key-${index}`);
    const records = await Promise.all(many.map((key) => store.claim(claimParams(key))));
    expect(records.map((record) => record.key)).toEqual(many);
    expect(statements()).toBeGreaterThanOrEqual(4);
    expect(statements()).toBeLessThanOrEqual(5);
  });

  it("waits for nothing when it is alone", async () => {
    const { store, statements } = counted(await suite.open());
    for (const key of keys.slice(0, 5)) await store.claim(claimParams(key));
    expect(statements()).toBe(5);
  });

  it("gives a key that is there several times one owner, and all the others its row", async () => {
    const { store } = counted(await suite.open());
    const claims = keys.slice(0, 20).flatMap((key) => [1, 2, 3].map(() => claimParams(key)));
    const records = await Promise.all(claims.map((claim) => store.claim(claim)));
    const owned = records.filter(
      (record, index) => record.acquisitionId === claims[index]?.acquisitionId,
    );
    expect(owned.map((record) => record.key)).toEqual(keys.slice(0, 20));
    expect(records.map((record) => record.key)).toEqual(claims.map((claim) => claim.key));
    const lines = await linesOf(store, "key-7");
    expect(lines.map((line) => line.event)).toEqual([
      "operation.claimed",
      "operation.armed",
      "operation.repeated",
      "operation.repeated",
    ]);
  });

  it.each<[string, Parameters<typeof claimParams>[1]]>([
    ["breaks a rule of the table", { tenant: "" }],
    ["lacks what the table needs", { detail: null as unknown as string }],
    ["holds what is no number", { retentionMs: "for ever" as unknown as number }],
  ])("isn't spoilt by one claim that %s", async (_, poison) => {
    const { store } = counted(await suite.open());
    const claims = [...keys.slice(0, 9).map((key) => claimParams(key)), claimParams("bad", poison)];
    const [good, bad] = divide(await Promise.allSettled(claims.map((claim) => store.claim(claim))));
    expect(good.map((record) => record?.key)).toEqual(keys.slice(0, 9));
    expect(bad).toEqual([
      expect.objectContaining({
        code: "STORE_UNAVAILABLE",
        details: { trouble: "rejected" },
      }),
    ]);
    expect(await store.list(wholeList)).toHaveLength(9);
  });

  it("isn't spoilt by one completion that the database refuses", async () => {
    const { store } = counted(await suite.open());
    await Promise.all(keys.slice(0, 10).map((key) => store.claim(claimParams(key))));
    const completions = keys
      .slice(0, 10)
      .map((key, index) =>
        completeParams(key, index === 4 ? { resultKind: "of no kind" as "json" } : {}),
      );
    const settled = await Promise.allSettled(completions.map((one) => store.complete(one)));
    const [good, bad] = divide(settled);
    expect(good.map((record) => record?.status)).toEqual(keys.slice(0, 9).map(() => "DONE"));
    expect(bad).toHaveLength(1);
    expect(await store.read({ tenant: "acme", key: "key-4" })).toMatchObject({
      status: "IN_PROGRESS",
    });
  });

  it("is refused as a whole, once, when the database is not there at all", async () => {
    const opened = await suite.open();
    let isAway = false;
    let statements = 0;
    const away = ownStore(opened, {
      watch: () => {
        if (!isAway) return;
        statements += 1;
        throw Object.assign(new Error("away"), { code: "SQLITE_IOERR" });
      },
    });
    onTestFinished(() => away.close());
    isAway = true;
    const claims = keys.slice(0, 50).map((key) => away.store.claim(claimParams(key)));
    const [good, bad] = divide(await Promise.allSettled(claims));
    expect(good).toEqual([]);
    expect(new Set(bad.map((error) => (error as { code?: unknown }).code))).toEqual(
      new Set(["STORE_UNAVAILABLE"]),
    );
    expect(statements).toBeLessThanOrEqual(2);
    expect(await opened.store.list(wholeList)).toEqual([]);
  });
});

function divide(
  settled: readonly PromiseSettledResult<OperationRecord | undefined>[],
): [(OperationRecord | undefined)[], unknown[]] {
  const good = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const bad = settled.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
  return [good, bad];
}
