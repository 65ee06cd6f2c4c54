/**
 * A winner that has not committed yet: whoever claims the same key waits for it, and gets its row or
 * the key itself, never nothing (case 26).
 */
import { expect, it, onTestFinished } from "vitest";
import type { Store } from "../../src/index.ts";
import { type OpenStore, describeStores } from "../support/stores.ts";
import { claimParams } from "../support/worker-params.ts";
import {
  type OwnStore,
  overriding,
  ownStore,
  uncommittedStore,
} from "../support/worker-wrappers.ts";
import { scenario } from "../support/world.ts";

/** How the other worker's transaction ends while ours waits for it. */
const endings = ["commit", "rollback"] as const;

describeStores("a claim that meets an uncommitted one", (suite) => {
  it.each(endings)("waits, and is answered after the %s", async (ending) => {
    const opened = await suite.open();
    const other = closed(await uncommittedStore(opened));
    const theirs = claimParams("k");
    const ours = claimParams("k");
    await other.store.claim(theirs);
    const patient = patientStore(opened);
    const claiming = patient.store.claim(ours);
    await patient.whenBlocked();
    await other.end(ending);
    const record = await claiming;
    expect(record.acquisitionId).toBe((ending === "commit" ? theirs : ours).acquisitionId);
    expect(await opened.sql("select key from :schema.operations")).toHaveLength(1);
  });
});

for (const ending of endings) {
  const title = `a call that meets an uncommitted claim is right after its ${ending}`;
  scenario(title, {}, async (world) => {
    const { opened } = world;
    const other = closed(await uncommittedStore(opened));
    const patient = patientStore(opened, world.clock.read);
    const store = overriding(patient.store, {
      // Another worker's claim of the same key slips in right before ours.
      claim: async (params) => {
        await other.store.claim({ ...params, acquisitionId: "another worker's" });
        const claiming = patient.store.claim(params);
        await patient.whenBlocked();
        await other.end(ending);
        return claiming;
      },
    });
    const first = await world.run({ guard: await world.another({ store }) });
    expect(first.told).toBe(ending === "commit" ? "IN_PROGRESS" : "EXECUTED");
    world.assertEffects(ending === "commit" ? 0 : 1);
    if (ending === "rollback") {
      expect((await world.run()).told).toBe("REPLAYED");
      world.assertEffects(1);
    }
  });
}

/** A store of its own, with a look at whether it waits for a lock. */
interface PatientStore {
  readonly store: Store;
  whenBlocked(): Promise<void>;
}

function patientStore(opened: OpenStore, clock?: () => number): PatientStore {
  let tries = 0;
  const own = ownStore(opened, {
    clock,
    watch: (sql) => void (tries += Number(sql === "BEGIN IMMEDIATE")),
    // SQLite waits inside its driver: short waits give the event loop a turn now and then.
    busyTimeoutMs: 10,
    pool: { max: 1 },
  });
  const waiting =
    "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
  const isBlocked = async (): Promise<boolean> =>
    opened.kind === "sqlite" ? tries > 1 : (await opened.sql(waiting)).length === 1;
  return {
    store: closed(own).store,
    whenBlocked: () => expect.poll(isBlocked).toBe(true),
  };
}

function closed<Opened extends OwnStore>(store: Opened): Opened {
  onTestFinished(() => store.close());
  return store;
}
