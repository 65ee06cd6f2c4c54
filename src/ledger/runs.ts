/**
 * The port to the runs of flows: their steps and their approvals, as durable rows.
 *
 * @module
 */

/** `RUNNING` is leased or due, `WAITING` sleeps until a time or a wake-up, the others are the end. */
export type RunStatus = "RUNNING" | "WAITING" | "DONE" | "FAILED";

export interface RunId {
  readonly tenant: string;
  readonly runId: string;
}

/** A run. Times are the database's, in milliseconds since 1970. */
export interface RunRecord extends RunId {
  readonly flow: string;
  /** Of the flow's code that started it; only that version goes on with it. */
  readonly version: number;
  /** JSON. */
  readonly input: string;
  readonly status: RunStatus;
  /** What a waiting run waits for, in words. */
  readonly waitsFor: string | null;
  /** JSON; null for undefined. */
  readonly output: string | null;
  /** JSON of the last error. */
  readonly error: string | null;
  /** Raised by every claim; each later write must carry it. */
  readonly token: number;
  /** Wake-ups so far. */
  readonly wakes: number;
  /** Claims since the run last got on. */
  readonly attempts: number;
  /** End of the lease, or when to wake; null for never. */
  readonly dueAtMs: number | null;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly settledAtMs: number | null;
  readonly purgedAtMs: number | null;
  readonly readAtMs: number;
}

/** The right to write on a run. */
export interface RunFence extends RunId {
  readonly token: number;
}

/** A version of a flow that a process has the code of. */
export interface FlowVersion {
  readonly flow: string;
  readonly version: number;
}

export interface StartParams extends RunId, FlowVersion {
  readonly input: string;
  readonly retentionMs: number;
}

export interface ClaimRunsParams {
  readonly flows: readonly FlowVersion[];
  /** Only this run; null for any. */
  readonly run: RunId | null;
  readonly leaseMs: number;
  readonly limit: number;
}

export interface SuspendParams extends RunFence {
  /** As read; a wake-up that came since makes the run due at once. */
  readonly wakes: number;
  readonly waitsFor: string | null;
  /** Null: only a wake-up wakes it. */
  readonly wakeAtMs: number | null;
  readonly error: string | null;
  /** 0 when the run got on. */
  readonly attempts: number;
}

export interface SettleRunParams extends RunFence {
  readonly status: "DONE" | "FAILED";
  readonly output: string | null;
  readonly error: string | null;
}

/** Where a run stands in a list. */
export interface RunPlace extends RunId {
  readonly createdAtMs: number;
}

export interface RunListParams {
  readonly tenant: string | null;
  readonly flow: string | null;
  readonly status: RunStatus | null;
  /** Page on after this run; null for the first page. */
  readonly after: RunPlace | null;
  readonly limit: number;
}

export type StepKind = "decide" | "act" | "approve" | "sleep" | "emit" | "compensate";

/** A step of a run. */
export interface StepRecord extends RunId {
  /** Unique in its run. */
  readonly name: string;
  /** Where the flow's code first came to it. */
  readonly position: number;
  /** It began while another step was under way, so its place among the others may vary. */
  readonly concurrent: boolean;
  readonly kind: StepKind;
  /** `STARTED`: an effect may be under way. */
  readonly status: "STARTED" | "DONE";
  /** Of the operation that the step started. */
  readonly key: string | null;
  readonly fingerprint: string | null;
  /** JSON; null for undefined. */
  readonly value: string | null;
  readonly startedAtMs: number;
  readonly settledAtMs: number | null;
  readonly readAtMs: number;
}

export interface StepParams extends RunFence {
  readonly name: string;
  readonly position: number;
  readonly concurrent: boolean;
  readonly kind: StepKind;
  readonly status: "STARTED" | "DONE";
  readonly key: string | null;
  readonly fingerprint: string | null;
  readonly value: string | null;
}

export type ApprovalStatus = "OPEN" | "APPROVED" | "DECLINED" | "EXPIRED";

export interface ApprovalId extends RunId {
  readonly name: string;
}

/** A person's yes or no to exactly one key and fingerprint. */
export interface ApprovalRecord extends ApprovalId {
  readonly key: string;
  readonly fingerprint: string;
  /** JSON of what is to be approved. */
  readonly payload: string;
  readonly status: ApprovalStatus;
  /** What a decision is bound to. */
  readonly version: number;
  readonly decidedBy: string | null;
  readonly why: string | null;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly decidedAtMs: number | null;
  readonly readAtMs: number;
}

export interface OpenApprovalParams extends RunFence {
  readonly name: string;
  readonly key: string;
  readonly fingerprint: string;
  readonly payload: string;
  readonly waitMs: number;
}

export interface DecideApprovalParams extends ApprovalId {
  readonly version: number;
  readonly fingerprint: string;
  readonly status: "APPROVED" | "DECLINED" | "EXPIRED";
  readonly decidedBy: string | null;
  readonly why: string | null;
}

/** Where an approval stands in a list. */
export interface ApprovalPlace extends ApprovalId {
  readonly createdAtMs: number;
}

export interface ApprovalListParams {
  readonly tenant: string | null;
  readonly runId: string | null;
  readonly status: ApprovalStatus | null;
  /** Page on after this approval; null for the first page. */
  readonly after: ApprovalPlace | null;
  readonly limit: number;
}

/** What may share a transaction with an event. */
export interface RunWriter {
  /** A run that is there already stays as it is. */
  start(params: StartParams): Promise<RunRecord>;
  /** Undefined: another owns the run, or the step is recorded otherwise. */
  recordStep(params: StepParams): Promise<StepRecord | undefined>;
  wake(id: RunId): Promise<RunRecord | undefined>;
  decideApproval(params: DecideApprovalParams): Promise<ApprovalRecord | undefined>;
}

export interface Runs extends RunWriter {
  /** Runs that are due. One whose row another statement holds at the moment may be passed over. */
  claim(params: ClaimRunsParams): Promise<readonly RunRecord[]>;
  renew(params: RunFence & { readonly leaseMs: number }): Promise<RunRecord | undefined>;
  suspend(params: SuspendParams): Promise<RunRecord | undefined>;
  settle(params: SettleRunParams): Promise<RunRecord | undefined>;
  /** FAILED to WAITING, due at once. */
  retry(id: RunId): Promise<RunRecord | undefined>;
  read(id: RunId): Promise<RunRecord | undefined>;
  /** Newest first, those of one millisecond by tenant and id. */
  list(params: RunListParams): Promise<readonly RunRecord[]>;
  /** Milliseconds until the next run is due, not above zero when one is; undefined for none. */
  nextDueInMs(flows: readonly FlowVersion[]): Promise<number | undefined>;
  purge(params: { readonly limit: number }): Promise<number>;
  listSteps(id: RunId): Promise<readonly StepRecord[]>;
  openApproval(params: OpenApprovalParams): Promise<ApprovalRecord | undefined>;
  readApproval(id: ApprovalId): Promise<ApprovalRecord | undefined>;
  /** Newest first, those of one millisecond by tenant, run and name. */
  listApprovals(params: ApprovalListParams): Promise<readonly ApprovalRecord[]>;
}
