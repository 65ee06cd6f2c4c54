/**
 * The roll-out example: a hook delivered twice and an older one that comes late. One roll-out and one
 * deployment, whatever goes wrong with the first of each.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { type RolloutFaults, playRollout } from "../../examples/rollout/play-rollout.ts";

type Pair = readonly [cluster: RolloutFaults["cluster"], github: RolloutFaults["github"]];

/** GitHub takes no key: a request that was lost on the way there is for a person, and not in the list. */
const faults: readonly Pair[] = [
  [{ reset: "after" }, { reset: "after" }],
  [{ reset: "before" }, { truncate: true }],
  [{ truncate: true }, { gateway: 502, effect: true }],
  [{ gateway: 504, effect: true }, { refuse: 429 }],
  [
    { gateway: 503, effect: false },
    { gateway: 404, effect: true },
  ],
  [{ refuse: 429 }, { hang: "after" }],
  [{ refuse: 500 }, { refuse: 403 }],
  [{ hang: "after" }, { pass: true }],
];

it.each(faults)("%j and %j end in one roll-out and one deployment", async (cluster, github) => {
  const folder = mkdtempSync(join(tmpdir(), "nevertwice-rollout-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "rollout.sqlite");
  const story = await playRollout(file, () => {}, { cluster, github });

  expect(story.images).toEqual(["shop:42"]);
  expect(story.deployments).toEqual(["build-42"]);
  expect(story.deliveries).toEqual(["handled", "duplicate", "handled"]);
  expect(story.runs).toEqual({ 41: "a newer build is there", 42: "rolled out, deployment 1001" });
});
