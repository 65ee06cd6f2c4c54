/**
 * Many processes on one SQLite file: every claim is answered, and no lock ever shows (case 38). A
 * lock that is held for long is in 20-store-cut.
 */
import { expect, it, onTestFinished } from "vitest";
import { startWorkers } from "../support/processes.ts";
import { openSqlite } from "../support/stores.ts";
import { placeOf } from "../support/worker-place.ts";
import type { StoreCommands } from "../support/worker-store.ts";

it("eight processes claim and complete on one file, and each key has one winner", async () => {
  const opened = await openSqlite();
  onTestFinished(() => opened.close());
  const workers = await startWorkers<StoreCommands>("worker-store.ts", 8);
  await Promise.all(workers.map((worker) => worker.call("open", { place: placeOf(opened) })));

  // One by one, for as many transactions as can be; then in bursts, for as many claims as can be.
  const singles = keysOf("single", 60);
  const bursts = keysOf("burst", 2000);
  const created: string[] = [];
  for (const { keys, together } of [
    { keys: singles, together: 1 },
    { keys: bursts, together: 100 },
  ]) {
    const claiming = workers.map((worker, index) =>
      worker.call("claim", { keys: turned(keys, index), copies: 1, together }),
    );
    const reports = await Promise.all(claiming);
    expect(reports.flatMap((report) => report.failures)).toEqual([]);
    expect(reports.map((report) => report.answers)).toEqual(workers.map(() => keys.length));
    created.push(...reports.flatMap((report) => report.created));
  }
  expect(created.toSorted()).toEqual([...singles, ...bursts].toSorted());

  const completing = workers.map((worker, index) =>
    worker.call("complete", { keys: turned(singles, index) }),
  );
  const completed = await Promise.all(completing);
  expect(completed.reduce((sum, count) => sum + count, 0)).toBe(singles.length);
});

function keysOf(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${name}-${index}`);
}

/** The same keys in another order for each process. */
function turned(keys: readonly string[], index: number): readonly string[] {
  const from = Math.floor((keys.length * index) / 8);
  const order = [...keys.slice(from), ...keys.slice(0, from)];
  return index % 2 === 0 ? order : order.toReversed();
}
