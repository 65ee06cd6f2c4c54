/**
 * A person's decision: what may be decided about which operation, and from when (R30).
 */
import { isDeepStrictEqual } from "node:util";
import { describe, expect, it } from "vitest";
import type { OperationRecord, Status } from "../../src/index.ts";
import { findRecordFault } from "../../src/ledger/record.ts";
import type { ResolveParams } from "../../src/ledger/store.ts";
import { TestClock, describeStores } from "../support/stores.ts";
import { linesOf, operationIn, stored, sure, withIncident } from "../support/worker-operations.ts";
import { completeParams, quietMs, resolveParams } from "../support/worker-params.ts";

/** The four decisions as the guard puts them to the store. */
const decisions = {
  happened: { status: "DONE" },
  "did not happen": {
    status: "FAILED",
    resultKind: null,
    result: null,
    providerId: null,
    error: '{"message":"no"}',
  },
  "run again": {
    status: "UNKNOWN",
    resultKind: null,
    result: null,
    providerId: null,
    runAgain: true,
  },
  "look again": { status: "UNKNOWN", resultKind: null, result: null, providerId: null },
} as const satisfies Record<string, Partial<ResolveParams>>;
type Decision = keyof typeof decisions;

type Case = readonly [status: Status, incident: boolean, decision: Decision];
const everyCase: readonly Case[] = (
  ["IN_PROGRESS", "UNKNOWN", "NEEDS_REVIEW", "DONE", "FAILED"] as const
).flatMap((status) =>
  [false, true].flatMap((incident) =>
    (Object.keys(decisions) as Decision[]).map((decision) => [status, incident, decision] as const),
  ),
);

/** What may be decided at all; everything else is refused at any time. */
const allowed = new Set(
  (
    [
      ["NEEDS_REVIEW", false, "happened"],
      ["NEEDS_REVIEW", false, "did not happen"],
      ["NEEDS_REVIEW", false, "run again"],
      ["NEEDS_REVIEW", false, "look again"],
      ["NEEDS_REVIEW", true, "happened"],
      ["NEEDS_REVIEW", true, "did not happen"],
      ["NEEDS_REVIEW", true, "run again"],
      ["NEEDS_REVIEW", true, "look again"],
      ["IN_PROGRESS", true, "happened"],
      ["IN_PROGRESS", true, "did not happen"],
      ["IN_PROGRESS", true, "run again"],
      ["IN_PROGRESS", true, "look again"],
      ["UNKNOWN", true, "happened"],
      ["UNKNOWN", true, "did not happen"],
      ["UNKNOWN", true, "run again"],
      ["UNKNOWN", true, "look again"],
      ["DONE", true, "happened"],
      ["FAILED", true, "happened"],
      ["FAILED", true, "did not happen"],
    ] as const satisfies readonly Case[]
  ).map(String),
);
/** Decisions that an earlier request could still prove wrong. */
const saysNo: ReadonlySet<Decision> = new Set(["did not happen", "run again"]);

describeStores("a decision", (suite) => {
  const begin = async (status: Status, incident: boolean) => {
    const clock = new TestClock();
    const opened = await suite.open({ clock });
    const settled = await operationIn(opened.store, "k", status);
    const seen = incident ? await withIncident(opened.store, settled) : settled;
    const decide = (decision: Decision, change: Partial<ResolveParams> = {}) =>
      opened.store.resolve(resolveParams(seen, { ...decisions[decision], ...change }));
    return { clock, opened, store: opened.store, seen, decide };
  };

  const described = everyCase.map(
    (one) => [one[2], one[1] ? `${one[0]} with an incident` : one[0], one] as const,
  );

  describe.each(described.filter(([, , one]) => allowed.has(String(one))))(
    '"%s" about %s',
    (_decision, _row, [status, incident, decision]) => {
      it("is recorded once everything is quiet", async () => {
        const { clock, store, seen, decide } = await begin(status, incident);
        clock.advance(quietMs + 1);
        const decided = sure(await decide(decision));
        expect(decided).toMatchObject({
          status: decisions[decision].status,
          version: seen.version + 1,
          reviewReason: null,
          incident: null,
        });
        const lines = await linesOf(store, "k");
        expect(lines.at(-1)).toMatchObject({ event: "review.resolved", seq: seen.journalSeq + 1 });
      });

      const early = saysNo.has(decision) ? "refused" : "recorded";
      it(`is ${early} while a request may still take effect`, async () => {
        const { clock, opened, decide } = await begin(status, incident);
        clock.advance(quietMs);
        const before = await stored(opened);
        const decided = await decide(decision);
        expect(decided === undefined ? "refused" : "recorded").toBe(early);
        const isUntouched = isDeepStrictEqual(await stored(opened), before);
        expect(isUntouched).toBe(early === "refused");
      });

      it("is refused when the operation changed since it was looked at", async () => {
        const { clock, opened, seen, decide } = await begin(status, incident);
        clock.advance(quietMs + 1);
        await withIncident(opened.store, seen);
        const before = await stored(opened);
        expect(await decide(decision)).toBeUndefined();
        expect(await decide(decision, { version: seen.version + 2 })).toBeUndefined();
        expect(await decide(decision, { version: seen.version + 1, tenant: "b" })).toBeUndefined();
        expect(await stored(opened)).toEqual(before);
      });
    },
  );

  it.each(described.filter(([, , one]) => !allowed.has(String(one))))(
    '"%s" about %s is refused at any time',
    async (_decision, _row, [status, incident, decision]) => {
      const { clock, opened, decide } = await begin(status, incident);
      const before = await stored(opened);
      expect(await decide(decision)).toBeUndefined();
      clock.advance(quietMs * 1000);
      expect(await decide(decision)).toBeUndefined();
      expect(await stored(opened)).toEqual(before);
    },
  );

  it("of two reviewers is that of one", async () => {
    const { clock, opened, seen } = await begin("NEEDS_REVIEW", false);
    clock.advance(quietMs + 1);
    const stores = [opened.store, await opened.again()];
    const reviews = stores.map((store, index) =>
      store.resolve(resolveParams(seen, decisions[index === 0 ? "happened" : "did not happen"])),
    );
    const recorded = (await Promise.all(reviews)).filter((record) => record !== undefined);
    expect(recorded).toHaveLength(1);
    const { status } = recorded[0] as OperationRecord;
    expect(await opened.store.read({ tenant: "acme", key: "k" })).toMatchObject({ status });
  });

  it("loses against evidence that came in meanwhile", async () => {
    const { clock, store, decide } = await begin("NEEDS_REVIEW", false);
    clock.advance(quietMs + 1);
    await store.complete(completeParams("k"));
    expect(await decide("did not happen")).toBeUndefined();
    expect(await store.read({ tenant: "acme", key: "k" })).toMatchObject({
      status: "DONE",
      providerId: "effect-1",
    });
  });

  it("that it happened keeps the result that is stored already", async () => {
    const { seen, decide } = await begin("DONE", true);
    expect(await decide("happened")).toMatchObject({
      result: seen.result,
      providerId: seen.providerId,
      incident: null,
    });
  });

  it("that it happened after all gives a failed operation its result", async () => {
    const { clock, decide } = await begin("FAILED", true);
    expect(await decide("happened")).toMatchObject({
      status: "DONE",
      resultKind: "json",
      result: '{"id":"by-hand"}',
      settledAtMs: clock.nowMs,
    });
  });

  it("to run it again opens a generation of its own, and counts nothing in it", async () => {
    const { clock, seen, decide } = await begin("NEEDS_REVIEW", false);
    clock.advance(quietMs + 1);
    expect(await decide("run again")).toMatchObject({
      status: "UNKNOWN",
      generation: seen.generation + 1,
      attempts: seen.attempts,
      attemptsInGeneration: 0,
      firstArmedAtMs: null,
      settledAtMs: null,
    });
  });

  it("to look again changes nothing about what was sent", async () => {
    const { seen, decide } = await begin("NEEDS_REVIEW", false);
    const { generation, attempts, attemptsInGeneration, firstArmedAtMs, wireKey } = seen;
    expect(await decide("look again")).toMatchObject({
      status: "UNKNOWN",
      generation,
      attempts,
      attemptsInGeneration,
      firstArmedAtMs,
      wireKey,
      settledAtMs: null,
    });
  });

  it.each(["run again", "look again"] as const)(
    'to "%s" is refused about a row that can\'t be read',
    async (decision) => {
      const { clock, opened, decide } = await begin("NEEDS_REVIEW", true);
      clock.advance(quietMs + 1);
      const before = await stored(opened);
      expect(await decide(decision, { repair: true })).toBeUndefined();
      expect(await stored(opened)).toEqual(before);
    },
  );

  it("about a row that can't be read takes the place of what is damaged", async () => {
    const { opened, seen, decide } = await begin("DONE", true);
    await opened.sql("update :schema.operations set arguments = '[', result = '['");
    const repaired = sure(await decide("happened", { repair: true }));
    expect(repaired).toMatchObject({
      status: "DONE",
      result: '{"id":"by-hand"}',
      arguments: "{}",
      token: seen.token,
      incident: null,
    });
    expect(findRecordFault(repaired)).toBeUndefined();
  });
});
