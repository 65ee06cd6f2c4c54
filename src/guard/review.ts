/**
 * Review: a person decides an operation that no rule can (R30).
 *
 * @module
 */
import { NeverTwiceError, storableText } from "../base/errors.ts";
import type { Json } from "../base/plain-json.ts";
import { checkedId } from "../intent/intent.ts";
import { type OperationRecord, findRecordFault } from "../ledger/record.ts";
import type { ResolveParams, Store } from "../ledger/store.ts";
import { type Outcome, needsReview, windowClosed } from "./answers.ts";
import type { GuardEnvironment } from "./environment.ts";
import { resultDigest, storeError, storeResult } from "./serialise.ts";
import { answerStale } from "./settle.ts";
import { type Turn, fenced } from "./turn.ts";

/** Escalate: hand an operation that we own to a person. Answers with NEEDS_REVIEW. */
export async function escalate(
  env: GuardEnvironment,
  turn: Turn,
  reason: string,
  cause?: "WINDOW_CLOSED",
): Promise<Outcome<unknown>> {
  const detail = JSON.stringify({ reason, ...(cause === undefined ? {} : { cause }) });
  const record = await env.store.escalate({ ...fenced(turn), reason, detail });
  if (record === undefined) return answerStale(env, turn, reason, undefined);
  throw needsReview(record, cause === undefined ? undefined : windowClosed(record));
}

/**
 * - `happened`: the effect exists. - `did-not-happen`: it does not; the operation is FAILED.
 * - `run-again`: it does not, and the next call is to send it, under a new provider key.
 * - `look-again`: undecided; the next call or sweep looks once more.
 */
export type ReviewDecision = "happened" | "did-not-happen" | "run-again" | "look-again";

/** A person's decision. */
export interface Resolution {
  readonly tenant: string;
  readonly key: string;
  /** `version` of the operation as the person saw it. */
  readonly version: number;
  readonly decision: ReviewDecision;
  /** Who decides. */
  readonly by: string;
  readonly why: string;
  /**
   * When the person looked at the provider, in the database's time; default: now. What was not there
   * while a request could still take effect proves nothing, however late the decision comes.
   */
  readonly lookedAtMs?: number;
  /** With `happened`: the result that callers are to get. */
  readonly result?: Json;
  /** With `happened`: the provider's id of the effect. */
  readonly providerId?: string;
}

const statusOf = {
  happened: "DONE",
  "did-not-happen": "FAILED",
  "run-again": "UNKNOWN",
  "look-again": "UNKNOWN",
} as const satisfies Record<ReviewDecision, ResolveParams["status"]>;

/**
 * Records the decision and returns the operation. Two reviewers can't both win.
 *
 * @throws {NeverTwiceError} REVIEW_TOO_EARLY for "it did not happen" while a request may still take
 * effect, REVIEW_CONFLICT when the operation changed or doesn't wait for this decision,
 * OPERATION_NOT_FOUND, INTENT_INVALID when `by` or `why` is blank, CONFIGURATION_INVALID for a decision
 * or a time that is none.
 */
export async function resolve(store: Store, resolution: Resolution): Promise<OperationRecord> {
  const { tenant, key, version, decision } = resolution;
  const by = checkedId(resolution.by, "by");
  const why = checkedReason(resolution.why);
  if (!Object.hasOwn(statusOf, decision)) throw unknownDecision(decision);
  checkTime(resolution.lookedAtMs);
  const status = statusOf[decision];
  const happened = decision === "happened";
  const seen = await store.read({ tenant, key });
  if (seen?.version === version && looksTooEarly(seen, resolution)) throw tooEarly(seen);
  const stored = happened ? storeResult(resolution.result, Number.MAX_SAFE_INTEGER) : null;
  const record = await store.resolve({
    tenant,
    key,
    version,
    status,
    resultKind: stored?.resultKind ?? null,
    result: stored?.result ?? null,
    providerId: happened ? (resolution.providerId ?? null) : null,
    error:
      decision === "did-not-happen"
        ? storeError(new Error(`${by} decided that it did not happen: ${why}`))
        : null,
    runAgain: decision === "run-again",
    repair: seen !== undefined && findRecordFault(seen) !== undefined,
    detail: JSON.stringify({
      decision,
      by,
      why,
      ...(resolution.lookedAtMs === undefined ? {} : { lookedAtMs: resolution.lookedAtMs }),
      ...(stored === null ? {} : { result: resultDigest(stored) }),
      ...(happened && resolution.providerId !== undefined
        ? { providerId: resolution.providerId }
        : {}),
    }),
  });
  return record ?? refuse(store, resolution);
}

function saysNo(decision: ReviewDecision): boolean {
  return decision === "did-not-happen" || decision === "run-again";
}

/** What the statement asks of the row beside its version and the time: what can never be decided is never too early. */
function takesDecision({ status, incident }: OperationRecord, decision: ReviewDecision): boolean {
  if (status === "NEEDS_REVIEW") return true;
  if (incident === null) return false;
  if (status === "DONE") return decision === "happened";
  return status !== "FAILED" || decision === "happened" || decision === "did-not-happen";
}

/** The store compares its own clock; only the person knows when the look was (R30). */
function looksTooEarly(seen: OperationRecord, { decision, lookedAtMs }: Resolution): boolean {
  if (lookedAtMs === undefined || !saysNo(decision)) return false;
  return takesDecision(seen, decision) && lookedAtMs <= seen.quietUntilMs;
}

function checkTime(lookedAtMs: number | undefined): void {
  if (lookedAtMs === undefined || Number.isFinite(lookedAtMs)) return;
  throw new NeverTwiceError(
    "CONFIGURATION_INVALID",
    `\`lookedAtMs\` is ${String(lookedAtMs)}, which is no time. The decision was not recorded.`,
  );
}

/** People write reasons in lines and paragraphs. */
function checkedReason(why: unknown): string {
  if (typeof why === "string" && why.trim() !== "") return storableText(why);
  throw new NeverTwiceError(
    "INTENT_INVALID",
    "A decision needs a reason: `why` is missing or blank. Nothing was recorded.",
  );
}

function unknownDecision(decision: unknown): NeverTwiceError {
  return new NeverTwiceError(
    "CONFIGURATION_INVALID",
    `${JSON.stringify(decision)} is no decision: use ${Object.keys(statusOf).join(", ")}.`,
  );
}

async function refuse(store: Store, resolution: Resolution): Promise<never> {
  const { tenant, key, version, decision } = resolution;
  const record = await store.read({ tenant, key });
  if (record === undefined) {
    throw new NeverTwiceError(
      "OPERATION_NOT_FOUND",
      `No operation with key ${key} is recorded for tenant ${tenant}.`,
      { key },
    );
  }
  if (record.version !== version) {
    throw new NeverTwiceError(
      "REVIEW_CONFLICT",
      `The operation changed since it was looked at (version ${version}, now ${record.version}; it is ${record.status}). The decision was not recorded; look again. Key ${key}.`,
      { key, details: { seen: version, version: record.version, status: record.status } },
    );
  }
  const early = saysNo(decision) && record.readAtMs <= record.quietUntilMs;
  if (early && takesDecision(record, decision)) throw tooEarly(record);
  throw new NeverTwiceError(
    "REVIEW_CONFLICT",
    `The operation is ${record.status}${record.incident === null ? "" : " with an incident"} and can't be decided as "${decision}". The decision was not recorded. Key ${key}.`,
    { key, details: { status: record.status } },
  );
}

function tooEarly(record: OperationRecord): NeverTwiceError {
  const from = new Date(record.quietUntilMs + 1).toISOString();
  return new NeverTwiceError(
    "REVIEW_TOO_EARLY",
    `A request may take effect until ${from}, so a look at the provider before then can't decide that it did not. The decision was not recorded. Key ${record.key}.`,
    { key: record.key, details: { decidableFrom: from } },
  );
}
