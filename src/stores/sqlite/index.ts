/**
 * `nevertwice/sqlite`: the embedded store.
 *
 * @module
 */
export { SqliteStore, type SqliteStoreOptions } from "./sqlite-store.ts";
export type { SqliteDatabase } from "./sqlite-database.ts";
