/**
 * `nevertwice/postgres`: the production store.
 *
 * @module
 */
export { PostgresStore, type PostgresStoreOptions } from "./postgres-store.ts";
export type {
  PostgresClient,
  PostgresNotice,
  PostgresPool,
  PostgresQuery,
} from "./postgres-client.ts";
