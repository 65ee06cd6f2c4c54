/**
 * The same failover to a standby that nobody waited for: what was acknowledged IS lost, and with it the
 * only trace of a request. That is what start-up and doctor warn of, and it shows that the judge of the
 * synchronous failovers can fail.
 */
import { expect, it, onTestFinished } from "vitest";
import { Cluster, isClusterMissing } from "./cluster.ts";
import { effectsByKey, faultsOf, lostAmong, migrate, operationsOn } from "./judge.ts";
import { Load } from "./load.ts";

it.skipIf(isClusterMissing())(
  "a failover to an asynchronous standby that is behind loses what was acknowledged",
  { timeout: 240_000 },
  async () => {
    const cluster = await Cluster.start("asynchronous");
    onTestFinished(() => cluster.stop());
    await migrate(cluster.url);
    await cluster.addStandby();
    const load = await Load.open(cluster.url, 4);
    const warned = [expect.stringContaining(`${cluster.standbyName} is asynchronous`)];
    expect(load.warnings).toEqual([warned, warned]);

    cluster.holdStandby();
    await load.start();
    await load.whenAcknowledged(20);
    await load.finish();
    await load.stopSweeping();
    const acknowledged = await load.acknowledged();
    expect(lostAmong(acknowledged, await operationsOn(cluster.primary))).toEqual([]);

    await cluster.killPrimary();
    const promoted = await cluster.promote();
    const left = await operationsOn(promoted);
    const lost = lostAmong(acknowledged, left);
    expect([left.size, lost.length]).toEqual([0, acknowledged.length]);
    const before = await load.provider.ledger();
    expect(faultsOf(left, before)).toHaveLength(before.length);

    // Every caller comes again with the intent it had, and the guard knows of none.
    cluster.lead();
    for (const { tool, orderId } of distinct(acknowledged)) await load.once(tool, orderId);
    const effects = effectsByKey(await load.provider.ledger());
    const counts = { keyed: new Set<number>(), asked: new Set<number>() };
    for (const { tool, key } of acknowledged) counts[tool].add(effects.get(key) ?? 0);
    // The provider that honours keys knows its key again. The other one is sent a second request.
    expect(counts).toEqual({ keyed: new Set([1]), asked: new Set([2]) });
  },
);

function distinct<Call extends { readonly key: string }>(calls: readonly Call[]): readonly Call[] {
  return [...new Map(calls.map((call) => [call.key, call])).values()];
}
