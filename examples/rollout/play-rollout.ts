/**
 * The story: the CI's hook for build 42 is delivered twice, the one for build 41 comes late, and of what
 * the cluster and GitHub do, the answers are lost.
 *
 * @module
 */
import { KubeConfig } from "@kubernetes/client-node";
import { Octokit } from "@octokit/rest";
import Database from "better-sqlite3";
import { createEnsure, createFlows, createGuard, createInbox, runIdOfEvent } from "nevertwice";
import { SqliteStore } from "nevertwice/sqlite";
import type { Counterpart, Fault } from "../../test/support/providers/counterpart.ts";
import { startGithub } from "../../test/support/providers/github.ts";
import { startKubernetes } from "../../test/support/providers/kubernetes.ts";
import { type Build, deployFlow, deploymentTool, rollOutTool } from "./roll-out.ts";

/** What there is in the end. */
export interface RolloutStory {
  /** Images that were rolled out, in the cluster's own ledger. */
  readonly images: readonly string[];
  /** Refs that were deployed, in GitHub's own ledger. */
  readonly deployments: readonly string[];
  /** What became of each delivery. */
  readonly deliveries: readonly string[];
  /** What each run came to, by build. */
  readonly runs: Readonly<Record<string, unknown>>;
}

/** What goes wrong with the first change, and with the first deployment. */
export interface RolloutFaults {
  readonly cluster: Fault;
  readonly github: Fault;
}

const tenant = "acme";
const lostAnswers: RolloutFaults = { cluster: { reset: "after" }, github: { reset: "after" } };

/** Plays the story on a SQLite file that is new. `tell` gets one line per delivery. */
export async function playRollout(
  file: string,
  tell: (line: string) => void,
  faults = lostAnswers,
): Promise<RolloutStory> {
  const cluster = await startKubernetes();
  const github = await startGithub();
  const database = new Database(file);
  try {
    cluster.fault(faults.cluster);
    github.fault(faults.github);
    const store = new SqliteStore(database);
    await store.migrate();
    const guard = await createGuard({ store });
    const rollOut = await rollOutTool(connect(cluster));
    const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
    const octokit = new Octokit({ auth: "ghp_1", baseUrl: github.url, log });
    const deployment = await deploymentTool(octokit);
    const deploy = deployFlow(createEnsure({ store, guard }), rollOut, deployment);
    const flows = createFlows({ store, guard, flows: [deploy] });
    const inbox = createInbox({ store });
    const deliveries: string[] = [];
    const runs: Record<string, unknown> = {};
    for (const build of [42, 42, 41]) {
      const hook = { tenant, consumer: "deploy", source: "ci", id: `build-${build}` };
      const data: Build = { build, image: `shop:${build}` };
      let runId: string | undefined;
      const { status } = await inbox.receive(
        { ...hook, type: "build.passed", data },
        async (tx, event) => {
          runId = runIdOfEvent(event);
          await flows.start(deploy, { tenant, runId }, data, tx);
        },
      );
      deliveries.push(status);
      tell(`the hook for build ${build} is ${status}`);
      if (runId === undefined) continue;
      runs[build] = await outcomeOf(flows, runId);
      tell(`build ${build}: ${String(runs[build])}`);
    }
    return {
      images: cluster.effects.map(({ resource }) => imageOf(resource["object"])),
      deployments: github.effects.map(({ resource }) => String(resource["ref"])),
      deliveries,
      runs,
    };
  } finally {
    await cluster.close();
    await github.close();
    database.close();
  }
}

function connect({ url }: Counterpart): KubeConfig {
  const config = new KubeConfig();
  const cluster = { name: "production", server: url, skipTLSVerify: true };
  config.loadFromClusterAndUser(cluster, { name: "deployer", token: "token" });
  return config;
}

/** As `flows.work` does in a service, until this one run has ended. */
async function outcomeOf(flows: ReturnType<typeof createFlows>, runId: string): Promise<unknown> {
  const over = new AbortController();
  const working = flows.work({ signal: over.signal, everyMs: 100 });
  try {
    for (;;) {
      const state = await flows.read({ tenant, runId });
      if (state.status === "DONE") return state.output;
      if (state.status === "FAILED") return state.error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  } finally {
    over.abort();
    await working;
  }
}

function imageOf(object: unknown): string {
  const { spec } = object as { spec: { template: { spec: { containers: { image: string }[] } } } };
  return spec.template.spec.containers[0]?.image ?? "";
}
