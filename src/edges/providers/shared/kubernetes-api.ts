/**
 * The official client, with one send per change: reads and applies any kind of object.
 *
 * @module
 */
import {
  HttpMethod,
  IsomorphicFetchHttpLibrary,
  type KubeConfig,
  type KubernetesObject,
  KubernetesObjectApi,
  PatchStrategy,
  ServerConfiguration,
  type V1APIResourceList,
  createConfiguration,
} from "@kubernetes/client-node";
import { kubernetes } from "../contracts/cloud.ts";
import { refuseProvider } from "./contract-parts.ts";
import { statusOf } from "./kubernetes-errors.ts";
import type { SendGate } from "./send-once.ts";

/** An object as an author writes it down: plain JSON, with its name. */
export interface KubernetesManifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [part: string]: unknown;
}

/** An object as the API server shows it. */
export type KubernetesLive = KubernetesObject & { readonly [part: string]: unknown };

/** How a change is sent. */
export interface ApplyOptions {
  readonly fieldManager: string;
  readonly force: boolean;
  readonly signal: AbortSignal;
  readonly gate: SendGate;
}

/** What the adapter asks of an API server. */
export interface KubernetesApi {
  /** Null: the API server itself says that it isn't there. */
  read(manifest: KubernetesManifest, signal: AbortSignal): Promise<KubernetesLive | null>;
  apply(manifest: KubernetesManifest, options: ApplyOptions): Promise<KubernetesLive>;
}

/**
 * Connects to the current cluster of the configuration.
 *
 * @throws {NeverTwiceError} TOOL_INVALID without a cluster, or without credentials for it.
 */
export async function kubernetesApi(config: KubeConfig): Promise<KubernetesApi> {
  const { title } = kubernetes;
  const server = config?.getCurrentCluster?.()?.server;
  if (server === undefined) refuseProvider(title, "it needs a KubeConfig with a current cluster");
  await checkCredentials(config);
  const known: Record<string, V1APIResourceList> = {};
  return {
    read: async (manifest, signal) => {
      try {
        return await new ObjectClient(config, server, known, signal).get(manifest);
      } catch (error) {
        const status = statusOf(error);
        const isAbsent = status?.reason === "NotFound" && status.name === manifest.metadata.name;
        if (isAbsent) return null;
        throw error;
      }
    },
    apply: (manifest, { signal, gate, ...how }) =>
      new ObjectClient(config, server, known, signal, gate).apply(manifest, how),
  };
}

async function checkCredentials(config: KubeConfig): Promise<void> {
  const found: { auth?: unknown; cert?: unknown; pfx?: unknown; headers?: object } = {};
  try {
    await config.applyToHTTPSOptions(found as Parameters<KubeConfig["applyToHTTPSOptions"]>[0]);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    refuseProvider(kubernetes.title, `the KubeConfig's credentials can't be had (${reason})`);
  }
  const { auth, cert, pfx, headers = {} } = found;
  if (auth !== undefined || cert !== undefined || pfx !== undefined) return;
  if (Object.keys(headers).some((name) => name.toLowerCase() === "authorization")) return;
  refuseProvider(kubernetes.title, "the KubeConfig's current user has no credentials");
}

/**
 * The client's own `patch` keeps only fields that its models know, and its paths are lower case; so both
 * requests are put together here, and sent by it.
 */
class ObjectClient extends KubernetesObjectApi {
  constructor(
    config: KubeConfig,
    server: string,
    known: Record<string, V1APIResourceList>,
    signal: AbortSignal,
    gate?: SendGate,
  ) {
    const library = new IsomorphicFetchHttpLibrary();
    super(
      createConfiguration({
        baseServer: new ServerConfiguration(server, {}),
        authMethods: { default: config },
        httpApi: {
          send: (request) => {
            request.setSignal(signal);
            if (request.getHttpMethod() === HttpMethod.PATCH) gate?.pass();
            return library.send(request);
          },
        },
      }),
    );
    this.apiVersionResourceCache = known;
  }

  async get(manifest: KubernetesManifest): Promise<KubernetesLive> {
    const { baseServer } = this.configuration;
    const request = baseServer.makeRequestContext(await this.#pathOf(manifest), HttpMethod.GET);
    request.setHeaderParam("Accept", "application/json");
    return shown(await this.requestPromise(request), manifest);
  }

  async apply(
    manifest: KubernetesManifest,
    { fieldManager, force }: Pick<ApplyOptions, "fieldManager" | "force">,
  ): Promise<KubernetesLive> {
    const { baseServer } = this.configuration;
    const request = baseServer.makeRequestContext(await this.#pathOf(manifest), HttpMethod.PATCH);
    request.setHeaderParam("Accept", "application/json");
    request.setHeaderParam("Content-Type", PatchStrategy.ServerSideApply);
    request.setQueryParam("fieldManager", fieldManager);
    request.setQueryParam("force", String(force));
    // JSON is YAML.
    request.setBody(JSON.stringify(manifest));
    return shown(await this.requestPromise(request), manifest);
  }

  async #pathOf({ apiVersion, kind, metadata }: KubernetesManifest): Promise<string> {
    const resource = await this.resource(apiVersion, kind);
    if (resource === undefined) throw new Error(`${apiVersion} has no kind ${kind}`);
    const { name, namespace } = metadata;
    if (resource.namespaced && namespace === undefined)
      throw new Error(`the manifest of ${kind} ${name} names no namespace`);
    const space = resource.namespaced ? `/namespaces/${encodeURIComponent(namespace ?? "")}` : "";
    return `${this.apiVersionPath(apiVersion)}${space}/${resource.name}/${encodeURIComponent(name)}`;
  }
}

/** A success has to be the object that was asked for. */
function shown(answer: KubernetesObject, { kind, metadata }: KubernetesManifest): KubernetesLive {
  if (answer?.kind === kind && answer.metadata?.name === metadata.name && answer.metadata.uid)
    return answer as KubernetesLive;
  throw new Error("the API server's answer doesn't hold the object");
}
