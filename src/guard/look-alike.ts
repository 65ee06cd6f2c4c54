/**
 * Look-alikes: the same business arguments under another intent. Two equal payments may be meant
 * (R5), so they are never merged: the caller is warned, or a person is asked (R26).
 *
 * @module
 */
import type { OperationRecord } from "../ledger/record.ts";
import type { GuardEnvironment } from "./environment.ts";
import type { Turn } from "./turn.ts";

/**
 * Says which operations look like this one, or undefined. An operation that a person let run has a
 * higher generation, and is not asked about again.
 */
export async function findLookAlike(
  env: GuardEnvironment,
  turn: Turn,
): Promise<string | undefined> {
  const { lookAlike: rule } = turn.parts;
  const { tenant, key, operation, lookAlike, generation, supersedes } = turn.record;
  if (rule === null || lookAlike === null || generation > 0) return undefined;
  const { windowMs } = rule;
  const found = await env.store.findLookAlikes({ tenant, key, operation, lookAlike, windowMs });
  // The intent that is being replaced looks alike by nature.
  const others = found.filter((other) => other.key !== supersedes);
  return others.length === 0 ? undefined : describe(others);
}

function describe(others: readonly OperationRecord[]): string {
  const listed = others
    .map((other) => `${other.intent} (${other.status}, key ${other.key})`)
    .join("; ");
  return `looks like another operation of the same kind with the same arguments: ${listed}`;
}
