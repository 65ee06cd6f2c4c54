/**
 * The port to a store. Each method is one atomic statement that also writes its journal line. A
 * method that changes a row on conditions returns the row as written, or undefined when the
 * conditions did not hold; then the caller re-reads, and never concludes from the absence.
 *
 * @module
 */
import type { JournalLine } from "./journal.ts";
import type { LateLooks } from "./late-looks.ts";
import type { OperationRecord, ResultKind } from "./record.ts";
import type { Status } from "./status.ts";

/** Which operation. */
export interface OperationId {
  readonly tenant: string;
  readonly key: string;
}

/** Which operation, and the right to act on it (R12). */
export interface Fenced extends OperationId {
  readonly token: number;
}

/** A line's own facts, JSON text. */
export interface WithDetail {
  readonly detail: string;
}

export interface ClaimParams extends OperationId, WithDetail {
  readonly keyAlgorithm: string;
  readonly operation: string;
  readonly tool: string;
  readonly intent: string;
  readonly fingerprint: string;
  readonly arguments: string;
  readonly acquisitionId: string;
  readonly leaseMs: number;
  /** True: attempt 1 is armed by the claim itself (R10). */
  readonly arm: boolean;
  readonly wireKey: string;
  readonly quietMs: number;
  readonly retentionMs: number;
  readonly supersedes: string | null;
  /** What look-alikes share; null for a tool without the rule. */
  readonly lookAlike: string | null;
}

export interface TakeOverParams extends Fenced, WithDetail {
  readonly acquisitionId: string;
  readonly leaseMs: number;
}

export interface ArmParams extends Fenced, WithDetail {
  /** `attempts` as the owner knows it: makes the statement idempotent. */
  readonly attempts: number;
  readonly leaseMs: number;
  readonly quietMs: number;
  /** How long after the first arm a resend is safe; 0 for never (R19). */
  readonly resendSpanMs: number;
  /** Take a new provider key, which needs an absence proved by a look-up (R21). */
  readonly newGeneration: boolean;
  /** The database's time before the look-up started; null when there was none. */
  readonly lookedAtMs: number | null;
  readonly wireKey: string;
}

export interface RenewParams extends Fenced, WithDetail {
  readonly leaseMs: number;
}

/** Takes one armed attempt back: it is a fact that nothing of it can land. */
export interface ReleaseParams extends Fenced, WithDetail {
  readonly attempts: number;
  readonly error: string;
  /** When the sweeper may look, from now. */
  readonly sweepAfterMs: number;
}

/** Evidence of success, from anybody, whatever the token (R14). */
export interface CompleteParams extends OperationId, WithDetail {
  readonly resultKind: ResultKind;
  readonly result: string | null;
  readonly providerId: string | null;
  readonly event: "operation.completed" | "operation.found";
}

export interface FailParams extends Fenced, WithDetail {
  readonly error: string;
  readonly replaysDeclines: boolean;
  /** The database's time before a look-up that proved a final absence; null for a refusal. */
  readonly lookedAtMs: number | null;
}

export interface MarkUnknownParams extends Fenced, WithDetail {
  readonly error: string;
  /** When the sweeper may look, from now. */
  readonly sweepAfterMs: number;
  readonly event: "operation.unknown" | "operation.unsure" | "operation.absent";
}

export interface EscalateParams extends Fenced, WithDetail {
  readonly reason: string;
}

export interface RecordIncidentParams extends OperationId, WithDetail {
  readonly incident: string;
}

export interface RecordIntentParams extends OperationId, WithDetail {
  /** The key of the intent that replaces this one. */
  readonly supersededBy: string;
}

/** A reviewer's decision, bound to the version looked at (R30). */
export interface ResolveParams extends OperationId, WithDetail {
  readonly version: number;
  readonly status: "DONE" | "FAILED" | "UNKNOWN";
  readonly resultKind: ResultKind | null;
  readonly result: string | null;
  readonly providerId: string | null;
  readonly error: string | null;
  /** With UNKNOWN: it did not happen, so the next call sends under a new provider key. */
  readonly runAgain: boolean;
  /** The row couldn't be read: the decision takes the place of what is damaged. */
  readonly repair: boolean;
}

export interface LookAlikeParams extends OperationId {
  readonly operation: string;
  readonly lookAlike: string;
  readonly windowMs: number;
}

/** Where an operation stands in a list: its time, and what tells it from others of the same millisecond. */
export interface ListPlace extends OperationId {
  readonly createdAtMs: number;
}

export interface ListParams {
  readonly tenant: string | null;
  readonly status: Status | null;
  readonly operation: string | null;
  /** Only what waits for a person: NEEDS_REVIEW, and settled operations with an incident. */
  readonly review: boolean;
  readonly limit: number;
  /** Page on after this operation; null for the first page. */
  readonly after: ListPlace | null;
}

export interface DueParams {
  readonly tools: readonly string[];
  readonly limit: number;
}

export interface PurgeParams {
  readonly limit: number;
}

export interface ReadJournalParams {
  readonly tenant: string | null;
  readonly key: string | null;
  /** Page on, in order of tenant, key and seq. */
  readonly after: { readonly tenant: string; readonly key: string; readonly seq: number } | null;
  readonly limit: number;
}

/** What a store says about how it keeps what it acknowledges (R27). */
export interface StoreInspection {
  /** What kind of store it is: ours are `sqlite` and `postgres`. */
  readonly dialect: string;
  /** Number of the newest migration in the database; 0 for none. */
  readonly schemaVersion: number;
  /** Number of the newest migration this program knows. */
  readonly programVersion: number;
  /** The newest migration in the database that older programs can't live with. */
  readonly breakingVersion: number;
  /** Settings by name, as the database reports them. */
  readonly settings: Readonly<Record<string, string>>;
  /** Settings under which an acknowledged write can be lost, as `name=value`. */
  readonly unsafe: readonly string[];
  /** What an operator should know, in sentences. */
  readonly warnings: readonly string[];
}

export interface MigrationReport {
  readonly applied: readonly string[];
  readonly schemaVersion: number;
}

/** Implementations: `nevertwice/sqlite`, `nevertwice/postgres`. */
export interface Store {
  /** Brings the schema up to date; safe to call from many processes at once. */
  migrate(): Promise<MigrationReport>;
  inspect(): Promise<StoreInspection>;
  /** Always returns the row; it is ours when its `acquisitionId` is ours (R8). */
  claim(params: ClaimParams): Promise<OperationRecord>;
  takeOver(params: TakeOverParams): Promise<OperationRecord | undefined>;
  arm(params: ArmParams): Promise<OperationRecord | undefined>;
  renew(params: RenewParams): Promise<OperationRecord | undefined>;
  release(params: ReleaseParams): Promise<OperationRecord | undefined>;
  complete(params: CompleteParams): Promise<OperationRecord | undefined>;
  fail(params: FailParams): Promise<OperationRecord | undefined>;
  markUnknown(params: MarkUnknownParams): Promise<OperationRecord | undefined>;
  escalate(params: EscalateParams): Promise<OperationRecord | undefined>;
  resolve(params: ResolveParams): Promise<OperationRecord | undefined>;
  recordIncident(params: RecordIncidentParams): Promise<OperationRecord | undefined>;
  recordIntent(params: RecordIntentParams): Promise<OperationRecord | undefined>;
  read(id: OperationId): Promise<OperationRecord | undefined>;
  /** Other operations with the same look-alike mark, created inside the window, newest first. */
  findLookAlikes(params: LookAlikeParams): Promise<readonly OperationRecord[]>;
  /** Newest first, those of one millisecond by tenant and key: pages lose nothing and repeat nothing. */
  list(params: ListParams): Promise<readonly OperationRecord[]>;
  /** UNKNOWN, and armed IN_PROGRESS whose lease is over, when their time has come. */
  findDue(params: DueParams): Promise<readonly OperationRecord[]>;
  /** Empties settled operations past their retention; what stays is a tombstone (R23). */
  purge(params: PurgeParams): Promise<number>;
  /** How many {@link Store.purge} would empty if it had no limit. */
  countPurgeable(): Promise<number>;
  readJournal(params: ReadJournalParams): Promise<readonly JournalLine[]>;
  /** A store without them has no late looks (R22); all else works. */
  readonly lateLooks?: LateLooks;
}
