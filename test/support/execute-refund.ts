/** The one request that every refund tool of the tests sends. */
import type { ExecuteCall } from "../../src/index.ts";
import { type ProviderClient, ProviderError } from "../../src/testing/fake-provider/index.ts";

type Effect = Awaited<ReturnType<ProviderClient["createEffect"]>>;
type RefundRequest = (args: object, call: ExecuteCall) => Promise<Effect>;

/** Sends the refund with the wire key, and the operation's key as tag. */
export function executeRefund(client: ProviderClient): RefundRequest {
  return async (args, call) => {
    try {
      return await client.createEffect({
        operation: "refund",
        body: args as never,
        key: call.wireKey,
        tag: call.key,
        signal: call.signal,
        beforeWrite: call.beforeWrite,
      });
    } catch (error) {
      throw error instanceof ProviderError && !error.wroteBytes ? call.notSent(error) : error;
    }
  };
}
