/**
 * Server-side apply over the official client and real HTTP: one change per version, whoever asks; an older
 * version never follows a newer one, and nobody's fields are taken.
 */
import { KubeConfig } from "@kubernetes/client-node";
import { describe, expect, it, onTestFinished } from "vitest";
import { FieldConflict, kubernetesApply } from "../../../src/edges/providers/kubernetes.ts";
import { type RegisteredEnsureTool, createEnsure, createGuard } from "../../../src/index.ts";
import { startWorkers } from "../../support/processes.ts";
import { ringingRuntime } from "../../support/store-faults.ts";
import type { EnsureBounds } from "../../../src/edges/providers/shared/adapter.ts";
import type { Counterpart } from "../../support/providers/counterpart.ts";
import {
  changeBy,
  liveObject,
  observe,
  startKubernetes,
} from "../../support/providers/kubernetes.ts";
import {
  type ShopOptions,
  kubeConfigOf,
  shopManifest,
  shopPath,
  shopTool,
} from "../../support/shop-deployment.ts";
import { describeStores } from "../../support/stores.ts";
import { placeOf } from "../../support/worker-place.ts";
import type { ShopCommands } from "../../support/worker-shop.ts";
import {
  type EnsureSubject,
  describeEnsureAdapter,
  ensureBounds,
  ensureScene,
} from "./ensure-conformance.ts";

const path = shopPath;

async function toolOf(
  url: string,
  options: Partial<ShopOptions> = {},
): Promise<RegisteredEnsureTool> {
  return shopTool(url, { ...ensureBounds, ...options });
}

const subject: EnsureSubject = {
  title: "Kubernetes server-side apply",
  start: () => startKubernetes(),
  tool: toolOf,
  classes: {
    400: "refused",
    401: "not-executed",
    403: "not-executed",
    404: "not-executed",
    409: "not-executed",
    422: "refused",
    429: "not-executed",
  },
  // A quota that is used up is forbidden, too.
  passing: { credentials: [[401]], permission: [[403]], quota: [[403]], rate: [[429]] },
};

describeEnsureAdapter(subject);

function specOf(counterpart: Counterpart): Record<string, unknown> {
  return liveObject(counterpart, path)["spec"] as Record<string, unknown>;
}

const second = { size: 2, version: 2 };

describeStores("a manifest", (suite) => {
  it("leaves the fields of others alone, and is applied again where its own were changed", async () => {
    const { counterpart, call } = await ensureScene(subject, suite);
    await call();
    changeBy(counterpart, path, "kubectl", { spec: { paused: true } });
    observe(counterpart, path);
    expect(await call()).toBe("THERE");
    changeBy(counterpart, path, "kubectl", { metadata: { labels: { app: "other" } } });
    expect(await call()).toBe("OPERATION_FAILED");
    expect(counterpart.effects).toHaveLength(3);
    const forced = {
      ...subject,
      tool: (url: string, bounds: EnsureBounds) => toolOf(url, { ...bounds, force: true }),
    };
    const other = await ensureScene(forced, suite);
    await other.call();
    changeBy(other.counterpart, path, "kubectl", { metadata: { labels: { app: "other" } } });
    expect(await other.call()).toBe("CHANGED");
    expect(liveObject(other.counterpart, path)["metadata"]).toMatchObject({
      labels: { app: "web" },
    });
    expect(other.counterpart.effects).toHaveLength(3);
  });

  it("that meets another manager's field is refused for good, and the manager is named", async () => {
    const { counterpart, call, opened } = await ensureScene(subject, suite);
    await call();
    changeBy(counterpart, path, "hpa-controller", { spec: { replicas: 7 } });
    const { store } = opened;
    const ensure = createEnsure({ store, guard: await createGuard({ store }) });
    const tool = await toolOf(counterpart.url);
    const context = { tenant: "acme" };
    const refused = expect.objectContaining({
      code: "OPERATION_FAILED",
      message: expect.stringContaining("hpa-controller owns .spec.replicas"),
    }) as unknown;
    const details = { error: { name: "FieldConflict" } };
    await expect(ensure(tool, second, context)).rejects.toEqual(refused);
    await expect(ensure(tool, second, context)).rejects.toMatchObject({ details });
    expect(counterpart.sends).toHaveLength(2);
    expect(specOf(counterpart)["replicas"]).toBe(7);
  });

  it("never follows a newer version, of another ledger too", async () => {
    const one = await ensureScene(subject, suite);
    const { store } = await suite.open();
    const ensure = createEnsure({ store, guard: await createGuard({ store }) });
    const tool = await toolOf(one.counterpart.url);
    await ensure(tool, second, { tenant: "acme" });
    expect(await one.call()).toBe("OPERATION_FAILED");
    expect(one.counterpart.sends).toHaveLength(1);
    expect(specOf(one.counterpart)["replicas"]).toBe(2);
    expect(await one.call({ size: 3, version: 3 })).toBe("CHANGED");
    expect(one.counterpart.effects).toHaveLength(2);
  });

  it("that comes late is refused by the API server, and the newer one stays", async () => {
    const runtime = ringingRuntime(ensureBounds.timeoutMs);
    const { counterpart, call, hastyCall, advance } = await ensureScene(subject, suite, (options) =>
      createGuard({ ...options, runtime }),
    );
    await call();
    counterpart.fault({ hold: true });
    const late = hastyCall(second);
    await counterpart.held();
    runtime.ring();
    expect(await late).toBe("OUTCOME_UNKNOWN");
    advance();
    expect(await call({ size: 3, version: 3 })).toBe("CHANGED");
    // Far beyond the flight that was promised.
    counterpart.release();
    await expect.poll(() => counterpart.sends.length).toBe(3);
    expect(await call({ size: 3, version: 3 })).toBe("THERE");
    expect(specOf(counterpart)["replicas"]).toBe(3);
    expect(counterpart.effects).toHaveLength(2);
  });

  it("isn't there before its controller has seen it and it is ready", async () => {
    const start = (): Promise<Counterpart> => startKubernetes(() => true);
    const isReady: ShopOptions["isReady"] = ({ status }) =>
      (status as { readyReplicas?: number }).readyReplicas === 1;
    const tool = (url: string, bounds: EnsureBounds) => toolOf(url, { ...bounds, isReady });
    const { counterpart, call, hastyCall } = await ensureScene({ start, tool }, suite);
    expect(await hastyCall()).toBe("OUTCOME_UNKNOWN");
    observe(counterpart, path, { readyReplicas: 0 });
    expect(await hastyCall()).toBe("OUTCOME_UNKNOWN");
    observe(counterpart, path, { readyReplicas: 1 });
    expect(await call()).toBe("THERE");
    expect([counterpart.sends.length, counterpart.effects.length]).toEqual([1, 1]);
  });
});

describeStores("two processes", (suite) => {
  it("that are told of a version several times each make one change, though its answer is lost", async () => {
    const opened = await suite.open();
    const counterpart = await startKubernetes();
    onTestFinished(() => counterpart.close());
    const workers = await startWorkers<ShopCommands>("worker-shop.ts", 2);
    const order = { place: placeOf(opened), url: counterpart.url, ...second };
    counterpart.fault({ reset: "after" });
    const asked = [...workers, ...workers, ...workers].map((worker) => worker.call("size", order));
    expect((await Promise.all(asked)).filter(Boolean)).toHaveLength(1);
    expect([counterpart.sends.length, counterpart.effects.length]).toEqual([1, 1]);
  });
});

describe("a Kubernetes tool", () => {
  const options = { ...ensureBounds, cluster: "prod-eu", manifest: shopManifest };

  it("isn't made without a cluster or credentials", async () => {
    const none = new KubeConfig();
    const bare = kubeConfigOf("https://10.0.0.1", {});
    const file = kubeConfigOf("https://10.0.0.1", { certFile: "/nowhere/client.crt" });
    for (const config of [none, bare, file])
      await expect(kubernetesApply(config, options)).rejects.toMatchObject({
        code: "TOOL_INVALID",
      });
    const config = kubeConfigOf("https://10.0.0.1");
    const named = kubernetesApply(config, { ...options, cluster: "prod eu" });
    await expect(named).rejects.toMatchObject({ code: "TOOL_INVALID" });
  });

  it("names its target by cluster, kind, namespace and name", async () => {
    const { target } = await kubernetesApply(kubeConfigOf("https://10.0.0.1"), options);
    expect(target({ args: { size: 1 } })).toBe("prod-eu apps/v1 Deployment shop/web");
  });

  it("keeps what the client's models don't know, and drops fields that it applies no more", async () => {
    const counterpart = await startKubernetes();
    onTestFinished(() => counterpart.close());
    const spec = { replicas: 1, ofTomorrow: { a: 1 } };
    const parts = await kubernetesApply(kubeConfigOf(counterpart.url), {
      ...options,
      manifest: ({ size }: { size: number }) => ({
        ...shopManifest({ size }),
        spec: size === 1 ? spec : { replicas: 2 },
      }),
    });
    const { signal } = new AbortController();
    const call = { signal, beforeWrite: () => {}, key: "k", target: "t" };
    const state = async (size: number) => {
      await parts.apply({ size }, { ...call, version: size } as never);
      const seen = await parts.observe({ size }, { version: size, signal } as never);
      expect(parts.isConverged(seen, { size })).toBe(true);
      return specOf(counterpart);
    };
    expect(await state(1)).toEqual(spec);
    expect(await state(2)).toEqual({ replicas: 2 });
  });

  it("throws a conflict with its managers and fields, and what was not sent as not sent", async () => {
    const counterpart = await startKubernetes();
    onTestFinished(() => counterpart.close());
    const {
      apply,
      contract,
      observe: look,
    } = await kubernetesApply(kubeConfigOf(counterpart.url), options);
    const { signal } = new AbortController();
    const notSent = (cause: unknown): Error => new Error("not sent", { cause });
    const call = {
      signal,
      beforeWrite: () => {},
      notSent,
      key: "k",
      target: "t",
      version: 1,
    } as never;
    await apply({ size: 1 }, call);
    changeBy(counterpart, path, "kubectl", { spec: { replicas: 5 } });
    const error = await apply({ size: 1 }, call).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(FieldConflict);
    expect(error).toMatchObject({ managers: ["kubectl"], fields: [".spec.replicas"] });
    expect(contract.classify?.(error)).toBe("definitive");
    const nowhere = await kubernetesApply(kubeConfigOf(counterpart.url), {
      ...options,
      manifest: ({ size }: { size: number }) => ({
        ...shopManifest({ size }),
        metadata: { name: "web" },
      }),
    });
    await expect(nowhere.apply({ size: 1 }, call)).rejects.toThrow("not sent");
    const observation = { version: 1, signal } as never;
    await expect(nowhere.observe({ size: 1 }, observation)).rejects.toThrow("names no namespace");
    expect((await look({ size: 1 }, observation)).live?.metadata?.name).toBe("web");
    expect(counterpart.sends).toHaveLength(2);
  });
});
