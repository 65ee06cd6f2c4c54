/**
 * A worker of `verify`, as a process of its own: makes one call, says so after its effect, and waits
 * there to be killed. It ends as well when its parent does.
 *
 * @module
 */
import { errorText } from "../../base/errors.ts";
import { createGuard } from "../../guard/create-guard.ts";
import type { Store } from "../../ledger/store.ts";
import type { ToolCheck } from "../../testing/check-tool/index.ts";
import { openStore } from "../open-store.ts";
import type { Job, Word } from "./job.ts";
import { loadChecks } from "./load-checks.ts";

process.once("disconnect", () => process.exit(1));
process.once("message", (job) => void start(job as Job));

async function start(job: Job): Promise<void> {
  try {
    await work(job);
    say({ ended: "the call ended before it came to the point after its effect" });
  } catch (error) {
    say({ ended: errorText(error) });
  }
}

async function work(job: Job): Promise<void> {
  const check = (await loadChecks(job.file))[job.index];
  if (check === undefined) throw new Error("the file holds other checks in another process");
  const example = await check.example(job.n, job.id);
  const guard = await createGuard({
    store: await storeFor(job, check),
    onPoint: async ({ name }) => {
      if (name !== "after-execute") return;
      say({ effects: await check.countEffects(example) });
      await new Promise<never>(() => {});
    },
  });
  await guard.run(check.tool, example.args, example.context);
}

async function storeFor(job: Job, check: ToolCheck): Promise<Store> {
  const clock = (): number => Date.now() + job.clockAheadMs;
  if (job.store !== null) {
    const { location, schema } = job.store;
    const named = { store: location, ...(schema === null ? {} : { schema }), clock };
    return (await openStore(named, "new")).store;
  }
  if (check.store === undefined) throw new Error("there is no store");
  return check.store(clock);
}

function say(word: Word): void {
  process.send?.(word);
}
