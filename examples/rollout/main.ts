/**
 * Plays the roll-out story in a temporary folder: `npx tsx examples/rollout/main.ts`.
 *
 * @module
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { playRollout } from "./play-rollout.ts";

const folder = mkdtempSync(join(tmpdir(), "nevertwice-rollout-"));
try {
  const story = await playRollout(join(folder, "rollout.sqlite"), (line) => console.log(line));
  console.log(`\nroll-outs in the cluster's ledger: ${story.images.length}`);
  console.log(`deployments in GitHub's ledger: ${story.deployments.length}`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
