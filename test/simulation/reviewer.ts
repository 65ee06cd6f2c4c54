/**
 * A reviewer: truthful about what the provider shows now, which may be too early; the store refuses
 * a "no" that comes too early.
 */
import { type Store, isNeverTwiceError, resolve } from "../../src/index.ts";
import type { OperationRecord } from "../../src/ledger/record.ts";
import type { Checker } from "./checker.ts";

/** What a reviewer may say of an effect that isn't there. */
export type No = "did-not-happen" | "run-again" | "look-again";

/** Decides what waits for a person; says what was decided, or the code of the refusal. */
export async function review(store: Store, checker: Checker, no: No): Promise<string> {
  const seen = checker.inReview;
  if (seen === undefined) return "nothing to decide";
  const { tenant, key, version } = seen;
  const common = { tenant, key, version, by: "reviewer", why: "looked at the provider's console" };
  const [effect] = checker.effects();
  try {
    if (effect === undefined) await resolve(store, { ...common, decision: no });
    else {
      const { body, effectId: id, tag } = effect;
      const result = { ...body, id, operation: "refund", status: "succeeded", tag };
      await resolve(store, { ...common, decision: "happened", result, providerId: id });
    }
    if (effect === undefined && no !== "look-again") await checkTime(checker, seen);
    return effect === undefined ? no : "happened";
  } catch (error) {
    if (!isNeverTwiceError(error)) throw error;
    return error.code;
  }
}

/** A "no" counts only when nothing can be on its way any more (R30). */
async function checkTime(checker: Checker, seen: OperationRecord): Promise<void> {
  const now = await checker.read();
  if (now !== undefined && now.readAtMs <= seen.quietUntilMs)
    checker.violate('R30: "it did not happen" was accepted too early');
}
