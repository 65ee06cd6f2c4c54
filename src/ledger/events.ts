/**
 * The ports to the inbox and the outbox: events that come in, each handled once per consumer, and
 * events that go out, each published at least once under the same id.
 *
 * @module
 */

/** `PENDING` waits to be handled, `DONE` is handled, `DEAD` failed too often and waits for a person. */
export type InboxStatus = "PENDING" | "DONE" | "DEAD";

/** Which event, for which consumer. */
export interface InboxId {
  readonly tenant: string;
  readonly consumer: string;
  /** Who made the event; ids are unique within it. */
  readonly source: string;
  readonly id: string;
}

/** A received event. Times are the database's, in milliseconds since 1970. */
export interface InboxRecord extends InboxId {
  readonly type: string;
  readonly subject: string | null;
  /** What the event tells, where producers give one fact two ids. Set once handled. */
  readonly fact: string | null;
  /** JSON of the event, kept until it is handled. */
  readonly event: string | null;
  /** JSON of a message that is no event, see {@link InboxRejectParams}; null for events. */
  readonly raw: string | null;
  readonly status: InboxStatus;
  /** Of the delivery that handled it. */
  readonly receipt: string;
  readonly attempts: number;
  readonly error: string | null;
  readonly receivedAtMs: number;
  readonly dueAtMs: number;
  readonly settledAtMs: number | null;
  /** Who gave it up, and why. */
  readonly discardedBy: string | null;
  readonly discardReason: string | null;
  readonly readAtMs: number;
}

export interface ReceiveParams extends InboxId {
  readonly type: string;
  readonly subject: string | null;
  readonly fact: string | null;
  readonly receipt: string;
  readonly retentionMs: number;
}

export interface InboxFailParams extends InboxId {
  readonly type: string;
  readonly subject: string | null;
  readonly event: string;
  readonly error: string;
  /** The event is DEAD when it failed that often. */
  readonly poisonAfter: number;
  readonly retryAfterMs: number;
  readonly retentionMs: number;
}

/** A message that is no event: it is kept as a dead letter, and can only be looked at and given up. */
export interface InboxRejectParams extends InboxId {
  /** JSON of what is kept of the message. */
  readonly raw: string;
  /** Why it is no event. */
  readonly error: string;
  readonly retentionMs: number;
}

/** Who gives an event up, and why. */
export interface Discard {
  readonly by: string;
  readonly reason: string;
}

/** Where an event stands in a list. */
export interface InboxPlace extends InboxId {
  readonly receivedAtMs: number;
}

export interface InboxListParams {
  readonly tenant: string | null;
  readonly consumer: string | null;
  readonly status: InboxStatus | null;
  readonly subject?: string | null;
  readonly id?: string | null;
  readonly source?: string | null;
  /** Page on after this event; null for the first page. */
  readonly after: InboxPlace | null;
  readonly limit: number;
}

/** What of the inbox belongs into the transaction of the state change. */
export interface InboxWriter {
  /** The row, which is ours when the receipt is ours; undefined when another id told the same fact. */
  receive(params: ReceiveParams): Promise<InboxRecord | undefined>;
}

export interface Inbox extends InboxWriter {
  fail(params: InboxFailParams): Promise<InboxRecord | undefined>;
  /** Keeps what is no event as a dead letter. */
  reject(params: InboxRejectParams): Promise<InboxRecord>;
  /** By id, else by fact. */
  read(params: InboxId & { readonly fact: string | null }): Promise<InboxRecord | undefined>;
  /** PENDING events of a consumer whose time has come, oldest first. */
  due(params: {
    readonly consumer: string;
    readonly limit: number;
  }): Promise<readonly InboxRecord[]>;
  /** Newest first, those of one millisecond by tenant, consumer, source and id. */
  list(params: InboxListParams): Promise<readonly InboxRecord[]>;
  /** DEAD to PENDING, but for what is no event. */
  redrive(id: InboxId): Promise<InboxRecord | undefined>;
  /** PENDING or DEAD to DONE, unhandled. */
  discard(params: InboxId & Discard): Promise<InboxRecord | undefined>;
  purge(params: { readonly limit: number }): Promise<number>;
}

export type OutboxStatus = "PENDING" | "PUBLISHED" | "DEAD";

/** Which event of the outbox. */
export interface OutboxId {
  readonly tenant: string;
  readonly id: string;
}

/** An event to publish. Times are the database's, in milliseconds since 1970. */
export interface OutboxRecord extends OutboxId {
  /** Rises in the order in which events are written. */
  readonly position: number;
  readonly type: string;
  /** Events of one subject leave in their order; null for no order. */
  readonly subject: string | null;
  /** JSON of the CloudEvent. */
  readonly event: string;
  readonly status: OutboxStatus;
  readonly token: number;
  readonly attempts: number;
  readonly error: string | null;
  readonly createdAtMs: number;
  readonly dueAtMs: number;
  readonly settledAtMs: number | null;
  /** Who gave it up, and why. */
  readonly discardedBy: string | null;
  readonly discardReason: string | null;
  readonly readAtMs: number;
}

export interface EmitParams extends OutboxId {
  readonly type: string;
  readonly subject: string | null;
  readonly event: string;
  readonly retentionMs: number;
}

/** Which event, and the right to say what became of it. */
export interface OutboxFence {
  readonly position: number;
  readonly token: number;
}

export interface OutboxFailParams extends OutboxFence {
  readonly error: string;
  readonly poisonAfter: number;
  readonly retryAfterMs: number;
}

export interface OutboxListParams {
  readonly tenant: string | null;
  readonly status: OutboxStatus | null;
  readonly subject?: string | null;
  readonly id?: string | null;
  /** Page on after this position, which no two events share; null for the first page. */
  readonly beforePosition: number | null;
  readonly limit: number;
}

/** What of the outbox belongs into the transaction of what the event tells of. */
export interface OutboxWriter {
  /** An id that is there already stays as it is. */
  emit(params: EmitParams): Promise<OutboxRecord>;
}

export interface Outbox extends OutboxWriter {
  /** Of each subject the first that waits and is due, leased. */
  claim(params: {
    readonly leaseMs: number;
    readonly limit: number;
  }): Promise<readonly OutboxRecord[]>;
  publish(fence: OutboxFence): Promise<OutboxRecord | undefined>;
  fail(params: OutboxFailParams): Promise<OutboxRecord | undefined>;
  /** Milliseconds until the next event is due, not above zero when one is; undefined for none. */
  nextDueInMs(): Promise<number | undefined>;
  /** Newest first. */
  list(params: OutboxListParams): Promise<readonly OutboxRecord[]>;
  /** DEAD to PENDING, unless it was given up. */
  redrive(id: OutboxId): Promise<OutboxRecord | undefined>;
  /** A DEAD event stays DEAD, and can't be redriven any more. */
  discard(params: OutboxId & Discard): Promise<OutboxRecord | undefined>;
  purge(params: { readonly limit: number }): Promise<number>;
}
