/**
 * A database that goes away in mid-call: the worker lives on, its call is ended before its lease is,
 * and what happened is found out later (cases 38, 41).
 */
import { expect, onTestFinished } from "vitest";
import { minutes } from "../../src/index.ts";
import { startWorker } from "../support/processes.ts";
import { type Crew, crewScenario } from "../support/worker-crew.ts";
import { type Place, placeOf } from "../support/worker-place.ts";
import { layWire } from "../support/worker-proxy.ts";
import type { StoreCommands } from "../support/worker-store.ts";

const leaseMs = 6000;

/** A store that one worker can be cut off from, and how. */
interface Cuttable {
  readonly place: Place;
  readonly cut: () => Promise<void>;
  readonly mend: () => Promise<void>;
}

crewScenario(
  "a database that is away for longer than the lease ends the call first",
  { renewLease: true, leaseMs, timeoutMs: 60_000 },
  async (crew) => {
    const { place, cut, mend } = await cuttable(crew);
    const [worker, other] = await Promise.all([
      crew.hire({ place, stopAt: "before-settle" }),
      crew.hire(),
    ]);
    crew.provider.fault({ gate: "long call" });
    const call = worker.call("run", { orderId: "8812" });
    await crew.provider.parked("long call");
    expect(await crew.statusOf()).toEqual(["IN_PROGRESS"]);
    await cut();
    await worker.reported("aborted");
    const [row] = await crew.opened.sql("select lease_until_ms from :schema.operations");
    expect(await worker.call("abortDueAtMs")).toBeLessThan(Number(row?.["lease_until_ms"]));
    await worker.reported("at before-settle");
    await mend();
    await worker.call("goOn");
    expect((await call).told).toBe("OUTCOME_UNKNOWN");
    expect(await crew.statusOf()).toEqual(["UNKNOWN"]);

    crew.provider.release("long call");
    await crew.age(minutes(1));
    expect((await other.call("run", { orderId: "8812" })).told).toBe("REPLAYED");
    expect((await worker.call("run", { orderId: "8812" })).told).toBe("REPLAYED");
    crew.assertEffects(1);
  },
);

crewScenario(
  "an effect is recorded once the database is back, or found when its worker died before that",
  {},
  async (crew) => {
    const { place, cut, mend } = await cuttable(crew);
    const [worker, other] = await Promise.all([crew.hire({ place }), crew.hire()]);
    const begin = async (orderId: string) => {
      crew.provider.fault({ gate: orderId, before: "reply" });
      const call = worker.call("run", { orderId });
      await crew.provider.parked(orderId);
      await cut();
      crew.provider.release(orderId);
      // It tries for as long as its lease lasts, and gives no answer before that.
      await expect(Promise.race([call, pastMs(1500)])).resolves.toBe("still trying");
      return { answer: call };
    };
    const patient = await begin("1");
    await mend();
    expect((await patient.answer).told).toBe("EXECUTED");
    expect(await crew.statusOf()).toEqual(["DONE"]);

    await begin("2");
    await worker.kill();
    await mend();
    expect((await crew.statusOf()).toSorted()).toEqual(["DONE", "IN_PROGRESS"]);
    await crew.age(minutes(1));
    expect((await other.call("run", { orderId: "2" })).told).toBe("REPLAYED");
    expect((await other.call("run", { orderId: "1" })).told).toBe("REPLAYED");
    expect(await crew.statusOf()).toEqual(["DONE", "DONE"]);
    crew.assertEffects(2);
  },
);

/** PostgreSQL is cut off at the wire; of a SQLite file a foreign process takes the write lock. */
async function cuttable({ opened }: Crew): Promise<Cuttable> {
  if (opened.kind === "sqlite") {
    const foreign = await startWorker<StoreCommands>("worker-store.ts");
    return {
      place: placeOf(opened),
      cut: () => foreign.call("lockFile", { location: opened.location }),
      mend: () => foreign.call("unlockFile"),
    };
  }
  const wire = await layWire(opened.location);
  onTestFinished(() => wire.close());
  return {
    place: { ...placeOf(opened), location: wire.url },
    cut: async () => wire.cut(),
    mend: async () => wire.mend(),
  };
}

function pastMs(spanMs: number): Promise<"still trying"> {
  return new Promise((resolve) => setTimeout(() => resolve("still trying"), spanMs));
}
