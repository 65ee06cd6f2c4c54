// A worker that is gone, or dying, fails the call that is made to it, and nothing else.
import { expect, it } from "vitest";
import { type Worker, startWorker } from "./processes.ts";
import type { StoreCommands } from "./worker-store.ts";

it("a call to a worker that is gone, or that dies while it is sent, is told so", async () => {
  const gone = await startWorker<StoreCommands>("worker-store.ts");
  await gone.kill();
  await expect(gone.call("unlockFile")).rejects.toMatchObject({ code: "GONE" });
  const dying = await startWorker<StoreCommands>("worker-store.ts");
  process.kill(dying.processId, "SIGKILL");
  await expect(dying.call("migrate")).rejects.toMatchObject({ code: "GONE" });
});

const kept: Worker<StoreCommands>[] = [];

it("a worker serves a second test", async () => {
  kept.push(await startWorker<StoreCommands>("worker-store.ts"));
});

it("and whoever kept it from the first one can't meddle", async () => {
  const worker = await startWorker<StoreCommands>("worker-store.ts");
  const [before] = kept;
  expect(before?.processId).toBe(worker.processId);
  await expect(before?.call("unlockFile")).rejects.toMatchObject({ code: "GONE" });
  await expect(before?.kill()).rejects.toMatchObject({ code: "GONE" });
});
