/**
 * One armed attempt is one send: the SDK under it may not add another (R10). The adapter puts a gate
 * where the SDK hands the request to its transport, once for each send.
 *
 * @module
 */
import type { ExecuteCall } from "../../../guard/tool.ts";

/** What stands between an SDK and its transport. */
export interface SendGate {
  /**
   * Call it right before each send. Throws when the send would be too late, and when it is not the
   * first; then nothing may be written.
   */
  pass(): void;
  /** Call it with what a send ended in, where the SDK would hide that behind its own retry. */
  failed(error: unknown): void;
}

/** What an adapter may use of an attempt. */
export type Attempt = Pick<ExecuteCall, "beforeWrite" | "notSent">;

/**
 * Runs one SDK call behind a gate.
 *
 * It rejects with what the *first* send ended in. Where no send began, that is a fact, and it rejects
 * with `call.notSent` (R13): credentials that can't be had, a parameter that the SDK itself refuses,
 * a `request` that throws.
 */
export async function sendOnce<Result>(
  call: Attempt,
  send: (gate: SendGate) => Promise<Result>,
): Promise<Result> {
  let sends = 0;
  let refusal: { error: unknown } | undefined;
  let first: { error: unknown } | undefined;
  const gate: SendGate = {
    pass: () => {
      if (sends > 0) throw new Error("the SDK wanted to send the request again by itself");
      try {
        call.beforeWrite();
      } catch (error) {
        // The guard knows its own errors by identity, and SDKs like to wrap what they catch.
        refusal ??= { error };
        throw error;
      }
      sends += 1;
    },
    failed: (error) => void (first ??= { error }),
  };
  try {
    return await send(gate);
  } catch (error) {
    if (sends > 0) throw first?.error ?? error;
    throw refusal === undefined ? call.notSent(error) : refusal.error;
  }
}
