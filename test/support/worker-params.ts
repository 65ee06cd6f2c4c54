/** Parameters of store statements with sensible values, for tests below the guard and for workers. */
import { randomUUID } from "node:crypto";
import type {
  ArmParams,
  ClaimParams,
  CompleteParams,
  Fenced,
  ResolveParams,
} from "../../src/ledger/store.ts";

/** How long after an arm the operations of these tests are quiet again. */
export const quietMs = 20_000;
export const leaseMs = 10_000;

/** A claim by an acquisition of its own that arms attempt 1. */
export function claimParams(key: string, change: Partial<ClaimParams> = {}): ClaimParams {
  return {
    tenant: "acme",
    key,
    keyAlgorithm: "test",
    operation: "refund",
    tool: "issue_refund",
    intent: '{"intent":"refund"}',
    fingerprint: "fingerprint",
    arguments: '{"amountMinor":48000}',
    acquisitionId: randomUUID(),
    leaseMs,
    arm: true,
    wireKey: `wire-${key}`,
    quietMs,
    retentionMs: 1_000_000,
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
export function fencedBy(owner: { tenant: string; key: string; token: number }): Fenced {
  return { tenant: owner.tenant, key: owner.key, token: owner.token };
}

/** The next attempt of an operation, as its owner knows it. */
export function armParams(
  owner: { tenant: string; key: string; token: number; attempts: number },
  change: Partial<ArmParams> = {},
): ArmParams {
  return {
    ...fencedBy(owner),
    attempts: owner.attempts,
    leaseMs,
    quietMs,
    resendSpanMs: 60_000,
    newGeneration: false,
    lookedAtMs: null,
    wireKey: `wire-${owner.key}`,
    detail: "{}",
    ...change,
  };
}

/** A person's decision about an operation as it was seen. */
export function resolveParams(
  seen: { tenant: string; key: string; version: number },
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
