/**
 * The tool: creates a purchase order in the company's own database. The claim, the order, the event
 * and DONE commit together.
 *
 * @module
 */
import type Database from "better-sqlite3";
import { type RegisteredTransactTool, type TransactCall, defineTransactTool } from "nevertwice";
import { z } from "zod";

const orderSchema = z.object({
  requisitionId: z.string(),
  supplierId: z.string(),
  totalMinor: z.int().positive(),
  note: z.string(),
});

export type OrderRequest = z.infer<typeof orderSchema>;

/** A created order. */
export type PurchaseOrder = { readonly orderId: number };

/** The table that the company has anyway. Nothing in it keeps a second order out. */
export const ordersTable = `create table if not exists purchase_orders (
  order_id integer primary key, requisition_id text not null, supplier_id text not null,
  total_minor integer not null)`;

/** The tool; `created` is awaited between creating the order and saving it. */
export function placeOrder(
  created: () => Promise<void> = async () => {},
): RegisteredTransactTool<PurchaseOrder, Database.Database> {
  return defineTransactTool({
    name: "place_purchase_order",
    arguments: orderSchema,
    intent: ({ args }) => `purchase-order:requisition-${args.requisitionId}`,
    businessArguments: ["requisitionId", "supplierId", "totalMinor"],
    execute: async (args, { tx, emit }: TransactCall<Database.Database>) => {
      const { requisitionId, supplierId, totalMinor } = args;
      const inserted = tx.driver
        .prepare(
          "insert into purchase_orders (requisition_id, supplier_id, total_minor) values (?, ?, ?)",
        )
        .run(requisitionId, supplierId, totalMinor);
      const orderId = Number(inserted.lastInsertRowid);
      await emit({ type: "purchase-order.placed", subject: requisitionId, data: { orderId } });
      await created();
      return { orderId };
    },
  });
}
