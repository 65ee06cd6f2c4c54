/**
 * A guard that guards nothing: each call gets a key of its own and runs. What people have who make
 * the key inside the tool. Every scenario must fail with it.
 */
import { randomUUID } from "node:crypto";
import {
  type ExecuteCall,
  type Guard,
  type GuardOptions,
  type Outcome,
  type Tool,
  days,
} from "../../src/index.ts";

export async function passThroughGuard(_options: GuardOptions): Promise<Guard> {
  return {
    retentionMs: days(45),
    run: async (tool, args, context) => {
      const key = randomUUID();
      const call = {
        tenant: context.tenant,
        key,
        wireKey: key,
        signal: context.signal ?? new AbortController().signal,
        beforeWrite: () => {},
        sendWithinMs: Number.POSITIVE_INFINITY,
        notSent: (cause?: unknown) => new Error("not sent", { cause }),
      } satisfies ExecuteCall;
      const value = (await (tool as Tool).execute(args as Record<string, unknown>, call)) as never;
      return {
        value,
        status: "DONE",
        replayed: false,
        recorded: true,
        key,
        attempts: 1,
        firstExecutedAt: new Date().toISOString(),
        providerId: null,
        omitted: null,
        supersededBy: null,
        warnings: [],
        text: "Executed now.",
      } satisfies Outcome<never>;
    },
    identify: async (_tool, _args, context) => {
      const key = randomUUID();
      return { tenant: context.tenant, key, fingerprint: key };
    },
    resolve: () => Promise.reject(new Error("nothing to resolve")),
    sweep: async () => [],
    lookAgain: async () => [],
    keepSweeping: async () => {},
    purge: async () => 0,
  };
}
