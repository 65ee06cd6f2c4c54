/**
 * A PostgreSQL primary with a synchronous standby is killed under load and the standby promoted, again
 * and again: nothing that was acknowledged is lost, and no intent has two effects.
 */
import { expect, it, onTestFinished } from "vitest";
import { Cluster, isClusterMissing } from "./cluster.ts";
import {
  chainFaultsOn,
  effectsByKey,
  faultsOf,
  lostAmong,
  migrate,
  operationsOn,
} from "./judge.ts";
import { Load } from "./load.ts";
import type { LoadReport } from "./load-worker.ts";

const failovers = Number(process.env["NEVERTWICE_FAILOVERS"] ?? 10);
/** Of each worker, between one kill and the next. */
const callsBetween = 50;

it.skipIf(isClusterMissing())(
  `${failovers} failovers to a synchronous standby lose nothing and double nothing`,
  { timeout: 120_000 + failovers * 60_000 },
  async () => {
    expect(failovers, "NEVERTWICE_FAILOVERS").toBeGreaterThan(0);
    const startedAtMs = performance.now();
    const cluster = await Cluster.start("synchronous");
    onTestFinished(() => cluster.stop());
    await cluster.addStandby();
    await migrate(cluster.url);
    const load = await Load.open(cluster.url, 8);
    await load.start();

    let lastCount = 0;
    for (let round = 1; round <= failovers; round += 1) {
      await load.whenAcknowledged(callsBetween);
      await cluster.killPrimary();
      const promoted = await cluster.promote();
      // Nobody has been led to the promoted server yet: all this was acknowledged by the dead one.
      const acknowledged = await load.acknowledged();
      const lost = lostAmong(acknowledged, await operationsOn(promoted));
      expect({ round, lost }).toEqual({ round, lost: [] });
      expect(acknowledged.length - lastCount).toBeGreaterThanOrEqual(2 * callsBetween);
      lastCount = acknowledged.length;
      cluster.lead();
      await cluster.addStandby();
    }

    const reports = await load.finish();
    await whenSettled(cluster);
    await load.stopSweeping();
    const acknowledged = await load.acknowledged();
    const operations = await operationsOn(cluster.primary);
    const ledger = await load.provider.ledger();
    expect(lostAmong(acknowledged, operations)).toEqual([]);
    expect(faultsOf(operations, ledger)).toEqual([]);
    expect(await chainFaultsOn(cluster.primary)).toEqual([]);
    // Every intent whose caller came back has its one effect.
    const effects = effectsByKey(ledger);
    expect(acknowledged.filter(({ key }) => effects.get(key) !== 1)).toEqual([]);
    expect(acknowledged).toHaveLength(sum(reports, wanted));
    tell(reports, operations.size, ledger.length, acknowledged.length, startedAtMs);
  },
);

/** Nothing is in doubt any more, and nobody is asked: the sweepers have seen to what callers left. */
async function whenSettled(cluster: Cluster): Promise<void> {
  const open = async (): Promise<unknown> =>
    cluster.primary.sql(
      "select key, status, attempts from nevertwice.operations " +
        "where status = 'UNKNOWN' or (status = 'IN_PROGRESS' and attempts > 0)",
    );
  await expect.poll(open, { timeout: 90_000, interval: 250 }).toEqual([]);
}

function wanted({ intents, givenUp }: LoadReport): number {
  return intents - givenUp.length;
}

function sum(reports: readonly LoadReport[], count: (report: LoadReport) => number): number {
  return reports.reduce((total, report) => total + count(report), 0);
}

/** The figures of docs/internals/failover.md. */
function tell(
  reports: readonly LoadReport[],
  operations: number,
  effects: number,
  acknowledged: number,
  startedAtMs: number,
): void {
  const troubles: Record<string, number> = {};
  for (const report of reports) {
    for (const [name, times] of Object.entries(report.troubles)) {
      troubles[name] = (troubles[name] ?? 0) + times;
    }
  }
  const figures = {
    failovers,
    seconds: Math.round((performance.now() - startedAtMs) / 1000),
    calls: sum(reports, ({ intents }) => intents),
    acknowledged,
    givenUp: sum(reports, ({ givenUp }) => givenUp.length),
    operations,
    effects,
    troubles,
  };
  console.log(JSON.stringify(figures));
}
