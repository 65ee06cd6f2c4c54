/**
 * The statements of the .sql files, by name, and what runs them. Their texts have named parameters
 * (`:tenant`) and the placeholders `:schema` and `:now`.
 *
 * @module
 */

/** Every statement; both dialects have the same names and parameters, held by a test. */
export type StatementName =
  | "approval-decide"
  | "approval-list"
  | "approval-open"
  | "approval-read"
  | "arm"
  | "claim"
  | "complete"
  | "count-purgeable"
  | "escalate"
  | "fail"
  | "find-due"
  | "find-look-alikes"
  | "inbox-discard"
  | "inbox-due"
  | "inbox-fail"
  | "inbox-list"
  | "inbox-purge"
  | "inbox-read"
  | "inbox-receive"
  | "inbox-redrive"
  | "inbox-reject"
  | "list"
  | "look-claim"
  | "look-find"
  | "look-pass"
  | "mark-unknown"
  | "outbox-claim"
  | "outbox-discard"
  | "outbox-emit"
  | "outbox-fail"
  | "outbox-list"
  | "outbox-next"
  | "outbox-publish"
  | "outbox-purge"
  | "outbox-redrive"
  | "purge"
  | "read"
  | "read-journal"
  | "record-incident"
  | "record-intent"
  | "release"
  | "renew"
  | "resolve"
  | "run-claim"
  | "run-list"
  | "run-next"
  | "run-purge"
  | "run-read"
  | "run-renew"
  | "run-retry"
  | "run-settle"
  | "run-start"
  | "run-suspend"
  | "run-wake"
  | "step-list"
  | "step-record"
  | "take-over"
  | "target-arm"
  | "target-claim"
  | "target-read"
  | "target-settle";

/** What may be bound to a parameter. */
export type SqlValue = string | number | null;
export type SqlParams = Readonly<Record<string, SqlValue>>;
export type SqlRow = Readonly<Record<string, unknown>>;

/** One forward step of the schema. */
export interface Migration {
  readonly version: number;
  readonly name: string;
  /** Programs that don't know it must not run on it. */
  readonly breaking: boolean;
  readonly text: string;
}

/** Runs single statements. */
export interface SqlStatements {
  run(name: StatementName, params: SqlParams): Promise<readonly SqlRow[]>;
}

/** Runs single statements, each a transaction of its own, and transactions of several. */
export interface SqlExecutor<Driver> extends SqlStatements {
  /** @throws {NeverTwiceError} TRANSACTION_OPEN when called inside a transaction of this executor. */
  checkOutside(): void;
  /** Commits after the work, or rolls back what it did and throws its error on. */
  transaction<T>(work: (statements: SqlStatements, driver: Driver) => Promise<T> | T): Promise<T>;
}
