/** A tool that keeps a shop's deployment in its size, for tests and for processes of their own. */
import { KubeConfig } from "@kubernetes/client-node";
import { z } from "zod";
import {
  type KubernetesManifest,
  type KubernetesOptions,
  kubernetesApply,
} from "../../src/edges/providers/kubernetes.ts";
import { type RegisteredEnsureTool, defineEnsureTool } from "../../src/index.ts";

export type ShopOptions = Partial<KubernetesOptions<{ size: number }>> & {
  readonly timeoutMs: number;
  readonly flightMs: number;
};

export const shopPath = "/apis/apps/v1/namespaces/shop/deployments/web";

export function kubeConfigOf(url: string, user: object = { token: "t" }): KubeConfig {
  const config = new KubeConfig();
  const cluster = { name: "prod-eu", server: url, skipTLSVerify: true };
  config.loadFromClusterAndUser(cluster, { name: "deployer", ...user });
  return config;
}

export function shopManifest({ size }: { size: number }): KubernetesManifest {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", namespace: "shop", labels: { app: "web" } },
    spec: {
      replicas: size,
      template: { spec: { containers: [{ name: "web", image: "shop:1", args: ["--fast"] }] } },
    },
  };
}

export async function shopTool(url: string, options: ShopOptions): Promise<RegisteredEnsureTool> {
  return defineEnsureTool({
    name: "size_shop",
    arguments: z.object({ size: z.int(), version: z.int() }),
    version: ({ args }) => args.version,
    businessArguments: ["size"],
    ...(await kubernetesApply(kubeConfigOf(url), {
      cluster: "prod-eu",
      manifest: shopManifest,
      ...options,
    })),
  }) as RegisteredEnsureTool;
}
