/**
 * Look-alikes: the same business arguments under another intent. Two equal payments may be meant
 * (R5), so they are never merged: the caller is warned, or a person is asked (R26).
 *
 * @module
 */
import type { OperationRecord } from "../ledger/record.ts";
import { needsReview } from "./answers.ts";
import type { GuardEnvironment } from "./environment.ts";
import type { PreparedCall } from "./prepare.ts";
import { answerStale } from "./settle.ts";
import { type Turn, fenced } from "./turn.ts";

/** Warns of look-alikes, or holds the operation and throws NEEDS_REVIEW. Returns the warnings. */
export async function checkLookAlikes(
  env: GuardEnvironment,
  call: PreparedCall,
  turn: Turn,
): Promise<readonly string[]> {
  const { lookAlike: rule } = call.parts;
  if (rule === null || call.lookAlike === null) return [];
  const { tenant, key, operation } = turn.record;
  const found = await env.store.findLookAlikes({
    tenant,
    key,
    operation,
    lookAlike: call.lookAlike,
    windowMs: rule.windowMs,
  });
  // The intent that is being replaced looks alike by nature.
  const others = found.filter((other) => other.key !== turn.record.supersedes);
  if (others.length === 0) return [];
  const message = describe(others);
  if (rule.rule === "hold") return hold(env, turn, message);
  env.warn({ tenant, key, message });
  return [message];
}

async function hold(env: GuardEnvironment, turn: Turn, reason: string): Promise<never> {
  const record = await env.store.escalate({
    ...fenced(turn),
    reason,
    detail: JSON.stringify({ reason }),
  });
  if (record === undefined) await answerStale(env, turn, reason, undefined);
  throw needsReview(record ?? turn.record);
}

function describe(others: readonly OperationRecord[]): string {
  const listed = others
    .map((other) => `${other.intent} (${other.status}, key ${other.key})`)
    .join("; ");
  return `looks like another operation of the same kind with the same arguments: ${listed}`;
}
