/**
 * How far the late looks have come, as the stores keep it (R22).
 */
import { expect, it } from "vitest";
import { days, hours, minutes } from "../../src/index.ts";
import type { LateLooks } from "../../src/index.ts";
import { type OpenStore, TestClock, describeStores } from "../support/stores.ts";
import { operationIn } from "../support/worker-operations.ts";

const stage = { tool: "issue_refund", afterMs: hours(1) };
const lease = { leaseMs: minutes(5), beginMs: days(7) };

function looksOf({ store }: OpenStore): LateLooks {
  expect(store.lateLooks).toBeDefined();
  return store.lateLooks as LateLooks;
}

describeStores("late looks", (suite) => {
  it("are claimed by one at a time, until the lease ends or the stage is passed", async () => {
    const clock = new TestClock();
    const looks = looksOf(await suite.open({ clock }));
    const first = await looks.claim({ ...stage, ...lease });
    expect(first).toMatchObject({ tenant: "", key: "" });
    expect((first?.readAtMs ?? 0) - (first?.settledAtMs ?? 0)).toBe(hours(1) + days(7));
    expect(await looks.claim({ ...stage, ...lease })).toBeUndefined();
    expect(await looks.claim({ ...stage, afterMs: days(1), ...lease })).toBeDefined();
    expect(await looks.claim({ ...stage, tool: "another", ...lease })).toBeDefined();
    clock.advance(minutes(5));
    expect(await looks.claim({ ...stage, ...lease })).toMatchObject({ key: "" });

    const position = { settledAtMs: first?.readAtMs ?? 0, tenant: "acme", key: "k" };
    await looks.pass({ ...stage, ...position });
    expect(await looks.claim({ ...stage, ...lease })).toMatchObject(position);
  });

  it("never go back", async () => {
    const looks = looksOf(await suite.open());
    const { readAtMs = 0 } = (await looks.claim({ ...stage, ...lease })) ?? {};
    const position = { settledAtMs: readAtMs, tenant: "acme", key: "k" };
    await looks.pass({ ...stage, ...position });
    await looks.pass({ ...stage, ...position, key: "j" });
    await looks.pass({ ...stage, ...position, settledAtMs: readAtMs - 1, key: "z" });
    expect(await looks.claim({ ...stage, ...lease })).toMatchObject(position);
    // The same once more only gives the lease back.
    await looks.pass({ ...stage, ...position });
    expect(await looks.claim({ ...stage, ...lease })).toMatchObject(position);
  });

  it("find what is closed, in order and page by page, and nothing else", async () => {
    const clock = new TestClock();
    const opened = await suite.open({ clock });
    const looks = looksOf(opened);
    for (const name of ["IN_PROGRESS", "UNKNOWN", "NEEDS_REVIEW"] as const)
      await operationIn(opened.store, name, name);
    for (const name of ["a", "b", "c"]) await operationIn(opened.store, name, "FAILED");
    await operationIn(opened.store, "once", "DONE");
    await operationIn(opened.store, "flagged", "FAILED");
    await operationIn(opened.store, "purged", "FAILED");
    await operationIn(opened.store, "unsent", "FAILED");
    await opened.sql("update :schema.operations set incident = 'x' where key like '%flagged%'");
    await opened.sql("update :schema.operations set purged_at_ms = 1 where key like '%purged%'");
    await opened.sql("update :schema.operations set attempts = 0 where key like '%unsent%'");
    const [any] = await opened.store.list({
      tenant: null,
      status: "FAILED",
      operation: null,
      review: false,
      limit: 1,
      after: null,
    });
    const { tool = "", readAtMs = 0 } = any ?? {};
    const all = { tool, untilMs: readAtMs + hours(1), all: false, limit: 2 };
    const first = await looks.find({ ...all, settledAtMs: 0, tenant: "", key: "" });
    const last = first.at(-1);
    const { tenant = "", key = "", settledAtMs } = last ?? {};
    const rest = await looks.find({ ...all, settledAtMs: settledAtMs ?? 0, tenant, key });
    expect(first).toHaveLength(2);
    expect(rest).toHaveLength(1);
    const keys = [...first, ...rest].map((row) => row.key);
    expect(keys).toEqual(keys.toSorted());
    const more = await looks.find({
      ...all,
      all: true,
      limit: 9,
      settledAtMs: 0,
      tenant: "",
      key: "",
    });
    expect(more.map((row) => row.status).toSorted()).toEqual([
      "DONE",
      "FAILED",
      "FAILED",
      "FAILED",
    ]);
    const none = { settledAtMs: 0, tenant: "", key: "", limit: 9 };
    expect(await looks.find({ ...all, ...none, untilMs: more[0]?.settledAtMs ?? 0 })).toEqual([]);
    expect(await looks.find({ ...all, ...none, tool: "another" })).toEqual([]);
  });
});
