/**
 * Kubernetes: brings an object into the state of a manifest, by server-side apply over the official
 * `@kubernetes/client-node` package (https://kubernetes.io/docs/reference/using-api/server-side-apply/).
 *
 * It is for `ensure`: applying twice leaves what applying once leaves. Each change is sent for the object
 * as it was just read (`resourceVersion`), so that one that comes late is refused by the API server, and
 * each leaves its version on the object, so that an older one never follows.
 *
 * @module
 */
import type { KubeConfig } from "@kubernetes/client-node";
import { canonicalJson, sha256Hex } from "../../base/canonical-json.ts";
import { kubernetes } from "./contracts/cloud.ts";
import type { EnsureBounds, EnsureParts } from "./shared/adapter.ts";
import { refuseProvider } from "./shared/contract-parts.ts";
import {
  type KubernetesLive,
  type KubernetesManifest,
  kubernetesApi,
} from "./shared/kubernetes-api.ts";
import { NewerVersion, classifyKubernetes, conflictOf } from "./shared/kubernetes-errors.ts";
import { ownsAll } from "./shared/managed-fields.ts";
import { sendOnce } from "./shared/send-once.ts";

export type { KubernetesLive, KubernetesManifest } from "./shared/kubernetes-api.ts";
export { FieldConflict, NewerVersion } from "./shared/kubernetes-errors.ts";

/** Options of {@link kubernetesApply}. */
export interface KubernetesOptions<Desired> extends EnsureBounds {
  /**
   * The object for these business arguments, with all the fields that are yours and no others. It must
   * give the same each time: no clock, no random number.
   */
  readonly manifest: (desired: Desired) => KubernetesManifest;
  /** One name for the cluster, the same in all workers: part of the target. No white space. */
  readonly cluster: string;
  /** As whom the fields are owned. Default `nevertwice`. Nobody else may apply under it. */
  readonly fieldManager?: string;
  /** Take fields over that another manager owns. Default false: refused with {@link FieldConflict}. */
  readonly force?: boolean;
  /** What "there" means beyond the manifest, e.g. that a roll-out has ended. Default: nothing. */
  readonly isReady?: (live: KubernetesLive) => boolean;
}

/** What was observed. */
export interface KubernetesState {
  /** Null: there is no such object. */
  readonly live: KubernetesLive | null;
  /** The version that was asked for. */
  readonly version: number;
}

const versionName = "nevertwice/version";
const manifestName = "nevertwice/manifest";
const keyName = "nevertwice/key";

/**
 * The parts of an ensure tool that applies a manifest. The state is there when this manifest was the last
 * that was applied, its fields are still ours, and the object's controller has seen it
 * (`status.observedGeneration`, for the kinds of `apps` and all others that have it).
 *
 * @throws {NeverTwiceError} TOOL_INVALID without a cluster, or without credentials for it.
 *
 * @example
 * const deploy = defineEnsureTool({
 *   name: "deploy_shop",
 *   arguments: z.object({ image: z.string(), build: z.int() }),
 *   version: ({ args }) => args.build,
 *   businessArguments: ["image"],
 *   ...(await kubernetesApply(config, {
 *     cluster: "prod-eu",
 *     manifest: ({ image }: { image: string }) => deploymentOf(image),
 *     timeoutMs: 30_000,
 *     flightMs: 60_000,
 *   })),
 * });
 */
export async function kubernetesApply<Desired>(
  config: KubeConfig,
  options: KubernetesOptions<Desired>,
): Promise<EnsureParts<Desired, KubernetesState>> {
  const {
    manifest,
    cluster,
    fieldManager = "nevertwice",
    force = false,
    isReady,
    ...bounds
  } = options;
  if (!/^\S+$/.test(cluster)) refuseProvider(kubernetes.title, "`cluster` must be one name");
  const api = await kubernetesApi(config);
  return {
    target: ({ args }) => targetOf(cluster, manifest(args)),
    observe: async (desired, { version, signal }) => ({
      live: await api.read(manifest(desired), signal),
      version,
    }),
    isConverged: ({ live, version }, desired) => {
      if (live === null) return false;
      if (live.metadata?.deletionTimestamp !== undefined) return "pending";
      const asked = versioned(manifest(desired), version);
      if (!isApplied(live, asked, fieldManager)) return false;
      return isObserved(live) && (isReady?.(live) ?? true) ? true : "pending";
    },
    apply: async (desired, call) => {
      const { version, signal, key } = call;
      const asked = versioned(manifest(desired), version);
      const live = await sendOnce(call, () => api.read(asked, signal));
      const newer = Number(live?.metadata?.annotations?.[versionName] ?? -1);
      if (newer > version) throw new NewerVersion(version, newer);
      const locked = lockedTo(live, annotated(asked, { [keyName]: key }));
      try {
        await sendOnce(call, (gate) => api.apply(locked, { fieldManager, force, signal, gate }));
      } catch (error) {
        throw conflictOf(error) ?? error;
      }
    },
    contract: { ...bounds, account: cluster, classify: classifyKubernetes },
  };
}

function targetOf(cluster: string, { apiVersion, kind, metadata }: KubernetesManifest): string {
  const { name, namespace } = metadata;
  return `${cluster} ${apiVersion} ${kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`;
}

function annotated(
  manifest: KubernetesManifest,
  more: Readonly<Record<string, string>>,
): KubernetesManifest {
  const { metadata } = manifest;
  return {
    ...manifest,
    metadata: { ...metadata, annotations: { ...metadata.annotations, ...more } },
  };
}

function versioned(manifest: KubernetesManifest, version: number): KubernetesManifest {
  return annotated(manifest, {
    [versionName]: String(version),
    [manifestName]: sha256Hex(canonicalJson(manifest)),
  });
}

/** Only for the object as it was read. Where there was none, it is made, and that has no such lock. */
function lockedTo(live: KubernetesLive | null, manifest: KubernetesManifest): KubernetesManifest {
  if (live?.metadata === undefined) return manifest;
  const { resourceVersion, uid } = live.metadata;
  const metadata = { ...manifest.metadata, resourceVersion, uid };
  return { ...manifest, metadata };
}

function isApplied({ metadata }: KubernetesLive, asked: KubernetesManifest, by: string): boolean {
  const isAsked = [versionName, manifestName].every(
    (name) => metadata?.annotations?.[name] === asked.metadata.annotations?.[name],
  );
  return isAsked && ownsAll(metadata?.managedFields, by, asked);
}

/** The controller has seen the last change. Those of `apps` always say so, others if they do at all. */
function isObserved({ apiVersion = "", metadata, status }: KubernetesLive): boolean {
  const { observedGeneration } = (status ?? {}) as { observedGeneration?: number };
  if (observedGeneration === undefined) return !apiVersion.startsWith("apps/");
  return observedGeneration >= (metadata?.generation ?? 0);
}
