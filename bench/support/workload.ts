/**
 * What is called: one refund, by the guard in two modes and by the floor, with the same arguments,
 * the same result and keys of the same length.
 */
import { createHash, randomUUID } from "node:crypto";
import { z } from "zod";
import { type Guard, type Tool, days, defineTool, seconds } from "../../src/index.ts";

export const tenant = "bench";

/** How often the effect ran, so that a benchmark of errors or replays can't look like a fast guard. */
export interface Effects {
  count: number;
}

interface Refund {
  readonly refundId: string;
  readonly status: string;
}

/** The effect takes no time: what is measured is what surrounds it. */
function refund(effects: Effects): Refund {
  effects.count += 1;
  return { refundId: "re_3PqLxW2eZvKYlo2C0x", status: "succeeded" };
}

const refundText = JSON.stringify(refund({ count: 0 }));

/** Arguments of call `index`: what an agent would send, of which `reason` is the model's free text. */
function refundArguments(index: number) {
  return {
    orderId: `order-${String(index).padStart(8, "0")}`,
    amountMinor: 48_000,
    currency: "EUR",
    reason: "The customer says that the parcel never came.",
  };
}

/** The tool in a mode: `window` needs a claim and a settle, `strict` an arm in between. */
export function refundTool(mode: "window" | "strict", effects: Effects): Tool<Refund> {
  return defineTool({
    name: `refund_${mode}`,
    kind: "non-idempotent",
    arguments: z.object({
      orderId: z.string(),
      amountMinor: z.int(),
      currency: z.string(),
      reason: z.string(),
    }),
    intent: ({ args, trusted }) => `refund:${args.orderId}:${trusted["ticketId"] as string}`,
    businessArguments: ["orderId", "amountMinor", "currency"],
    contract: {
      mode,
      key: { shape: "uuid", retentionMs: days(1), atomic: true, afterError: "replays" },
      timeoutMs: seconds(30),
      flightMs: seconds(60),
      providerId: (result) => result.refundId,
    },
    execute: () => refund(effects),
  });
}

/** A call of the guard, ready to go. Resolves to whether it was replayed. */
export function guardCall(
  guard: Guard,
  tool: Tool<Refund>,
  ticketId: string,
  index: number,
): () => Promise<boolean> {
  const args = refundArguments(index);
  const context = { tenant, trusted: { ticketId } };
  return async () => (await guard.run(tool, args, context)).replayed;
}

/** What a hand-written guard writes. */
export interface FloorRow {
  readonly key: string;
  readonly fingerprint: string;
  readonly arguments: string;
  readonly token: string;
  readonly leaseMs: number;
}

/** The two statements of a hand-written guard, each a durable commit of its own. */
export interface Floor {
  /** Inserts the row, or leaves the one that is there; returns the token and status of the row. */
  claim(row: FloorRow): Promise<{ token: string; status: string }>;
  /** Settles the row if the token still fits; returns how many rows changed. */
  settle(key: string, token: string, result: string): Promise<number>;
}

/** A row whose key is as long as ours. It is made before the clock starts: the floor pays for no hash. */
export function floorRow(ticketId: string, index: number): FloorRow {
  const { reason: _, ...business } = refundArguments(index);
  const text = JSON.stringify(business);
  const sha256 = (of: string): string => createHash("sha256").update(of).digest("hex");
  return {
    key: sha256(`${ticketId}\n${index}`),
    fingerprint: sha256(text),
    arguments: text,
    token: randomUUID(),
    leaseMs: 35_000,
  };
}

/** The floor's call: claim, check whose row it is, the effect, settle. Resolves to whether it was replayed. */
export function floorCall(floor: Floor, row: FloorRow, effects: Effects): () => Promise<boolean> {
  return async () => {
    const stored = await floor.claim(row);
    if (stored.status === "DONE") return true;
    if (stored.token !== row.token) throw new Error("the floor's key belongs to somebody else");
    refund(effects);
    const changed = await floor.settle(row.key, row.token, refundText);
    if (changed !== 1) throw new Error(`the floor settled ${changed} rows`);
    return false;
  };
}
