/** What the flows of an engine refuse, whichever engine it is. */
import { expect, it } from "vitest";
import { runOnEngine } from "../../../src/edges/engines/shared/engine-context.ts";
import { createEngineWorker } from "../../../src/edges/engines/shared/engine-worker.ts";
import { flow } from "../../../src/index.ts";
import { sqliteSuite } from "../../support/stores.ts";

it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, null])(
  "keeps no approvals for a span of %s",
  (retentionMs) => {
    const options = { store: {}, guard: {}, tools: [], retentionMs };
    expect(() => createEngineWorker(options as never)).toThrow(
      expect.objectContaining({ code: "CONFIGURATION_INVALID" }),
    );
  },
);

it("two flows with one run id have events of their own, and no approvals of each other", async () => {
  const { store } = await sqliteSuite.open();
  const worker = createEngineWorker({ store, guard: {} as never, tools: [] });
  const by = (name: string, request: object): Promise<unknown> =>
    worker.perform({ tenant: "acme", runId: "ticket-1", flow: name, version: 1 }, request as never);
  const emit = { kind: "emit", step: "told", type: "told", subject: null };
  await by("refund", { ...emit, data: { flow: "refund" } });
  await by("refund", { ...emit, data: { flow: "refund" } });
  await by("notify", { ...emit, data: { flow: "notify" } });
  const all = { tenant: "acme", status: null, beforePosition: null, limit: 10 } as const;
  expect(await store.outbox.list(all)).toHaveLength(2);
  const approve = { kind: "approve", step: "manager", tool: null, payload: 1, options: {} };
  expect(await by("refund", { ...approve, waitMs: 1000 })).toMatchObject({ kind: "open" });
  const refused = { kind: "ended", value: expect.stringContaining("PAYLOAD_MISMATCH") as string };
  expect(await by("notify", { ...approve, waitMs: 1000 })).toMatchObject(refused);
  await by("notify", { kind: "end", step: "end", error: null });
  const run = await store.runs.read({ tenant: "acme", runId: "ticket-1" });
  expect(run).toMatchObject({ flow: "engine:refund", status: "RUNNING" });
});

it("code that ends while a step is under way is no success", async () => {
  const journal = { sideBySide: false, perform: () => new Promise(() => {}) };
  const made = flow("refund", async (f) => void f.act("pay", { name: "pay" } as never, {}));
  const run = { tenant: "acme", runId: "ticket-1", flow: "refund", version: 1 };
  const ended = runOnEngine(made as never, run, {}, journal as never);
  await expect(ended).rejects.toMatchObject({ code: "STEP_INVALID", details: { step: "pay" } });
});
