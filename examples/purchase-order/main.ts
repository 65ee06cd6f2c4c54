/**
 * Plays the purchase order story in a temporary folder: `npx tsx examples/purchase-order/main.ts`.
 *
 * @module
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { playPurchaseOrder } from "./play-purchase-order.ts";

const folder = mkdtempSync(join(tmpdir(), "nevertwice-order-"));
try {
  const file = join(folder, "orders.sqlite");
  const story = await playPurchaseOrder(file, (line) => console.log(line));
  console.log(`\npurchase orders: ${story.orders.length}, events: ${story.events.length}`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
