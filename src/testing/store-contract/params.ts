/**
 * Parameters of the port's methods with sensible values, and operations in whatever status.
 *
 * @module
 */
import { randomUUID } from "node:crypto";
import type { OperationRecord } from "../../ledger/record.ts";
import type { Status } from "../../ledger/status.ts";
import type {
  ArmParams,
  ClaimParams,
  CompleteParams,
  FailParams,
  Fenced,
  ListParams,
  MarkUnknownParams,
  RecordIncidentParams,
  RecordIntentParams,
  ReleaseParams,
  ResolveParams,
  Store,
  TakeOverParams,
} from "../../ledger/store.ts";

/** How long after an arm the operations of the cases are quiet again. */
export const quietMs = 20_000;
export const leaseMs = 10_000;
export const resendSpanMs = 60_000;
export const retentionMs = 1_000_000;
export const toolName = "issue_refund";

/** What a fenced write needs to know of its operation. */
export type Owner = Fenced & { readonly attempts: number };

/** A claim by an acquisition of its own that arms attempt 1. */
export function claimParams(key: string, change: Partial<ClaimParams> = {}): ClaimParams {
  return {
    tenant: "acme",
    key,
    keyAlgorithm: "test",
    operation: "refund",
    tool: toolName,
    intent: '{"intent":"refund"}',
    fingerprint: "fingerprint",
    arguments: '{"amountMinor":48000}',
    acquisitionId: randomUUID(),
    leaseMs,
    arm: true,
    wireKey: `wire-${key}`,
    quietMs,
    retentionMs,
    supersedes: null,
    lookAlike: null,
    detail: "{}",
    ...change,
  };
}

/** Evidence of success. */
export function completeParams(key: string, change: Partial<CompleteParams> = {}): CompleteParams {
  return {
    tenant: "acme",
    key,
    resultKind: "json",
    result: '{"id":"effect-1"}',
    providerId: "effect-1",
    event: "operation.completed",
    detail: "{}",
    ...change,
  };
}

/** The right to write under a token. */
export function fencedBy(owner: Fenced): Fenced {
  return { tenant: owner.tenant, key: owner.key, token: owner.token };
}

/** Another acquisition's turn. */
export function takeOverParams(seen: Fenced, change: Partial<TakeOverParams> = {}): TakeOverParams {
  return { ...fencedBy(seen), acquisitionId: randomUUID(), leaseMs, detail: "{}", ...change };
}

/** The next attempt of an operation, as its owner knows it. */
export function armParams(owner: Owner, change: Partial<ArmParams> = {}): ArmParams {
  return {
    ...fencedBy(owner),
    attempts: owner.attempts,
    leaseMs,
    quietMs,
    resendSpanMs,
    newGeneration: false,
    lookedAtMs: null,
    wireKey: `wire-${owner.key}`,
    detail: "{}",
    ...change,
  };
}

/** The last attempt never left. */
export function releaseParams(owner: Owner, change: Partial<ReleaseParams> = {}): ReleaseParams {
  const { attempts } = owner;
  const error = '{"message":"not sent"}';
  return { ...fencedBy(owner), attempts, error, sweepAfterMs: 0, detail: "{}", ...change };
}

/** A definitive refusal. */
export function failParams(owner: Fenced, change: Partial<FailParams> = {}): FailParams {
  return {
    ...fencedBy(owner),
    error: '{"message":"declined"}',
    replaysDeclines: false,
    lookedAtMs: null,
    detail: "{}",
    ...change,
  };
}

/** A request without an answer. */
export function unknownParams(
  owner: Fenced,
  change: Partial<MarkUnknownParams> = {},
): MarkUnknownParams {
  return {
    ...fencedBy(owner),
    error: '{"message":"no answer"}',
    sweepAfterMs: 1000,
    event: "operation.unknown",
    detail: "{}",
    ...change,
  };
}

/** A person's decision about an operation as it was seen. */
export function resolveParams(
  seen: { readonly tenant: string; readonly key: string; readonly version: number },
  change: Partial<ResolveParams> = {},
): ResolveParams {
  return {
    tenant: seen.tenant,
    key: seen.key,
    version: seen.version,
    status: "DONE",
    resultKind: "json",
    result: '{"id":"by-hand"}',
    providerId: "by-hand",
    error: null,
    runAgain: false,
    repair: false,
    detail: "{}",
    ...change,
  };
}

/** Evidence that contradicts what is stored. */
export function incidentParams(
  key: string,
  change: Partial<RecordIncidentParams> = {},
): RecordIncidentParams {
  return { tenant: "acme", key, incident: "another effect", detail: "{}", ...change };
}

/** Another intent in the place of an operation's. */
export function intentParams(
  key: string,
  change: Partial<RecordIntentParams> = {},
): RecordIntentParams {
  return { tenant: "acme", key, supersededBy: "successor", detail: "{}", ...change };
}

/** Every operation there is. */
export const wholeList: ListParams = {
  tenant: null,
  status: null,
  operation: null,
  review: false,
  limit: 1000,
  after: null,
};

/** An operation with one armed attempt, in the status asked for. */
export async function operationIn(
  store: Store,
  key: string,
  status: Status,
  change: Partial<ClaimParams> = {},
): Promise<OperationRecord> {
  const claim = claimParams(key, change);
  const owner = await store.claim(claim);
  switch (status) {
    case "IN_PROGRESS":
      return owner;
    case "UNKNOWN":
      return made("markUnknown", await store.markUnknown(unknownParams(owner)));
    case "NEEDS_REVIEW": {
      const escalate = { ...fencedBy(owner), reason: "nobody knows", detail: "{}" };
      return made("escalate", await store.escalate(escalate));
    }
    case "DONE": {
      const { tenant } = claim;
      return made("complete", await store.complete(completeParams(key, { tenant })));
    }
    case "FAILED":
      return made("fail", await store.fail(failParams(owner)));
  }
}

/** The same with evidence that contradicts it. */
export async function withIncident(store: Store, seen: OperationRecord): Promise<OperationRecord> {
  const { tenant, key } = seen;
  return made("recordIncident", await store.recordIncident(incidentParams(key, { tenant })));
}

/**
 * An operation that was taken over from an owner who was too slow: what the owner saw last, and the
 * row as it is now. The acquisition's name is the same, so that only the token tells them apart.
 */
export async function takenOver(
  store: Store,
  key: string,
): Promise<{ stale: OperationRecord; owner: OperationRecord }> {
  const stale = await store.claim(claimParams(key, { leaseMs: 0 }));
  const { acquisitionId } = stale;
  const taker = takeOverParams(stale, { acquisitionId });
  const owner = made("takeOver", await store.takeOver(taker));
  return { stale, owner };
}

/** The row that a step of a case must have got; without it the case can't go on. */
export function made(method: string, row: OperationRecord | undefined): OperationRecord {
  if (row === undefined) throw new Error(`${method} returned no row where its conditions hold.`);
  return row;
}
