/**
 * What you would write: the state that production is to be in, the deployment that GitHub is told of, and
 * the flow that does both for a build.
 *
 * @module
 */
import type { KubeConfig } from "@kubernetes/client-node";
import type { Octokit } from "@octokit/rest";
import {
  type Ensure,
  type Flow,
  defineEnsureTool,
  defineTool,
  flow,
  isNeverTwiceError,
} from "nevertwice";
import { githubDeployment } from "nevertwice/providers/github";
import { kubernetesApply } from "nevertwice/providers/kubernetes";
import { z } from "zod";

const buildSchema = z.object({ build: z.int().positive(), image: z.string() });

/** What the CI's hook tells. */
export type Build = z.infer<typeof buildSchema>;

// Short, so that the example is; in production these are half a minute and more.
const bounds = { timeoutMs: 1000, flightMs: 300, marginMs: 100, sendWithinMs: 500 };

/** A state: looked at first, changed once, and never brought back to an older build. */
export async function rollOutTool(cluster: KubeConfig) {
  return defineEnsureTool({
    name: "roll_out",
    arguments: buildSchema,
    version: ({ args }) => args.build,
    businessArguments: ["image"],
    ...(await kubernetesApply(cluster, {
      ...bounds,
      cluster: "production",
      convergeWithinMs: 2000,
      observeEveryMs: 50,
      manifest: ({ image }: { readonly image: string }) => ({
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name: "web", namespace: "shop" },
        spec: { template: { spec: { containers: [{ name: "web", image }] } } },
      }),
    })),
  });
}

/** An action: GitHub takes no key, so it is sent once and looked for after a doubt. */
export async function deploymentTool(octokit: Octokit) {
  return defineTool({
    name: "record_deployment",
    kind: "non-idempotent",
    arguments: buildSchema,
    intent: ({ args }) => `deployment:build-${args.build}`,
    businessArguments: ["build", "image"],
    ...(await githubDeployment(octokit, {
      ...bounds,
      request: ({ build, image }: Build) => ({
        owner: "acme",
        repo: "shop",
        ref: `build-${build}`,
        environment: "production",
        payload: { image },
      }),
    })),
  });
}

/** Rolls a build out, and tells GitHub; an older build than the one that is there is left alone. */
export function deployFlow(
  ensure: Ensure,
  rollOut: Awaited<ReturnType<typeof rollOutTool>>,
  deployment: Awaited<ReturnType<typeof deploymentTool>>,
): Flow<Build, string> {
  return flow("deploy", async (f, build: Build) => {
    // `ensure` may be asked again at any time, so a step that records its answer is enough.
    const isThere = await f.decide("roll-out", async () => {
      try {
        await ensure(rollOut, build, { tenant: f.tenant });
        return true;
      } catch (error) {
        if (isNeverTwiceError(error, "STALE_VERSION")) return false;
        throw error;
      }
    });
    if (!isThere) return "a newer build is there";
    const { id } = await f.act("tell GitHub", deployment, build);
    return `rolled out, deployment ${id}`;
  });
}
