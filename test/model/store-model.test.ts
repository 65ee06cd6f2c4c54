/**
 * The model's store behaves as the SQL does: the same statements in any order, on both, leave the same
 * row; and the statements agree with the pure functions that hold the same conditions.
 */
import Database from "better-sqlite3";
import fc from "fast-check";
import { expect, it } from "vitest";
import { mayFail, mayResend } from "../../src/ledger/decide.ts";
import type { OperationRecord } from "../../src/ledger/record.ts";
import { quietSpanMs, resendSpanMs } from "../../src/ledger/window.ts";
import { SqliteStore } from "../../src/stores/sqlite/index.ts";
import { claimParams } from "../support/worker-params.ts";
import { labOf, settingOf } from "./setting.ts";
import type { Row } from "./state.ts";
import {
  armRow,
  claimRow,
  completeRow,
  escalateRow,
  failRow,
  incidentRow,
  markUnknownRow,
  purgeRow,
  recordOf,
  releaseRow,
  renewRow,
  resolveRow,
  takeOverRow,
} from "./store-model.ts";

const none = new Set<never>();
const leaseMs = 3;
const retentionMs = 4;
const { terms } = labOf(settingOf({ lookUp: { lagMs: 1, authoritative: true } }));
const quietMs = quietSpanMs(terms.bounds);
const spanMs = resendSpanMs(terms.bounds);

const names = [
  "take-over",
  "arm",
  "arm-new",
  "renew",
  "release",
  "complete",
  "fail",
  "fail-looked",
  "mark-unknown",
  "escalate",
  "incident",
  "resolve",
  "purge",
] as const;

const move = fc.record({
  name: fc.constantFrom(...names),
  /** Time that passes before it. */
  afterMs: fc.constantFrom(0, 0, 1, 2, 5),
  /** The token, attempts or version is one off. */
  stale: fc.constantFrom(false, false, false, true),
  lookedAgoMs: fc.integer({ min: 0, max: 4 }),
  decision: fc.constantFrom("DONE", "FAILED", "UNKNOWN", "again"),
  replaysDeclines: fc.boolean(),
});
type Move = typeof move extends fc.Arbitrary<infer T> ? T : never;

class Pair {
  readonly store: SqliteStore;
  nowMs = 1_000_000;
  row: Row | null = null;
  key = "";

  constructor() {
    const options = { configure: false, clock: () => this.nowMs };
    this.store = new SqliteStore(new Database(":memory:"), options);
  }

  async claim(key: string, arm: boolean): Promise<void> {
    this.key = key;
    const { token } = await this.store.claim(
      claimParams(key, { arm, leaseMs, quietMs, retentionMs, wireKey: "0" }),
    );
    this.row = claimRow(this.nowMs, { owner: 0, token, payload: 1, leaseMs, arm, quietMs });
  }

  async read(): Promise<OperationRecord> {
    const record = await this.store.read({ tenant: "acme", key: this.key });
    return record ?? expect.fail("the row is gone");
  }

  /** The same move on both; says whether each of them made it. */
  async apply(made: Move): Promise<{ real: boolean; modelled: boolean }> {
    this.nowMs += made.afterMs;
    const row = this.row ?? expect.fail("there is no row");
    const before = row;
    const [real, next] = await this.#both(made, row);
    if (next !== undefined) this.row = next;
    return { real, modelled: next !== undefined && next !== before };
  }

  async #both(made: Move, row: Row): Promise<[boolean, Row | undefined]> {
    const { nowMs: now, store } = this;
    const { lookedAgoMs, replaysDeclines } = made;
    const off = Number(made.stale);
    const token = row.token - off;
    const fenced = { tenant: "acme", key: this.key, token, detail: "{}" };
    const lookedAt = now - lookedAgoMs;
    switch (made.name) {
      case "take-over": {
        const taken = await store.takeOver({ ...fenced, acquisitionId: "other", leaseMs });
        const by = { token, owner: 1, newToken: taken?.token ?? 0, leaseMs };
        return [taken !== undefined, takeOverRow(row, now, by, none)];
      }
      case "arm":
      case "arm-new":
        return this.#arm(made, row, token, lookedAt);
      case "renew":
        return [
          !!(await store.renew({ ...fenced, leaseMs })),
          renewRow(row, now, { token, leaseMs }),
        ];
      case "release": {
        const attempts = row.attempts;
        const released = await store.release({ ...fenced, attempts, error: "{}", sweepAfterMs: 0 });
        return [released !== undefined, releaseRow(row, now, { token, attempts })];
      }
      case "complete": {
        const effect = { resultKind: "json", result: "1", providerId: "1" } as const;
        const done = await store.complete({ ...fenced, ...effect, event: "operation.completed" });
        return [done !== undefined, completeRow(row, now, { effect: 1, token }, none)];
      }
      case "fail":
      case "fail-looked": {
        const looked = made.name === "fail" ? null : lookedAt;
        const params = { replaysDeclines, lookedAtMs: looked, error: "{}" };
        const failed = await store.fail({ ...fenced, ...params });
        return [
          failed !== undefined,
          failRow(row, now, { token, replaysDeclines, lookedAt: looked }, none),
        ];
      }
      case "mark-unknown": {
        const params = { error: "{}", sweepAfterMs: 0, event: "operation.unknown" } as const;
        const marked = await store.markUnknown({ ...fenced, ...params });
        return [marked !== undefined, markUnknownRow(row, now, token)];
      }
      case "escalate": {
        const asked = await store.escalate({ ...fenced, reason: "in doubt" });
        return [asked !== undefined, escalateRow(row, now, token)];
      }
      case "incident": {
        const flagged = await store.recordIncident({ ...fenced, incident: "evidence" });
        return [flagged !== undefined, incidentRow(row)];
      }
      case "resolve":
        return this.#resolve(made, row);
      case "purge": {
        await store.purge({ limit: 10_000 });
        const purged = purgeRow(row, now, retentionMs, none) ?? undefined;
        return [(await this.read()).version > row.version, purged];
      }
    }
  }

  async #arm(
    made: Move,
    row: Row,
    token: number,
    lookedAt: number,
  ): Promise<[boolean, Row | undefined]> {
    const newGeneration = made.name === "arm-new";
    const params = { token, attempts: row.attempts, leaseMs, quietMs, resendSpanMs: spanMs };
    const armed = await this.store.arm({
      tenant: "acme",
      key: this.key,
      detail: "{}",
      ...params,
      newGeneration,
      lookedAtMs: lookedAt,
      wireKey: "0",
    });
    const modelled = { ...params, newGeneration, lookedAt, wire: 0 };
    return [armed !== undefined, armRow(row, this.nowMs, modelled, none)];
  }

  async #resolve(made: Move, row: Row): Promise<[boolean, Row | undefined]> {
    const runAgain = made.decision === "again";
    const status = made.decision === "again" ? "UNKNOWN" : made.decision;
    const version = row.version - Number(made.stale);
    const done = status === "DONE";
    const resolved = await this.store.resolve({
      tenant: "acme",
      key: this.key,
      version,
      status,
      resultKind: done ? "json" : null,
      result: done ? "1" : null,
      providerId: done ? "1" : null,
      error: status === "FAILED" ? "{}" : null,
      runAgain,
      repair: false,
      detail: "{}",
    });
    const decision = { version, status, effect: 1, runAgain };
    return [resolved !== undefined, resolveRow(row, this.nowMs, decision, none)];
  }
}

/** What decisions depend on. */
function essence(record: OperationRecord): object {
  return {
    status: record.status,
    token: record.token,
    leaseUntilMs: record.status === "IN_PROGRESS" ? record.leaseUntilMs : null,
    generation: record.generation,
    attempts: record.attempts,
    attemptsInGeneration: record.attemptsInGeneration,
    firstArmedAtMs: record.firstArmedAtMs,
    lastArmedAtMs: record.lastArmedAtMs,
    quietUntilMs: record.quietUntilMs,
    wireKey: record.wireKey,
    result: record.status === "DONE" ? record.result : null,
    incident: record.incident !== null,
    purged: record.purgedAtMs !== null,
    version: record.version,
  };
}

it("leaves the same row as the statements, whatever their order", async () => {
  const pair = new Pair();
  await pair.store.migrate();
  const reached = new Set<string>();
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(fc.boolean(), fc.array(move, { maxLength: 14 }), async (arm, moves) => {
      await pair.claim(`key-${(runs += 1)}`, arm);
      for (const made of moves) {
        const { real, modelled } = await pair.apply(made);
        expect(modelled, made.name).toBe(real);
        if (real) reached.add(made.name);
        const row = pair.row ?? expect.fail("there is no row");
        expect(essence(recordOf(row, pair.nowMs))).toEqual(essence(await pair.read()));
      }
    }),
    { numRuns: 400, seed: 1202 },
  );
  // A statement that was always refused was not compared.
  expect([...reached].toSorted()).toEqual([...names].toSorted());
}, 120_000);

it("arms and fails exactly where `mayResend` and `mayFail` allow it to the owner", () => {
  const policies = [terms.policy, { ...terms.policy, replaysDeclines: false }];
  const counts = fc.record({ attempts: fc.integer({ min: 1, max: 3 }), agoMs: fc.nat(8) });
  fc.assert(
    fc.property(counts, fc.constantFrom(...policies), ({ attempts, agoMs }, policy) => {
      const now = 100;
      const first = claimRow(now - agoMs, {
        owner: 0,
        token: 1,
        payload: 1,
        leaseMs,
        arm: true,
        quietMs,
      });
      const row = { ...first, attempts, attemptsInGeneration: attempts };
      const arm = { token: 1, attempts, leaseMs, quietMs, resendSpanMs: spanMs, wire: 0 };
      const armed = armRow(row, now, { ...arm, newGeneration: false, lookedAt: null }, none);
      expect(armed !== undefined).toBe(mayResend(recordOf(row, now), policy, now));
      const { replaysDeclines } = policy;
      const failed = failRow(row, now, { token: 1, replaysDeclines, lookedAt: null }, none);
      expect(failed !== undefined).toBe(mayFail(recordOf(row, now), policy));
    }),
  );
});
