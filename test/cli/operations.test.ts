/**
 * `operations list` and `operations show` on both stores.
 */
import { expect, it } from "vitest";
import { eachPage, noFilter, readPage } from "../../src/cli/paging.ts";
import { type OpenStore, TestClock, describeStores } from "../support/stores.ts";
import { errorOf, fillStore, refund, runCli, runJson, storeArgs } from "./run-cli.ts";

interface Listed {
  operations: { key: string; tenant: string; status: string; intent: unknown }[];
  next: string | null;
}

describeStores("operations", (suite) => {
  it("list shows every operation, restricted by tenant, status and operation", async () => {
    const opened = await suite.open();
    const keys = await fillStore(opened.store);
    const other = await refund(opened.store, "9", "works", { tenant: "globex" });
    const list = async (...args: string[]): Promise<Listed> =>
      (await runJson(["operations", "list", ...storeArgs(opened), ...args])).document as Listed;
    const [all, acme, doubtful, nothing] = await Promise.all([
      list(),
      list("--tenant", "acme"),
      list("--status", "UNKNOWN"),
      list("--operation", "payout"),
    ]);
    const listed = all.operations.map(({ key }) => key);
    expect(new Set(listed)).toEqual(new Set([...Object.values(keys), other]));
    expect(listed).toHaveLength(5);
    expect(all.next).toBeNull();
    expect(acme.operations).toHaveLength(4);
    expect(doubtful.operations).toMatchObject([
      {
        tenant: "acme",
        key: keys.unknown,
        status: "UNKNOWN",
        operation: "refund",
        tool: "issue_refund",
        scope: "business",
        intent: "refund:order-8814:ticket-5521",
        arguments: { orderId: "8814", amountMinor: 48_000, currency: "EUR" },
        attempts: 1,
        result: null,
        fault: null,
      },
    ]);
    expect(nothing.operations).toEqual([]);
  });

  it("pages on until the end without losing or repeating one, also within one millisecond", async () => {
    const clock = new TestClock();
    const opened = await suite.open({ clock });
    const made: string[] = [];
    for (let order = 0; order < 7; order += 1) {
      if (order === 5) clock.advance(1);
      made.push(await refund(opened.store, String(order), "works"));
    }
    const seen: string[] = [];
    let after: string[] = [];
    for (let pages = 1; pages <= 3; pages += 1) {
      const args = ["operations", "list", "--limit", "3", ...storeArgs(opened), ...after];
      const page = (await runJson(args)).document as Listed;
      seen.push(...page.operations.map(({ key }) => key));
      expect(page.operations).toHaveLength(pages === 3 ? 1 : 3);
      expect(page.next === null).toBe(pages === 3);
      after = ["--after", page.next ?? ""];
    }
    expect(seen.toSorted()).toEqual(made.toSorted());
    expect(seen.slice(0, 2).toSorted(), "newest first").toEqual(made.slice(5).toSorted());

    const whole: string[] = [];
    for await (const page of eachPage(opened.store, noFilter, 2)) {
      whole.push(...page.map(({ key }) => key));
    }
    expect(whole).toEqual(seen);
    const last = await readPage(7, (limit) =>
      opened.store.list({ ...noFilter, limit, after: null }),
    );
    expect(last.next, "a page that is just full is the last").toBeNull();
  });

  it("show finds an operation by the beginning of its key, and needs the tenant only in doubt", async () => {
    const opened = await suite.open();
    const { done, review } = await fillStore(opened.store);
    const show = (key: string, ...args: string[]) =>
      runJson(["operations", "show", key, ...storeArgs(opened), ...args]);
    const [byBeginning, byKey, unknown, malformed] = await Promise.all([
      show(done.slice(0, 6).toUpperCase()),
      show(review, "--tenant", "acme"),
      show("0000000000"),
      show("refund"),
    ]);
    expect(byBeginning.document).toMatchObject({
      operation: { key: done, status: "DONE", result: { id: "re_8812", status: "succeeded" } },
      journal: [
        { seq: 1, event: "operation.claimed", status: "IN_PROGRESS", attempts: 0 },
        { seq: 2, event: "operation.armed", attempts: 1 },
        { seq: 3, event: "operation.completed", status: "DONE", detail: { providerId: "re_8812" } },
      ],
      chain: { intact: true },
    });
    expect(byKey.document).toMatchObject({ operation: { key: review, status: "NEEDS_REVIEW" } });
    expect([unknown.exitCode, malformed.exitCode]).toEqual([5, 2]);
    expect(errorOf(unknown)).toMatchObject({ code: "OPERATION_NOT_FOUND", exitCode: 5 });
    expect(unknown.stdout).toBe("");

    // The same beginning under a second tenant.
    await claimAs(opened, "globex", done);
    const [doubtful, decided] = await Promise.all([show(done), show(done, "--tenant", "globex")]);
    expect(errorOf(doubtful)).toMatchObject({ code: "AMBIGUOUS_KEY", exitCode: 5 });
    expect(errorOf(doubtful)["message"]).toContain("tenant globex");
    expect(decided.document).toMatchObject({ operation: { tenant: "globex", key: done } });
  });

  it("for people: tables within 80 columns, control characters made visible", async () => {
    const opened = await suite.open();
    const { review } = await fillStore(opened.store);
    await opened.sql(
      `update :schema.operations set review_reason = 'red \u001b[31malert' where key = '${review}'`,
    );
    const [list, show, queue] = await Promise.all([
      runCli(["operations", "list", ...storeArgs(opened)]),
      runCli(["operations", "show", review, ...storeArgs(opened)]),
      runCli(["review", "list", ...storeArgs(opened)]),
    ]);
    for (const { stdout, exitCode } of [list, show, queue]) {
      expect(stdout.split("\n").filter((line) => line.length > 80)).toEqual([]);
      expect(stdout).not.toContain("\u001b");
      expect(exitCode).toBe(0);
    }
    expect(list.stdout).toMatch(/^Key +Tenant +Status +Attempts +Age +Intent$/m);
    expect(show.stdout).toContain("Reason       red \\u001b[31malert");
    expect(show.stdout).toContain("chain intact");
    expect(show.stdout).toMatch(
      /^6 {2}\d\d-\d\d [\d:.]+ {2}review\.opened +NEEDS_REVIEW {2}token \d+$/m,
    );
    expect(queue.stdout).toContain("red");
  });
});

/** Claims a key that another tenant has. Real keys hash the tenant; beginnings can still meet. */
async function claimAs({ store }: OpenStore, tenant: string, key: string): Promise<void> {
  await store.claim({
    tenant,
    key,
    keyAlgorithm: "jcs-sha256/1",
    operation: "refund",
    tool: "issue_refund",
    intent: "{}",
    fingerprint: "jcs-sha256/1:0",
    arguments: "{}",
    acquisitionId: "another",
    leaseMs: 1000,
    arm: false,
    wireKey: key,
    quietMs: 0,
    retentionMs: 0,
    supersedes: null,
    lookAlike: null,
    detail: "{}",
  });
}
