/**
 * The refund example, as it is printed: one prompt per run and one refund, with a lost answer, a
 * redeploy and a second reading of the complaint in between.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { playRefund } from "../../examples/refund/play-refund.ts";

it("a lost answer, a redeploy and a second reading end in one refund", async () => {
  const folder = mkdtempSync(join(tmpdir(), "nevertwice-refund-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const told: string[] = [];
  const story = await playRefund(join(folder, "refund.sqlite"), (line) => told.push(line));

  expect(story.refunds).toBe(1);
  expect(story.totalMinor).toBe(48_000);
  expect(story.prompts).toEqual({ "ticket-5521": 1, "ticket-5521-reopened": 1 });
  expect(story.events).toEqual(["refund.issued", "refund.issued"]);
  expect(new Set(story.refundIds).size).toBe(1);
  expect(told).toHaveLength(5);
  expect(told[1]).toContain("refund: OUTCOME_UNKNOWN");
});
