/**
 * A run's id as one text, for engines that know a workflow by one.
 *
 * @module
 */
import { checkedId } from "../../../intent/intent.ts";
import type { RunId } from "../../../ledger/runs.ts";

/** `tenant:run`, each part percent-encoded: two runs never share a text. */
export function runKeyOf({ tenant, runId }: RunId): string {
  const parts = [checkedId(tenant, "tenant"), checkedId(runId, "runId")];
  return parts.map((part) => encodeURIComponent(part)).join(":");
}

/** @throws {NeverTwiceError} INTENT_INVALID when it is none that {@link runKeyOf} made. */
export function runIdOf(key: string): RunId {
  const [tenant, runId] = key.split(":").map((part) => decodeURIComponent(part));
  return { tenant: checkedId(tenant, "tenant"), runId: checkedId(runId, "runId") };
}
