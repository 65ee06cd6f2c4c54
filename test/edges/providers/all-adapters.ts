/**
 * Every adapter that there is, for tables that have to hold all of them.
 */
import { readdirSync } from "node:fs";

const folder = new URL("../../../src/edges/providers/", import.meta.url);

export type Adapter = (sdk: unknown, options: unknown) => Promise<unknown>;

/** By name. Classes beside them are errors. */
export async function allAdapters(): Promise<ReadonlyMap<string, Adapter>> {
  const files = readdirSync(folder).filter((name) => name.endsWith(".ts") && name !== "index.ts");
  const adapters = new Map<string, Adapter>();
  for (const file of files) {
    const module = (await import(new URL(file, folder).href)) as Record<string, unknown>;
    for (const [name, value] of Object.entries(module)) {
      if (typeof value === "function" && /^[a-z]/.test(name)) adapters.set(name, value as Adapter);
    }
  }
  return adapters;
}

/** Enough for every adapter to be made. */
export const adapterOptions = {
  request: () => ({}),
  manifest: () => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } }),
  record: () => ({ id: "1", fields: {} }),
  cluster: "prod",
  org: "acme",
  sobject: "Order__c",
  externalIdField: "Shop_Id__c",
  marker: { table: "markers", partitionKey: "pk" },
  stateMachineType: "STANDARD",
  timeoutMs: 1000,
  flightMs: 1000,
};
