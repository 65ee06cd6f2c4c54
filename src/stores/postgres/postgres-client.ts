/**
 * What we need of a PostgreSQL driver. `pg` has it.
 *
 * @module
 */

/** A pool, handed in by the user. */
export interface PostgresPool<Client extends PostgresClient = PostgresClient> {
  connect(): Promise<Client>;
  /** Where connections that nobody is using report that they broke. */
  on?(event: "error", listener: (error: Error) => void): unknown;
}

/** A connection, borrowed for one statement or one transaction. */
export interface PostgresClient {
  query(query: PostgresQuery): Promise<{ rows: unknown[]; command?: string }>;
  /** With an error the connection is closed and not used again. */
  release(error?: Error | boolean): void;
  on(event: "notice", listener: (notice: PostgresNotice) => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  off(event: "notice", listener: (notice: PostgresNotice) => void): unknown;
  off(event: "error", listener: (error: Error) => void): unknown;
}

export interface PostgresQuery {
  readonly text: string;
  readonly values: unknown[];
  readonly name?: string;
}

/** A message beside the result, e.g. a warning. */
export interface PostgresNotice {
  readonly code?: string | undefined;
  readonly message?: string | undefined;
}
