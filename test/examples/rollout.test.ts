/** The roll-out example: a hook delivered twice and an older one that comes late. One roll-out. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { playRollout } from "../../examples/rollout/play-rollout.ts";

it("a hook delivered twice and a late older one end in one roll-out", async () => {
  const folder = mkdtempSync(join(tmpdir(), "nevertwice-rollout-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const story = await playRollout(join(folder, "rollout.sqlite"), () => {});

  expect(story.builds).toEqual([42]);
  expect(story.deliveries).toEqual(["handled", "duplicate", "handled"]);
  expect(story.runs).toEqual({ 41: "a newer build is there", 42: "rolled out" });
});
