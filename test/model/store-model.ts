/**
 * The store's statements, each one atomic step, with the conditions of `src/stores/sqlite/sql/*.sql`
 * (`store-model.test.ts` holds the two together). A row goes in, the row as written comes out, or
 * undefined where the conditions don't hold. Switches leave one condition out.
 */
import type { OperationRecord } from "../../src/ledger/record.ts";
import type { Row } from "./state.ts";
import type { Switch } from "./setting.ts";

type Off = ReadonlySet<Switch>;

export interface ClaimOf {
  readonly owner: number;
  readonly token: number;
  readonly payload: number;
  readonly leaseMs: number;
  readonly arm: boolean;
  readonly quietMs: number;
}

/** claim.sql, for a key that has no row. One that has stays as it is. */
export function claimRow(now: number, claim: ClaimOf): Row {
  const { owner, token, payload, leaseMs, arm, quietMs } = claim;
  return {
    status: "IN_PROGRESS",
    token,
    owner,
    leaseUntil: now + leaseMs,
    generation: 0,
    attempts: Number(arm),
    attemptsInGeneration: Number(arm),
    firstArmedAt: arm ? now : null,
    lastArmedAt: arm ? now : null,
    quietUntil: arm ? now + quietMs : 0,
    wire: 0,
    result: 0,
    incident: false,
    purged: false,
    version: 1,
    payload,
    createdAt: now,
    settledAt: 0,
  };
}

/** take-over.sql */
export function takeOverRow(
  row: Row | null,
  now: number,
  by: { token: number; owner: number; newToken: number; leaseMs: number },
  off: Off,
): Row | undefined {
  if (row === null || row.token !== by.token) return undefined;
  const free = row.status === "UNKNOWN" || (row.status === "IN_PROGRESS" && row.leaseUntil <= now);
  if (!free && !off.has("take-over-checks")) return undefined;
  return {
    ...row,
    token: by.newToken,
    owner: by.owner,
    status: "IN_PROGRESS",
    leaseUntil: now + by.leaseMs,
    version: row.version + 1,
  };
}

/** The fence of every write that acts: key, token and status (R12). */
function owned(row: Row | null, token: number, fenced = true): row is Row {
  if (row === null) return false;
  return !fenced || (row.token === token && row.status === "IN_PROGRESS");
}

export interface ArmOf {
  readonly token: number;
  readonly attempts: number;
  readonly leaseMs: number;
  readonly quietMs: number;
  readonly resendSpanMs: number;
  readonly newGeneration: boolean;
  readonly lookedAt: number | null;
  readonly wire: number;
}

/** arm.sql */
export function armRow(row: Row | null, now: number, arm: ArmOf, off: Off): Row | undefined {
  const fenced = !off.has("arm-fenced");
  if (!owned(row, arm.token, fenced) || (fenced && row.attempts !== arm.attempts)) return undefined;
  if (!isSafeToArm(row, now, arm, off)) return undefined;
  const { newGeneration } = arm;
  const restarts = newGeneration || row.firstArmedAt === null || off.has("window-from-first-arm");
  return {
    ...row,
    attempts: row.attempts + 1,
    generation: row.generation + Number(newGeneration),
    attemptsInGeneration: newGeneration ? 1 : row.attemptsInGeneration + 1,
    firstArmedAt: restarts ? now : row.firstArmedAt,
    lastArmedAt: now,
    quietUntil: Math.max(row.quietUntil, now + arm.quietMs),
    wire: arm.wire,
    leaseUntil: now + arm.leaseMs,
    version: row.version + 1,
  };
}

function isSafeToArm(row: Row, now: number, arm: ArmOf, off: Off): boolean {
  if (arm.newGeneration) {
    return off.has("arm-checks-absence") || (arm.lookedAt ?? 0) > row.quietUntil;
  }
  if (row.attemptsInGeneration === 0 || off.has("arm-checks-window")) return true;
  return (
    arm.resendSpanMs > 0 && row.firstArmedAt !== null && now < row.firstArmedAt + arm.resendSpanMs
  );
}

/** renew.sql */
export function renewRow(
  row: Row | null,
  now: number,
  renewal: { token: number; leaseMs: number },
): Row | undefined {
  if (!owned(row, renewal.token) || row.leaseUntil <= now) return undefined;
  return { ...row, leaseUntil: now + renewal.leaseMs, version: row.version + 1 };
}

/** release.sql */
export function releaseRow(
  row: Row | null,
  now: number,
  of: { token: number; attempts: number },
): Row | undefined {
  if (!owned(row, of.token) || row.attempts !== of.attempts || row.attemptsInGeneration === 0) {
    return undefined;
  }
  return {
    ...row,
    attempts: row.attempts - 1,
    attemptsInGeneration: row.attemptsInGeneration - 1,
    firstArmedAt: row.attemptsInGeneration === 1 ? null : row.firstArmedAt,
    status: row.attempts === 1 ? "IN_PROGRESS" : "UNKNOWN",
    leaseUntil: now,
    version: row.version + 1,
  };
}

/** complete.sql: evidence, from anybody. Undefined: settled already, and the caller compares. */
export function completeRow(
  row: Row | null,
  now: number,
  of: { effect: number; token: number },
  off: Off,
): Row | undefined {
  if (row === null || row.status === "DONE" || row.status === "FAILED") return undefined;
  if (off.has("success-merged") && !owned(row, of.token)) return undefined;
  return {
    ...row,
    status: "DONE",
    result: of.effect,
    leaseUntil: now,
    settledAt: now,
    version: row.version + 1,
  };
}

/** fail.sql */
export function failRow(
  row: Row | null,
  now: number,
  of: { token: number; replaysDeclines: boolean; lookedAt: number | null },
  off: Off,
): Row | undefined {
  if (!owned(row, of.token, !off.has("fail-fenced"))) return undefined;
  const sole =
    row.attemptsInGeneration === 1 || of.replaysDeclines || off.has("fail-checks-attempts");
  const sure = of.lookedAt === null ? sole : of.lookedAt > row.quietUntil;
  if (!sure) return undefined;
  return { ...row, status: "FAILED", leaseUntil: now, settledAt: now, version: row.version + 1 };
}

/** mark-unknown.sql */
export function markUnknownRow(row: Row | null, now: number, token: number): Row | undefined {
  if (!owned(row, token)) return undefined;
  return { ...row, status: "UNKNOWN", leaseUntil: now, version: row.version + 1 };
}

/** escalate.sql */
export function escalateRow(row: Row | null, now: number, token: number): Row | undefined {
  if (!owned(row, token)) return undefined;
  return { ...row, status: "NEEDS_REVIEW", leaseUntil: now, version: row.version + 1 };
}

/** record-incident.sql */
export function incidentRow(row: Row | null): Row | undefined {
  return row === null ? undefined : { ...row, incident: true, version: row.version + 1 };
}

export interface ResolveOf {
  readonly version: number;
  readonly status: "DONE" | "FAILED" | "UNKNOWN";
  readonly effect: number;
  readonly runAgain: boolean;
}

/** resolve.sql, for a row that can be read */
export function resolveRow(row: Row | null, now: number, of: ResolveOf, off: Off): Row | undefined {
  if (row === null) return undefined;
  if (row.version !== of.version && !off.has("review-version")) return undefined;
  const { status, incident } = row;
  const waits =
    status === "NEEDS_REVIEW" ||
    ((status === "IN_PROGRESS" || status === "UNKNOWN") && incident) ||
    (status === "FAILED" && incident && (of.status === "DONE" || of.status === "FAILED")) ||
    (status === "DONE" && incident && of.status === "DONE");
  const settled =
    of.status === "DONE" ||
    (of.status === "UNKNOWN" && !of.runAgain) ||
    now > row.quietUntil ||
    off.has("review-waits");
  if (!waits || !settled) return undefined;
  return {
    ...row,
    status: of.status,
    result: of.status === "DONE" && status !== "DONE" ? of.effect : row.result,
    generation: row.generation + Number(of.runAgain),
    attemptsInGeneration: of.runAgain ? 0 : row.attemptsInGeneration,
    firstArmedAt: of.runAgain ? null : row.firstArmedAt,
    incident: false,
    settledAt: of.status === "UNKNOWN" ? 0 : now,
    version: row.version + 1,
  };
}

/** purge.sql. Null: the row is gone, which is what a tombstone is there to prevent. */
export function purgeRow(
  row: Row,
  now: number,
  retentionMs: number,
  off: Off,
): Row | null | undefined {
  const settled = row.status === "DONE" || row.status === "FAILED";
  const old = row.settledAt < now - retentionMs;
  const may = settled
    ? !row.purged && !row.incident && old
    : row.status === "UNKNOWN" && off.has("purge-settled-only");
  if (!may) return undefined;
  return off.has("tombstone") ? null : { ...row, purged: true, version: row.version + 1 };
}

const payloads = ["", "first", "second", "third"];

/** Which fingerprint a payload has. */
export function fingerprintOf(payload: number): string {
  return payloads[payload] ?? "";
}

export function acquisitionOf(worker: number): string {
  return `worker-${worker}`;
}

/** The row as `decide` and `decideNext` get it. */
export function recordOf(row: Row, readAt: number): OperationRecord {
  const { status, purged, result } = row;
  return {
    tenant: "acme",
    key: "k",
    keyAlgorithm: "jcs-sha256/1",
    operation: "refund",
    tool: "issue_refund",
    intent: '"refund:order-8812"',
    fingerprint: fingerprintOf(row.payload),
    arguments: purged ? null : "{}",
    status,
    token: row.token,
    acquisitionId: acquisitionOf(row.owner),
    leaseUntilMs: row.leaseUntil,
    generation: row.generation,
    attempts: row.attempts,
    attemptsInGeneration: row.attemptsInGeneration,
    firstArmedAtMs: row.firstArmedAt,
    lastArmedAtMs: row.lastArmedAt,
    quietUntilMs: row.quietUntil,
    wireKey: String(row.wire),
    resultKind: status === "DONE" && !purged ? "json" : null,
    result: status === "DONE" && !purged ? String(result) : null,
    error: status === "FAILED" && !purged ? "{}" : null,
    providerId: result === 0 ? null : String(result),
    reviewReason: status === "NEEDS_REVIEW" ? "in doubt" : null,
    incident: row.incident ? "evidence that contradicts the outcome" : null,
    lookAlike: null,
    supersedes: null,
    supersededBy: null,
    version: row.version,
    journalSeq: 1,
    retentionMs: 1,
    createdAtMs: row.createdAt,
    settledAtMs: row.settledAt === 0 ? null : row.settledAt,
    purgedAtMs: purged ? readAt : null,
    sweeps: 0,
    readAtMs: readAt,
  };
}
