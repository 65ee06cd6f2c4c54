/**
 * Upserts by external id over jsforce and real HTTP: one change per version, whoever asks.
 */
import jsforce, { type Connection } from "jsforce";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import type { EnsureBounds } from "../../../src/edges/providers/shared/adapter.ts";
import {
  type SalesforceOptions,
  salesforceUpsert,
} from "../../../src/edges/providers/salesforce.ts";
import {
  type RegisteredEnsureTool,
  createEnsure,
  createGuard,
  defineEnsureTool,
} from "../../../src/index.ts";
import { startSalesforce } from "../../support/providers/salesforce.ts";
import { describeStores } from "../../support/stores.ts";
import { describeEnsureAdapter, ensureBounds, ensureScene } from "./ensure-conformance.ts";

/** Logs in anew after a 401, as a service does: the adapter has to keep that in check. */
function connect(instanceUrl: string, accessToken = "token"): Connection {
  return new jsforce.Connection({
    instanceUrl,
    accessToken,
    version: "62.0",
    refreshFn: (_connection, done) => done(null, "another token"),
  });
}

const base = {
  org: "acme",
  sobject: "Order__c",
  externalIdField: "Shop_Id__c",
  versionField: "Revision__c",
  record: ({ size }: { size: number }) => ({
    id: "order 8812/a",
    fields: { Size__c: size, Due__c: "2026-12-02T10:00:00Z" },
  }),
} satisfies Partial<SalesforceOptions<{ size: number }>>;

async function toolOf(url: string, bounds: EnsureBounds): Promise<RegisteredEnsureTool> {
  return defineEnsureTool({
    name: "order_in_crm",
    arguments: z.object({ size: z.int(), version: z.int() }),
    version: ({ args }) => args.version,
    businessArguments: ["size"],
    ...(await salesforceUpsert(connect(url), { ...base, ...bounds })),
  }) as RegisteredEnsureTool;
}

const subject = { start: startSalesforce, tool: toolOf };

describeEnsureAdapter({
  ...subject,
  title: "Salesforce upserts",
  classes: { 400: "refused", 401: "not-executed", 403: "not-executed", 404: "refused" },
  passing: {
    credentials: [[401]],
    permission: [
      [400, "INSUFFICIENT_ACCESS_OR_READONLY"],
      [400, "INSUFFICIENT_ACCESS_ON_CROSS_REFERENCE_ENTITY"],
      [403, "API_CURRENTLY_DISABLED"],
    ],
    rate: [[403], [400, "UNABLE_TO_LOCK_ROW"]],
    quota: [[400, "STORAGE_LIMIT_EXCEEDED"]],
  },
});

describeStores("a record", (suite) => {
  it("never follows a newer version, of another ledger too", async () => {
    const { counterpart, call } = await ensureScene(subject, suite);
    const { store } = await suite.open();
    const ensure = createEnsure({ store, guard: await createGuard({ store }) });
    const tool = await toolOf(counterpart.url, ensureBounds);
    await ensure(tool, { size: 2, version: 2 }, { tenant: "acme" });
    expect(await call()).toBe("OPERATION_FAILED");
    expect(await call({ size: 3, version: 3 })).toBe("CHANGED");
    expect(counterpart.effects.map(({ resource }) => resource["Size__c"])).toEqual([2, 3]);
    expect(counterpart.sends[0]?.path).toBe(
      "/services/data/v62.0/sobjects/Order__c/Shop_Id__c/order%208812%2Fa",
    );
  });

  it("that somebody changed by hand is brought back", async () => {
    const { counterpart, call } = await ensureScene(subject, suite);
    await call();
    counterpart.plant({ ...counterpart.effects[0]?.resource, Size__c: 9 });
    expect(await call()).toBe("CHANGED");
    expect(await call()).toBe("THERE");
    expect(counterpart.effects).toHaveLength(3);
  });
});

describe("a Salesforce tool", () => {
  const options = { ...base, ...ensureBounds };

  it("isn't made of a connection that isn't logged in, nor without a name for the org", async () => {
    const invalid = { code: "TOOL_INVALID" };
    for (const connection of [undefined, {}, connect("http://127.0.0.1:9", "")])
      await expect(salesforceUpsert(connection as never, options)).rejects.toMatchObject(invalid);
    const named = salesforceUpsert(connect("http://127.0.0.1:9"), { ...options, org: "a b" });
    await expect(named).rejects.toMatchObject(invalid);
  });

  it("takes nothing but a record for a record, and nothing but a success for a success", async () => {
    const counterpart = await startSalesforce();
    onTestFinished(() => counterpart.close());
    const { target, observe, apply } = await salesforceUpsert(connect(counterpart.url), options);
    expect(target({ args: { size: 1 } })).toBe("acme Order__c Shop_Id__c order 8812/a");
    const call = { beforeWrite: () => {}, version: 1 } as never;
    await apply({ size: 1 }, call);
    const [effect] = counterpart.effects;
    if (effect === undefined) throw new Error("there is no effect");
    const { Id: _, ...rest } = effect.resource;
    effect.resource = rest;
    await expect(observe({ size: 1 }, call)).rejects.toThrow("holds no record");
    const { versionField: __, ...unversioned } = options;
    const parts = await salesforceUpsert(connect(counterpart.url), unversioned);
    counterpart.fault({ gateway: 200, effect: false });
    await expect(parts.apply({ size: 1 }, call)).rejects.toThrow("holds no success");
  });
});
