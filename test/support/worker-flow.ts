/** A worker that goes on with runs of a refund flow. Started by `startWorker("worker-flow.ts")`. */
import { appendFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { type FlowPointName, type Guard, createFlows, createGuard, flow } from "../../src/index.ts";
import type { EffectStore } from "../../src/ledger/transaction.ts";
import { createProviderClient } from "../../src/testing/fake-provider/index.ts";
import { passThroughGuard } from "./pass-through.ts";
import { obey, report } from "./worker-commands.ts";
import { type Place, openPlace } from "./worker-place.ts";
import { workerRefund, workerTakeBack } from "./worker-tool.ts";

/** What a worker has to do. */
export interface FlowOrder {
  readonly place: Place;
  readonly providerUrl: string;
  /** One line per prompt: the run's id. */
  readonly promptsFile: string;
  readonly runId: string;
  readonly passThrough: boolean;
  /** Stands still at this point for good, and reports `stands`. */
  readonly standAt?: FlowPointName;
  /** How often it passes the point before it stands. Default 0. */
  readonly passes?: number;
  /** Two refunds that are taken back again, in place of one; only the step `undo` stands still. */
  readonly undo?: boolean;
}

const commands = {
  /** Works on the run until it has ended; returns how. */
  work: async (order: FlowOrder): Promise<string> => {
    const store = openPlace(order.place) as EffectStore;
    const client = createProviderClient({ url: order.providerUrl });
    const refund = workerRefund(client, {}, () => {}, workerTakeBack(client));
    const real = await createGuard({ store, tools: [refund] });
    const none = await passThroughGuard({ store, tools: [refund] });
    const guard: Guard = order.passThrough
      ? { ...real, run: (...call) => none.run(...call) }
      : real;
    const refundOrder = flow("refund-order", async (f, orderId: string) => {
      const decision = await f.decide("assess", () => {
        appendFileSync(order.promptsFile, `${f.runId}\n`);
        return { orderId, amountMinor: 48_000 };
      });
      await f.sleep("pause", 300);
      const refunded = await f.act("refund", refund, decision);
      return f.emit("refund.issued", refunded, { subject: orderId });
    });
    const undoOrder = flow("undo-order", async (f, orderId: string) => {
      for (const part of ["1", "2"]) {
        await f.act(part, refund, { orderId: `${orderId} ${part}`, amountMinor: 500 });
      }
      return f.compensate("undo");
    });
    let passes = order.passes ?? 0;
    const flows = createFlows({
      store,
      guard,
      flows: [refundOrder, undoOrder],
      onPoint: ({ name, step }) => {
        if (name !== order.standAt || (order.undo === true && step !== "undo")) return undefined;
        if (passes-- > 0) return undefined;
        report("stands");
        return new Promise<void>(() => {});
      },
    });
    const id = { tenant: "acme", runId: order.runId };
    for (;;) {
      const made = order.undo === true ? undoOrder : refundOrder;
      const { status } = await flows.run(made as typeof refundOrder, id, order.runId);
      if (status === "DONE" || status === "FAILED") return status;
      await setTimeout(50);
    }
  },
};

/** The commands of this worker. */
export type FlowCommands = typeof commands;

obey(commands);
