/**
 * A changed mind: the settled intent learns, before anything runs, which intent replaces it (R25).
 *
 * @module
 */
import { NeverTwiceError } from "../base/errors.ts";
import type { OperationRecord } from "../ledger/record.ts";
import { isTerminal } from "../ledger/status.ts";
import type { Store } from "../ledger/store.ts";
import type { PreparedCall } from "./prepare.ts";

/**
 * Records the replacement on the old operation; a repeated call finds it recorded.
 *
 * @throws {NeverTwiceError} INTENT_UNSETTLED while the old outcome is open, INTENT_INVALID when there
 * is no such intent or another one replaced it.
 */
export async function recordIntent(
  store: Pick<Store, "read" | "recordIntent">,
  call: PreparedCall,
): Promise<void> {
  const { supersedes } = call.context;
  if (supersedes === undefined) return;
  const { tenant } = call;
  const { key, reason } = supersedes;
  const detail = JSON.stringify({ supersededBy: call.key, reason });
  const params = { tenant, key, supersededBy: call.key, detail };
  if ((await store.recordIntent(params)) !== undefined) return;
  const old = await store.read({ tenant, key });
  throw refusal(key, old);
}

/** Settled, and by nothing contradicted (R14). */
function isReplaceable(old: OperationRecord): boolean {
  return isTerminal(old.status) && old.incident === null;
}

function refusal(key: string, old: OperationRecord | undefined): NeverTwiceError {
  if (old === undefined) {
    return new NeverTwiceError(
      "INTENT_INVALID",
      `No intent with key ${key} is recorded, so nothing can replace it. Nothing was sent.`,
      {
        key,
      },
    );
  }
  if (isReplaceable(old) && old.supersededBy !== null) {
    return new NeverTwiceError(
      "INTENT_INVALID",
      `The intent with key ${key} is already replaced by the one with key ${old.supersededBy}. Nothing was sent.`,
      { key, details: { supersededBy: old.supersededBy } },
    );
  }
  return new NeverTwiceError(
    "INTENT_UNSETTLED",
    `The intent with key ${key} can't be replaced yet: it is ${old.status}${old.incident === null ? "" : " with an incident"}, so what it did is not settled. This call sent nothing. The same call is safe later, once that outcome is settled.`,
    { key, details: { status: old.status } },
  );
}
