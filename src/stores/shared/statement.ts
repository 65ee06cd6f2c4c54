/**
 * The statements of the .sql files, by name, and what runs them. Their texts have named parameters
 * (`:tenant`) and the placeholders `:schema` and `:now`.
 *
 * @module
 */

/** Every statement; both dialects have the same names and parameters, held by a test. */
export type StatementName =
  | "arm"
  | "claim"
  | "complete"
  | "count-purgeable"
  | "escalate"
  | "fail"
  | "find-due"
  | "find-look-alikes"
  | "list"
  | "mark-unknown"
  | "purge"
  | "read"
  | "read-journal"
  | "record-incident"
  | "record-intent"
  | "release"
  | "renew"
  | "resolve"
  | "take-over";

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

/** Runs single statements; each is a transaction of its own. */
export interface SqlExecutor {
  run(name: StatementName, params: SqlParams): Promise<readonly SqlRow[]>;
}
