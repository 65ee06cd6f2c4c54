/**
 * The purchase order example: real processes, killed between creating and saving and between saving
 * and telling. One order, one event.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { playPurchaseOrder } from "../../examples/purchase-order/play-purchase-order.ts";

it("a kill before the commit leaves nothing, and one after it leaves one order", async () => {
  const folder = mkdtempSync(join(tmpdir(), "nevertwice-order-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const story = await playPurchaseOrder(join(folder, "orders.sqlite"), () => {});

  expect(story.ordersAfter).toEqual([0, 1, 1]);
  expect(story.orders).toEqual([{ orderId: 1, totalMinor: 1_250_000 }]);
  expect(story.events).toHaveLength(1);
  expect(story.lastTold).toEqual({ orderId: 1, replayed: true });
});
