/**
 * A guard that guards nothing: each call gets a key of its own and runs. What people have who make
 * the key inside the tool. Every scenario must fail with it.
 */
import { randomUUID } from "node:crypto";
import {
  type EffectStore,
  type ExecuteCall,
  type Guard,
  type GuardOptions,
  type Outcome,
  type RegisteredTransactTool,
  type Tool,
  type Transact,
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
      return executed(key, value);
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

function executed<Result>(key: string, value: Result): Outcome<Result> {
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
  };
}

/** What people write who share the transaction and forget the claim. */
export function passThroughTransact(store: EffectStore): Transact<unknown> {
  const run = <Result>(
    tool: RegisteredTransactTool<Result, unknown>,
    args: unknown,
    { tenant }: { readonly tenant: string },
  ): Promise<Outcome<Result>> =>
    store.transaction(async (tx) => {
      const key = randomUUID();
      const emit = async (event: { type: string; subject?: string | undefined }): Promise<void> => {
        const { type, subject = null } = event;
        const more = { event: JSON.stringify({ type }), retentionMs: 1000 };
        await tx.outbox.emit({ tenant, id: `${key}:${type}`, type, subject, ...more });
      };
      const value = await tool.execute(args as never, { tenant, key, tx, emit });
      return executed(key, value);
    });
  return Object.assign(run, { retentionMs: days(45) });
}
