/**
 * Processes that work on a flow are killed (SIGKILL) at each of its points, twenty in all on each
 * store. Every run ends with one prompt once that is recorded, one refund, and one event.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { type FlowPointName, flowPointNames } from "../../src/flow/environment.ts";
import { startFakeProvider } from "../../src/testing/fake-provider/index.ts";
import { startWorker } from "../support/processes.ts";
import { type StoreSuite, describeStores } from "../support/stores.ts";
import type { FlowCommands } from "../support/worker-flow.ts";
import { placeOf } from "../support/worker-place.ts";

/** How often the process of a run is killed; after `run-settled` there is nothing left to kill. */
const kills: Readonly<Record<FlowPointName, number>> = {
  "run-claimed": 3,
  "before-step": 3,
  "step-started": 2,
  "step-asked": 3,
  "step-acted": 2,
  "step-recorded": 3,
  "before-suspend": 1,
  "before-run-settle": 2,
  "run-settled": 1,
};

async function openHall(suite: StoreSuite, passThrough: boolean) {
  const opened = await suite.open();
  const provider = await startFakeProvider();
  const folder = mkdtempSync(join(tmpdir(), "nevertwice-kills-"));
  const promptsFile = join(folder, "prompts");
  onTestFinished(async () => {
    await provider.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const order = {
    place: placeOf(opened),
    providerUrl: provider.url,
    promptsFile,
    passThrough,
  };
  /** Kills so many processes at the point, and lets one more finish the run. */
  const play = async (point: FlowPointName, count: number, undo = false): Promise<string> => {
    const todo = { ...order, runId: point, undo };
    for (let kill = 0; kill < count; kill += 1) {
      const worker = await startWorker<FlowCommands>("worker-flow.ts");
      const working = worker.call("work", {
        ...todo,
        standAt: point,
        // The second one to die takes the first undo from the store, and dies after the next.
        passes: undo ? kill : 0,
      });
      await Promise.race([
        worker.reported("stands"),
        working.then((status) => Promise.reject(new Error(`${point}: it is ${status} already`))),
      ]);
      await worker.kill();
      // The lease of the dead is over.
      await opened.sql(`update :schema.runs set due_at_ms = 0 where run_id = '${point}'
        and status = 'RUNNING'`);
    }
    const last = await startWorker<FlowCommands>("worker-flow.ts");
    return last.call("work", todo);
  };
  const prompts = (runId: string): number =>
    readFileSync(promptsFile, "utf8")
      .split("\n")
      .filter((line) => line === runId).length;
  const refunds = (runId: string): number =>
    provider.ledger().filter(({ body }) => body["orderId"] === runId).length;
  /** What the provider made for the run, in order. */
  const ledger = (runId: string): readonly string[] =>
    provider
      .ledger()
      .map(({ operation, body }) => `${operation} ${body["orderId"] as string}`)
      .filter((entry) => entry.includes(` ${runId} `));
  return { store: opened.store, play, prompts, refunds, ledger };
}

describeStores("processes killed in the middle of a flow", (suite) => {
  it("leave one prompt, one refund and one event, wherever they die", async () => {
    expect(Object.values(kills).reduce((sum, count) => sum + count)).toBe(20);
    const hall = await openHall(suite, false);
    const waiting = [...flowPointNames];
    const crew = async (): Promise<void> => {
      for (let point = waiting.shift(); point !== undefined; point = waiting.shift()) {
        expect(await hall.play(point, kills[point]), point).toBe("DONE");
      }
    };
    await Promise.all([crew(), crew(), crew()]);
    for (const point of flowPointNames) {
      // Asked and not yet recorded: nothing depended on those answers.
      const unrecorded = point === "step-asked" ? kills[point] : 0;
      expect(hall.prompts(point), `prompts, ${point}`).toBe(unrecorded + 1);
      expect(hall.refunds(point), `refunds, ${point}`).toBe(1);
    }
    const all = { tenant: null, status: null, beforePosition: null, limit: 100 };
    const events = await hall.store.outbox.list(all);
    expect(events.map(({ subject }) => String(subject)).toSorted()).toEqual(
      flowPointNames.toSorted(),
    );
    expect(new Set(events.map(({ id }) => id)).size).toBe(flowPointNames.length);
  });

  it("leave each refund to be taken back once, in reverse order, wherever they die", async () => {
    const hall = await openHall(suite, false);
    // The process of each point dies before the first undo is sent, after each, and after the last.
    const deaths = { "step-started": 1, "step-acted": 2, "step-recorded": 1 } as const;
    const points = Object.keys(deaths) as (keyof typeof deaths)[];
    await Promise.all(
      points.map(async (point) => {
        expect(await hall.play(point, deaths[point], true), point).toBe("DONE");
      }),
    );
    for (const point of points) {
      expect(hall.ledger(point)).toEqual([
        `refund ${point} 1`,
        `refund ${point} 2`,
        `take-back ${point} 2`,
        `take-back ${point} 1`,
      ]);
    }
  });

  it("would refund twice without the guard", async () => {
    const hall = await openHall(suite, true);
    await hall.play("step-acted", 1);
    expect(hall.refunds("step-acted")).toBe(2);
  });
});
