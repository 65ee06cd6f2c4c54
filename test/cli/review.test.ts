/**
 * `review list` and `review resolve` on both stores.
 */
import { expect, it, onTestFinished } from "vitest";
import { type OpenStore, describeStores, openSqlite } from "../support/stores.ts";
import { errorOf, fillStore, refund, runJson, storeArgs } from "./run-cli.ts";

function resolver(opened: OpenStore) {
  return (key: string, decision: string, ...args: string[]) =>
    runJson([
      "review",
      "resolve",
      key,
      "--tenant=acme",
      `--decision=${decision}`,
      "--by=Ann Lee",
      "--why=seen in the dashboard",
      ...storeArgs(opened),
      ...args,
    ]);
}

describeStores("review", (suite) => {
  it("a decision is recorded with who and why, and further calls get its result", async () => {
    const opened = await suite.open();
    const { review } = await fillStore(opened.store);
    const queue = await runJson(["review", "list", ...storeArgs(opened)]);
    expect(queue.document).toMatchObject({
      operations: [{ key: review, status: "NEEDS_REVIEW", version: 5 }],
      next: null,
    });
    const resolve = resolver(opened);
    const evidence = ["--result", '{"id":"re_77"}', "--provider-id", "re_77"];
    const decided = await resolve(review.slice(0, 8), "happened", "--version", "5", ...evidence);
    expect(decided.exitCode).toBe(0);
    expect(decided.document).toMatchObject({
      operation: { key: review, status: "DONE", result: { id: "re_77" }, providerId: "re_77" },
    });
    const [{ status, result } = { status: "", result: "" }] = [
      await opened.store.read({ tenant: "acme", key: review }),
    ];
    expect({ status, result }).toEqual({ status: "DONE", result: '{"id":"re_77"}' });
    const lines = await opened.store.readJournal({
      tenant: "acme",
      key: review,
      after: null,
      limit: 100,
    });
    expect(lines.at(-1)?.event).toBe("review.resolved");
    expect(JSON.parse(lines.at(-1)?.detail ?? "")).toMatchObject({
      decision: "happened",
      by: "Ann Lee",
      why: "seen in the dashboard",
    });
    const [emptied, verified, late] = await Promise.all([
      runJson(["review", "list", ...storeArgs(opened)]),
      runJson(["audit", "verify", ...storeArgs(opened)]),
      resolve(review, "did-not-happen", "--version", "5"),
    ]);
    expect(emptied.document).toEqual({ operations: [], next: null });
    expect(verified.document).toMatchObject({ ok: true });
    expect(errorOf(late)).toMatchObject({ code: "REVIEW_CONFLICT", exitCode: 5 });
  });

  it("refuses what is not waiting, what was changed, and a no that is too early", async () => {
    const opened = await suite.open();
    const { done, unknown, review } = await fillStore(opened.store);
    const slow = { flightMs: 600_000 };
    const early = await refund(opened.store, "7", "is silent", slow);
    await refund(opened.store, "7", "is silent", slow);
    const resolve = resolver(opened);
    const [settled, changed, no, missing, look, old] = await Promise.all([
      resolve(done, "happened", "--yes"),
      resolve(early, "look-again", "--version", "1"),
      resolve(early, "did-not-happen", "--yes"),
      resolve("00000000", "happened", "--yes"),
      resolve(unknown, "look-again", "--yes"),
      resolve(review, "did-not-happen", "--yes", "--looked-at", "2020-01-01 12:00"),
    ]);
    expect([settled, changed, no, missing, look, old].map((ran) => errorOf(ran)["code"])).toEqual([
      "REVIEW_CONFLICT",
      "REVIEW_CONFLICT",
      "REVIEW_TOO_EARLY",
      "OPERATION_NOT_FOUND",
      "REVIEW_CONFLICT",
      "REVIEW_TOO_EARLY",
    ]);
    for (const { exitCode, stdout } of [settled, changed, no, missing, look, old]) {
      expect({ exitCode, stdout }).toEqual({ exitCode: 5, stdout: "" });
    }
    const looked = await resolve(early, "look-again", "--yes");
    expect(looked.document).toMatchObject({ operation: { status: "UNKNOWN" } });
  });
});

it("the command line is checked before anything is decided", async () => {
  const opened = await openSqlite();
  onTestFinished(() => opened.close());
  const { review } = await fillStore(opened.store);
  const resolve = resolver(opened);
  const refused = await Promise.all([
    resolve(review, "happened"),
    resolve(review, "happened", "--yes", "--result", "{id}"),
    resolve(review, "look-again", "--yes", "--result", "{}"),
    resolve(review, "perhaps", "--yes"),
    resolve(review, "happened", "--yes", "--why", " "),
    resolve(review, "happened", "--version", "zero"),
    resolve(review, "did-not-happen", "--yes", "--looked-at", "yesterday"),
  ]);
  expect(refused.map(({ exitCode }) => exitCode)).toEqual([2, 2, 2, 2, 2, 2, 2]);
  expect(refused.map((ran) => String(errorOf(ran)["message"]).slice(0, 40))).toEqual([
    "There is no terminal to ask on. Give the",
    "--result is not JSON: {id}",
    "--result goes with --decision happened o",
    "Option '--decision <decision>' argument ",
    "A decision needs a reason: `why` is miss",
    "Option '--version <number>' argument 'ze",
    '"yesterday" is no time: write 2026-06-01',
  ]);
  expect((await opened.store.read({ tenant: "acme", key: review }))?.version).toBe(5);
});
