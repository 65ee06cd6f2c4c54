/**
 * Pages of every list, with many rows of one and the same millisecond: nothing is lost, nothing repeated.
 * Operations are in the store contract; events of the outbox have positions that no two share.
 */
import { expect, it } from "vitest";
import type { InboxRecord } from "../../src/ledger/events.ts";
import type { ApprovalRecord, RunRecord } from "../../src/ledger/runs.ts";
import { type OpenStore, TestClock, describeStores } from "../support/stores.ts";

const tenants = ["acme", "bravo"];
const names = ["a", "b", "c"];
const everyName = tenants.flatMap((tenant) => names.map((name) => ({ tenant, name })));

/** Follows the pages of two to their end. */
async function follow<Row>(
  list: (page: { limit: number; after: Row | null }) => Promise<readonly Row[]>,
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (let after: Row | null = null; ;) {
    const page: readonly Row[] = await list({ limit: 2, after });
    rows.push(...page);
    // Twice as many as there are: pages that repeat never end by themselves.
    if (page.length < 2 || rows.length > 24) return rows;
    after = page.at(-1) ?? null;
  }
}

/** Half of the rows in one millisecond, half in the next. */
async function inTwoMilliseconds(
  clock: TestClock,
  make: (id: (typeof everyName)[number], round: number) => Promise<unknown>,
): Promise<void> {
  for (const round of [1, 2]) {
    for (const id of everyName) await make(id, round);
    clock.advance(1);
  }
}

async function startRuns(opened: OpenStore, clock: TestClock): Promise<void> {
  const run = { flow: "paged", version: 1, input: "{}", retentionMs: 1000 };
  await inTwoMilliseconds(clock, ({ tenant, name }, round) =>
    opened.store.runs.start({ ...run, tenant, runId: `${name}${round}` }),
  );
}

describeStores("pages", (suite) => {
  it("of runs", async () => {
    const clock = new TestClock();
    const opened = await suite.open({ clock });
    await startRuns(opened, clock);
    const any = { tenant: null, flow: null, status: null };
    const paged = await follow<RunRecord>((page) => opened.store.runs.list({ ...any, ...page }));
    const whole = await opened.store.runs.list({ ...any, limit: 100, after: null });
    expect(whole).toHaveLength(12);
    expect(whole.map(({ createdAtMs }) => createdAtMs)).toEqual(
      whole.map(({ createdAtMs }) => createdAtMs).toSorted((a, b) => b - a),
    );
    const named = ({ tenant, runId }: { tenant: string; runId: string }) => `${tenant} ${runId}`;
    expect(paged.map(named)).toEqual(whole.map(named));
  });

  it("of approvals", async () => {
    const clock = new TestClock();
    const opened = await suite.open({ clock });
    await startRuns(opened, clock);
    const { runs } = opened.store;
    const flows = [{ flow: "paged", version: 1 }];
    const claimed = await runs.claim({ flows, run: null, leaseMs: 60_000, limit: 100 });
    const question = { key: "k", fingerprint: "f", payload: "{}", waitMs: 1000 };
    for (const { tenant, runId, token } of claimed.slice(0, 5))
      for (const name of ["first", "second"])
        await runs.openApproval({ tenant, runId, token, name, ...question });
    const any = { tenant: null, runId: null, status: null };
    const paged = await follow<ApprovalRecord>((page) => runs.listApprovals({ ...any, ...page }));
    const whole = await runs.listApprovals({ ...any, limit: 100, after: null });
    expect(whole).toHaveLength(10);
    expect(paged).toEqual(whole);
  });

  it("of the inbox", async () => {
    const clock = new TestClock();
    const { store } = await suite.open({ clock });
    const failure = { error: "no", poisonAfter: 1, retryAfterMs: 1, retentionMs: 1000 };
    const event = { ...failure, type: "t", subject: null, event: "{}" };
    await inTwoMilliseconds(clock, async ({ tenant, name }, round) => {
      const id = { tenant, consumer: name, source: "shop" };
      await store.inbox.fail({ ...event, ...id, id: `e${round}` });
      await store.inbox.fail({ ...event, ...id, source: "till", id: `e${round}` });
    });
    const any = { tenant: null, consumer: null, status: null };
    const paged = await follow<InboxRecord>((page) => store.inbox.list({ ...any, ...page }));
    const whole = await store.inbox.list({ ...any, limit: 100, after: null });
    expect(whole).toHaveLength(24);
    const placed = ({ tenant, consumer, source, id }: (typeof whole)[number]) =>
      [tenant, consumer, source, id].join(" ");
    expect(paged.map(placed)).toEqual(whole.map(placed));
    const till = await store.inbox.list({ ...any, source: "till", limit: 100, after: null });
    expect(till).toHaveLength(12);
  });
});
