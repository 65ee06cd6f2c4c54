/**
 * Take over: an operation without a live owner gets a new one (R12).
 *
 * @module
 */
import { isNeverTwiceError } from "../base/errors.ts";
import type { OperationRecord } from "../ledger/record.ts";
import type { GuardEnvironment } from "./environment.ts";

/** The row as ours and the monotonic time before the statement, or undefined when another was faster. */
export interface TakenOver {
  readonly record: OperationRecord;
  readonly askedAtMonotonicMs: number;
}

/** Tries to become the owner of an operation as it was read. */
export async function takeOver(
  env: GuardEnvironment,
  seen: OperationRecord,
  acquisitionId: string,
  leaseMs: number,
): Promise<TakenOver | undefined> {
  const { tenant, key, token } = seen;
  const askedAtMonotonicMs = env.runtime.monotonicMs();
  const detail = JSON.stringify({ acquisition: acquisitionId, was: seen.status });
  const record = await takeOverOnce(env, { tenant, key, token, acquisitionId, leaseMs, detail });
  if (record === undefined) return undefined;
  await env.reach({ name: "after-take-over", tenant, key });
  return { record, askedAtMonotonicMs };
}

async function takeOverOnce(
  env: GuardEnvironment,
  params: Parameters<GuardEnvironment["store"]["takeOver"]>[0],
): Promise<OperationRecord | undefined> {
  try {
    return await env.store.takeOver(params);
  } catch (error) {
    if (!isNeverTwiceError(error, "STORE_UNAVAILABLE")) throw error;
    // The acknowledgement may be lost; the acquisition tells whether we have it (R8).
    const found = await env.store.read(params);
    const ours = found?.acquisitionId === params.acquisitionId && found.status === "IN_PROGRESS";
    if (!ours) throw error;
    return found;
  }
}
