/**
 * The port to targets: things in the world that are to be in a desired state, each with the highest
 * desired version that anybody asked for.
 *
 * @module
 */

/** Which thing. */
export interface TargetId {
  readonly tenant: string;
  /** The business operation that brings it into its state. */
  readonly operation: string;
  readonly target: string;
}

/**
 * Where the current round of the current version stands: `OPEN`, nothing was sent in it; `ARMED`, a
 * change may be under way; `SETTLED`, the desired state was seen; `REFUSED`, the change was refused
 * for good. A drift that is seen after `SETTLED` begins another round.
 */
export type TargetStatus = "OPEN" | "ARMED" | "SETTLED" | "REFUSED";

/** A target. Times are the database's, in milliseconds since 1970. */
export interface TargetRecord extends TargetId {
  /** The highest that was asked for; an older one is never applied any more. */
  readonly version: number;
  /** Of the desired state of that version. */
  readonly fingerprint: string;
  readonly round: number;
  readonly status: TargetStatus;
  /** Of the last change that was armed; null for none. */
  readonly armedVersion: number | null;
  /** From then on no armed change can take effect any more. */
  readonly quietUntilMs: number;
  /** Raised by every change of hands; each later write must carry it. */
  readonly token: number;
  /** Whoever claimed it last. */
  readonly acquisitionId: string;
  readonly leaseUntilMs: number;
  readonly readAtMs: number;
}

export interface ClaimTargetParams extends TargetId {
  readonly version: number;
  readonly fingerprint: string;
  readonly acquisitionId: string;
  readonly leaseMs: number;
}

export interface ArmTargetParams extends TargetId {
  readonly token: number;
  readonly version: number;
  readonly round: number;
  readonly quietMs: number;
  readonly leaseMs: number;
}

export interface SettleTargetParams extends TargetId {
  readonly token: number;
  readonly version: number;
  /** Null: as it is. */
  readonly status: TargetStatus | null;
  /** The armed change was answered, so that nothing is under way any more. */
  readonly answered: boolean;
}

/** Rows of targets are few and never purged: they are what an old version is known by. */
export interface Targets {
  /**
   * Records a version and takes the lease if it is free. Always returns the row: it is ours when its
   * acquisition id is ours. An older version, and the same with another fingerprint, change nothing.
   * A newer one is recorded also while another holds the lease, who then arms nothing more.
   */
  claim(params: ClaimTargetParams): Promise<TargetRecord>;
  /** Undefined: another owns it, a newer version was recorded, or an earlier change may be under way. */
  arm(params: ArmTargetParams): Promise<TargetRecord | undefined>;
  /** Gives the lease back. Undefined: another owns it. */
  settle(params: SettleTargetParams): Promise<TargetRecord | undefined>;
  read(id: TargetId): Promise<TargetRecord | undefined>;
}
