/**
 * The story: the CI's hook for build 42 is delivered twice, and the one for build 41 comes late.
 *
 * @module
 */
import Database from "better-sqlite3";
import {
  createEnsure,
  createFlows,
  createGuard,
  createInbox,
  flow,
  isNeverTwiceError,
  runIdOfEvent,
} from "nevertwice";
import { SqliteStore } from "nevertwice/sqlite";
import { createProviderClient, startFakeProvider } from "nevertwice/testing";
import { type Build, rollOut } from "./roll-out.ts";

/** What there is in the end. */
export interface RolloutStory {
  /** Builds that were rolled out, in the platform's own ledger. */
  readonly builds: readonly number[];
  /** What became of each delivery. */
  readonly deliveries: readonly string[];
  /** What each run came to, by build. */
  readonly runs: Readonly<Record<string, unknown>>;
}

const tenant = "acme";

/** Plays the story on a SQLite file that is new. `tell` gets one line per delivery. */
export async function playRollout(
  file: string,
  tell: (line: string) => void,
): Promise<RolloutStory> {
  const provider = await startFakeProvider();
  const client = createProviderClient({ url: provider.url });
  const database = new Database(file);
  try {
    const store = new SqliteStore(database);
    await store.migrate();
    const guard = await createGuard({ store });
    const ensure = createEnsure({ store, guard });
    const tool = rollOut(client);
    // `ensure` may be asked again at any time, so a step that records its answer is enough.
    const deploy = flow("deploy", async (f, build: Build) =>
      f.decide("roll-out", async () => {
        try {
          const { changed } = await ensure(tool, build, { tenant: f.tenant });
          return changed ? "rolled out" : "was there";
        } catch (error) {
          if (isNeverTwiceError(error, "STALE_VERSION")) return "a newer build is there";
          throw error;
        }
      }),
    );
    const flows = createFlows({ store, guard, flows: [deploy] });
    const inbox = createInbox({ store });
    const deliveries: string[] = [];
    const runs: Record<string, unknown> = {};
    for (const build of [42, 42, 41]) {
      const hook = { tenant, consumer: "deploy", source: "ci", id: `build-${build}` };
      const data = { environment: "production", build };
      let runId: string | undefined;
      const { status } = await inbox.receive(
        { ...hook, type: "build.passed", data },
        async (tx, event) => {
          runId = runIdOfEvent(event);
          await flows.start(deploy, { tenant, runId }, data, tx);
        },
      );
      deliveries.push(status);
      tell(`the hook for build ${build} is ${status}`);
      await flows.workOnce();
      if (runId === undefined) continue;
      const state = await flows.read({ tenant, runId });
      runs[build] = state.status === "DONE" ? state.output : state.status;
      tell(`build ${build}: ${String(runs[build])}`);
    }
    return { builds: provider.ledger().map(({ body }) => Number(body["build"])), deliveries, runs };
  } finally {
    client.close();
    await provider.close();
    database.close();
  }
}
