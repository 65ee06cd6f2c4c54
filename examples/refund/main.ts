/**
 * Plays the refund story in a temporary folder: `npx tsx examples/refund/main.ts`.
 *
 * @module
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { playRefund } from "./play-refund.ts";

const folder = mkdtempSync(join(tmpdir(), "nevertwice-refund-"));
try {
  const story = await playRefund(join(folder, "refund.sqlite"), (line) => console.log(line));
  console.log(`\nrefunds in the provider's ledger: ${story.refunds}`);
  console.log(`refunded: €${(story.totalMinor / 100).toFixed(2)}`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
