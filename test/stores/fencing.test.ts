/**
 * Every statement asks for key, token and status itself: without them it returns nothing and writes
 * nothing, not even a journal line (R12).
 */
import { beforeAll, describe, expect, it } from "vitest";
import type { OperationRecord, Status, Store } from "../../src/index.ts";
import type { Fenced } from "../../src/ledger/store.ts";
import { type OpenStore, TestClock, describeStores } from "../support/stores.ts";
import { linesOf, operationIn, stored, sure, withIncident } from "../support/worker-operations.ts";
import {
  armParams,
  claimParams,
  completeParams,
  fencedBy,
  leaseMs,
  quietMs,
} from "../support/worker-params.ts";

type Run = (
  store: Store,
  owner: Fenced & { attempts: number },
) => Promise<OperationRecord | undefined>;

const statuses: readonly Status[] = ["IN_PROGRESS", "UNKNOWN", "NEEDS_REVIEW", "DONE", "FAILED"];
const error = '{"message":"it went wrong"}';

/** Statements that only the owner of an operation in progress may make, and their journal event. */
const ofTheOwner: Record<string, readonly [event: string, run: Run]> = {
  arm: ["operation.resent", (store, owner) => store.arm(armParams(owner))],
  renew: [
    "operation.renewed",
    (store, owner) => store.renew({ ...fencedBy(owner), leaseMs, detail: "{}" }),
  ],
  release: [
    "operation.released",
    (store, owner) =>
      store.release({
        ...fencedBy(owner),
        attempts: owner.attempts,
        error,
        sweepAfterMs: 0,
        detail: "{}",
      }),
  ],
  fail: [
    "operation.failed",
    (store, owner) =>
      store.fail({
        ...fencedBy(owner),
        error,
        replaysDeclines: true,
        lookedAtMs: null,
        detail: "{}",
      }),
  ],
  markUnknown: [
    "operation.unknown",
    (store, owner) =>
      store.markUnknown({
        ...fencedBy(owner),
        error,
        sweepAfterMs: 1,
        event: "operation.unknown",
        detail: "{}",
      }),
  ],
  escalate: [
    "review.opened",
    (store, owner) => store.escalate({ ...fencedBy(owner), reason: "why", detail: "{}" }),
  ],
};

describeStores("a statement of the owner", (suite) => {
  let opened: OpenStore;
  const clock = new TestClock();
  let count = 0;
  const freshKey = (): string => `key-${(count += 1)}`;
  beforeAll(async () => {
    opened = await suite.open({ clock });
  });

  describe.each(Object.entries(ofTheOwner))("%s", (_, [event, run]) => {
    it("writes the row and one journal line with the right token", async () => {
      const owner = await operationIn(opened.store, freshKey(), "IN_PROGRESS");
      const written = sure(await run(opened.store, owner));
      expect(written.version).toBe(owner.version + 1);
      const lines = await linesOf(opened.store, owner.key);
      expect(lines.map((line) => line.event)).toEqual([
        "operation.claimed",
        "operation.armed",
        event,
      ]);
      expect(lines.at(-1)).toMatchObject({ status: written.status, token: owner.token });
    });

    it.each<[string, (owner: OperationRecord) => Fenced & { attempts: number }]>([
      ["an older token", (owner) => ({ ...owner, token: owner.token - 1 })],
      ["a token to come", (owner) => ({ ...owner, token: owner.token + 1 })],
      ["another tenant's name", (owner) => ({ ...owner, tenant: "other" })],
      ["another key", (owner) => ({ ...owner, key: `${owner.key}-other` })],
    ])("writes nothing with %s", async (_name, changed) => {
      const owner = await operationIn(opened.store, freshKey(), "IN_PROGRESS");
      const before = await stored(opened);
      expect(await run(opened.store, changed(owner))).toBeUndefined();
      expect(await stored(opened)).toEqual(before);
    });

    it("writes nothing after another acquisition, whoever's it is", async () => {
      const owner = await operationIn(opened.store, freshKey(), "IN_PROGRESS");
      clock.advance(leaseMs);
      // The same worker may have taken it over again; that is another acquisition all the same.
      const { acquisitionId } = owner;
      const taken = await opened.store.takeOver({
        ...fencedBy(owner),
        acquisitionId,
        leaseMs,
        detail: "{}",
      });
      const before = await stored(opened);
      expect(await run(opened.store, owner)).toBeUndefined();
      expect(await stored(opened)).toEqual(before);
      expect(await run(opened.store, { ...sure(taken) })).toBeDefined();
    });

    it.each(statuses.slice(1))("writes nothing on %s", async (status) => {
      const owner = await operationIn(opened.store, freshKey(), status);
      const before = await stored(opened);
      expect(await run(opened.store, owner)).toBeUndefined();
      expect(await stored(opened)).toEqual(before);
    });
  });

  it("renew writes nothing when the lease is over, though nobody took it", async () => {
    const owner = await operationIn(opened.store, freshKey(), "IN_PROGRESS");
    clock.advance(leaseMs);
    const before = await stored(opened);
    expect(await ofTheOwner["renew"]?.[1](opened.store, owner)).toBeUndefined();
    expect(await stored(opened)).toEqual(before);
  });

  it.each([-1, 1])("release and arm write nothing when attempts are off by %i", async (off) => {
    const owner = await operationIn(opened.store, freshKey(), "IN_PROGRESS");
    const before = await stored(opened);
    const wrong = { ...owner, attempts: owner.attempts + off };
    expect(await ofTheOwner["release"]?.[1](opened.store, wrong)).toBeUndefined();
    expect(await ofTheOwner["arm"]?.[1](opened.store, wrong)).toBeUndefined();
    expect(await stored(opened)).toEqual(before);
  });

  it("release takes an attempt back once", async () => {
    const owner = await operationIn(opened.store, freshKey(), "IN_PROGRESS");
    const released = sure(await ofTheOwner["release"]?.[1](opened.store, owner));
    expect(released).toMatchObject({
      status: "IN_PROGRESS",
      attempts: 0,
      attemptsInGeneration: 0,
      firstArmedAtMs: null,
      leaseUntilMs: clock.nowMs,
    });
    const before = await stored(opened);
    expect(await ofTheOwner["release"]?.[1](opened.store, owner)).toBeUndefined();
    expect(await ofTheOwner["release"]?.[1](opened.store, released)).toBeUndefined();
    expect(await stored(opened)).toEqual(before);
  });

  it("release of a second attempt leaves the first one's outcome unknown", async () => {
    const owner = await operationIn(opened.store, freshKey(), "IN_PROGRESS");
    const resent = sure(await opened.store.arm(armParams(owner)));
    const released = sure(await ofTheOwner["release"]?.[1](opened.store, resent));
    expect(released).toMatchObject({
      status: "UNKNOWN",
      attempts: 1,
      firstArmedAtMs: owner.firstArmedAtMs,
    });
  });
});

describeStores("a refusal settles an operation as FAILED", (suite) => {
  const fail = (store: Store, owner: Fenced, replaysDeclines: boolean, lookedAtMs: number | null) =>
    store.fail({ ...fencedBy(owner), error, replaysDeclines, lookedAtMs, detail: "{}" });

  it("only when it was the only attempt, or declines are replayed", async () => {
    const opened = await suite.open({ clock: new TestClock() });
    const owner = await operationIn(opened.store, "k", "IN_PROGRESS");
    const resent = sure(await opened.store.arm(armParams(owner)));
    const before = await stored(opened);
    expect(await fail(opened.store, resent, false, null)).toBeUndefined();
    expect(await stored(opened)).toEqual(before);
    expect(await fail(opened.store, resent, true, null)).toMatchObject({ status: "FAILED" });
  });

  it("never when nothing was sent, for then nobody can have refused", async () => {
    const opened = await suite.open({ clock: new TestClock() });
    const owner = await opened.store.claim(claimParams("k", { arm: false }));
    const before = await stored(opened);
    expect(await fail(opened.store, owner, false, null)).toBeUndefined();
    expect(await stored(opened)).toEqual(before);
  });

  it("or by an absence that was looked up after everything was quiet", async () => {
    const clock = new TestClock();
    const opened = await suite.open({ clock });
    const owner = await operationIn(opened.store, "k", "IN_PROGRESS");
    const resent = sure(await opened.store.arm(armParams(owner)));
    clock.advance(quietMs + 1);
    const before = await stored(opened);
    expect(await fail(opened.store, resent, false, resent.quietUntilMs)).toBeUndefined();
    expect(await fail(opened.store, resent, true, resent.quietUntilMs)).toBeUndefined();
    expect(await stored(opened)).toEqual(before);
    const settled = await fail(opened.store, resent, false, resent.quietUntilMs + 1);
    expect(settled).toMatchObject({ status: "FAILED" });
  });
});

describeStores("a statement for anybody", (suite) => {
  it("take-over writes nothing on a live lease, a stale token or another status", async () => {
    const clock = new TestClock();
    const opened = await suite.open({ clock });
    const { store } = opened;
    const take = (seen: Fenced) =>
      store.takeOver({ ...fencedBy(seen), acquisitionId: "b", leaseMs, detail: "{}" });
    const settled = await Promise.all(
      (["DONE", "FAILED", "NEEDS_REVIEW"] as const).map((status) =>
        operationIn(store, status, status),
      ),
    );
    clock.advance(leaseMs);
    const alive = await operationIn(store, "alive", "IN_PROGRESS");
    const unknown = await operationIn(store, "unknown", "UNKNOWN");
    const before = await stored(opened);
    for (const seen of [...settled, alive]) expect(await take(seen)).toBeUndefined();
    expect(await take({ ...unknown, token: unknown.token - 1 })).toBeUndefined();
    expect(await take({ ...unknown, tenant: "other" })).toBeUndefined();
    expect(await stored(opened)).toEqual(before);
    expect(await take(unknown)).toMatchObject({ status: "IN_PROGRESS", acquisitionId: "b" });
  });

  it("complete merges into every open status, and writes nothing on a settled one", async () => {
    const opened = await suite.open();
    for (const status of statuses) await operationIn(opened.store, status, status);
    for (const status of ["IN_PROGRESS", "UNKNOWN", "NEEDS_REVIEW"]) {
      const other = completeParams(status, { result: '"other"', providerId: "other" });
      expect(await opened.store.complete(other)).toMatchObject({ status: "DONE" });
    }
    const before = await stored(opened);
    for (const key of [...statuses, "no such key"]) {
      const late = completeParams(key, { result: '"late"', providerId: "late" });
      expect(await opened.store.complete(late)).toBeUndefined();
    }
    const elsewhere = completeParams("UNKNOWN", { tenant: "other" });
    expect(await opened.store.complete(elsewhere)).toBeUndefined();
    expect(await stored(opened)).toEqual(before);
  });

  it("record-intent writes nothing on an open operation or one that is replaced already", async () => {
    const opened = await suite.open();
    const replace = (key: string, supersededBy: string) =>
      opened.store.recordIntent({ tenant: "acme", key, supersededBy, detail: "{}" });
    for (const status of statuses) await operationIn(opened.store, status, status);
    const untouched = await stored(opened);
    for (const status of ["IN_PROGRESS", "UNKNOWN", "NEEDS_REVIEW"]) {
      expect(await replace(status, "new")).toBeUndefined();
    }
    expect(await stored(opened)).toEqual(untouched);
    expect(await replace("DONE", "new")).toMatchObject({ supersededBy: "new", status: "DONE" });
    expect(await replace("DONE", "new")).toMatchObject({ supersededBy: "new" });
    const replaced = await stored(opened);
    expect(await replace("DONE", "another")).toBeUndefined();
    expect(await stored(opened)).toEqual(replaced);
  });

  it("record-intent writes nothing where evidence contradicts the outcome", async () => {
    const opened = await suite.open();
    await withIncident(opened.store, await operationIn(opened.store, "k", "FAILED"));
    const before = await stored(opened);
    const replace = { tenant: "acme", key: "k", supersededBy: "new", detail: "{}" };
    expect(await opened.store.recordIntent(replace)).toBeUndefined();
    expect(await stored(opened)).toEqual(before);
  });

  it("record-incident keeps the outcome, and needs an operation", async () => {
    const opened = await suite.open();
    const done = await operationIn(opened.store, "DONE", "DONE");
    const flag = (key: string) =>
      opened.store.recordIncident({ tenant: "acme", key, incident: "two", detail: "{}" });
    const { status, result, settledAtMs } = done;
    expect(await flag("DONE")).toMatchObject({ incident: "two", status, result, settledAtMs });
    const before = await stored(opened);
    expect(await flag("no such key")).toBeUndefined();
    expect(await stored(opened)).toEqual(before);
  });

  it.each(statuses)(
    "a claim of a key that is %s changes its place in the journal only",
    async (status) => {
      const opened = await suite.open({ clock: new TestClock() });
      const before = await operationIn(opened.store, "k", status);
      const [row] = await opened.sql("select * from :schema.operations");
      const other = claimParams("k", {
        fingerprint: "other",
        arm: false,
        leaseMs: 1,
        wireKey: "x",
      });
      const met = await opened.store.claim(other);
      expect(met).toEqual({ ...before, journalSeq: before.journalSeq + 1 });
      const [after] = await opened.sql("select * from :schema.operations");
      const changed = Object.keys(row ?? {}).filter((name) => row?.[name] !== after?.[name]);
      expect(changed.toSorted()).toEqual(["event", "journal_seq"].toSorted());
      expect((await linesOf(opened.store, "k")).at(-1)).toMatchObject({
        event: "operation.repeated",
        status,
      });
    },
  );
});
