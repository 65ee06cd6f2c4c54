/**
 * Claim: one atomic statement that always returns the row (R8).
 *
 * @module
 */
import { spread } from "../base/back-off.ts";
import { isNeverTwiceError } from "../base/errors.ts";
import { pause } from "../base/runtime.ts";
import type { OperationRecord } from "../ledger/record.ts";
import type { ClaimParams } from "../ledger/store.ts";
import { quietSpanMs } from "../ledger/window.ts";
import { claimUnconfirmed } from "./answers.ts";
import type { GuardEnvironment } from "./environment.ts";
import type { PreparedCall } from "./prepare.ts";

/** A row, and the monotonic time before the statement that may have armed it (R10). */
export interface Claimed {
  readonly record: OperationRecord;
  readonly askedAtMonotonicMs: number;
}

const maxTries = 3;

/**
 * Claims the key, or returns the row that has it. After a lost acknowledgement the same claim is
 * made again, and our own row is recognised by its acquisition.
 *
 * @throws {NeverTwiceError} STORE_UNAVAILABLE when the claim isn't confirmed: nothing may be sent (R28).
 */
export async function claim(env: GuardEnvironment, call: PreparedCall): Promise<Claimed> {
  await env.reach({ name: "before-claim", tenant: call.tenant, key: call.key });
  const askedAtMonotonicMs = env.runtime.monotonicMs();
  const params = claimParams(env, call);
  for (let tries = 1; ; tries += 1) {
    try {
      const record = await env.store.claim(params);
      await env.reach({ name: "after-claim", tenant: call.tenant, key: call.key });
      return { record, askedAtMonotonicMs };
    } catch (error) {
      if (!isNeverTwiceError(error, "STORE_UNAVAILABLE")) throw error;
      if (tries === maxTries) throw claimUnconfirmed(call.key, error);
      await pause(env.runtime, spread(env.runtime, 50 * tries));
    }
  }
}

/** What the claim of a call says. */
export function claimParams(env: GuardEnvironment, call: PreparedCall): ClaimParams {
  const { parts, context } = call;
  const { terms, lookAlike, hold } = parts;
  return {
    tenant: call.tenant,
    key: call.key,
    keyAlgorithm: call.keyAlgorithm,
    operation: parts.operation,
    tool: call.tool.name,
    intent: call.intent,
    fingerprint: call.fingerprint,
    arguments: call.arguments.text,
    acquisitionId: call.acquisitionId,
    leaseMs: terms.leaseMs,
    // A strict tool arms separately, so that a crash in between calls nobody. So does a tool whose
    // calls or look-alikes are held: it must look before it may send.
    arm: terms.policy.mode !== "strict" && lookAlike?.rule !== "hold" && hold === null,
    wireKey: terms.wireKeyOf(call.key, 0),
    quietMs: quietSpanMs(terms.bounds),
    retentionMs: env.retentionMs,
    supersedes: context.supersedes?.key ?? null,
    lookAlike: call.lookAlike,
    detail: JSON.stringify({
      acquisition: call.acquisitionId,
      fingerprint: call.fingerprint,
      // Then the fingerprint covers more than tool and arguments, and an audit can't recompute it.
      ...(parts.contract.account === undefined && parts.contract.endpoint === undefined
        ? {}
        : { scoped: true }),
      ...(context.workflowId === undefined ? {} : { workflowId: context.workflowId }),
      ...(context.stepId === undefined ? {} : { stepId: context.stepId }),
      ...(context.supersedes === undefined ? {} : { supersedes: context.supersedes }),
    }),
  };
}
