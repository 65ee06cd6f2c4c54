/**
 * What we need of a SQLite driver. better-sqlite3 and node:sqlite have it.
 *
 * @module
 */

/** An opened database, handed in by the user. */
export interface SqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): { all(...params: unknown[]): unknown[] };
  function(
    name: string,
    options: { deterministic: boolean },
    fn: (text: string) => string,
  ): unknown;
}
