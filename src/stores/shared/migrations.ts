/**
 * Which migrations to apply, and whether this program fits the schema it meets.
 *
 * @module
 */
import type { Migration } from "./statement.ts";

/** A migration as recorded in the database. */
export interface AppliedMigration {
  readonly version: number;
  readonly breaking: boolean;
}

/** The migrations that are missing, in order. */
export function missingMigrations(
  known: readonly Migration[],
  applied: readonly AppliedMigration[],
): readonly Migration[] {
  const done = new Set(applied.map((migration) => migration.version));
  return known.filter((migration) => !done.has(migration.version));
}

/** The versions that {@link StoreInspection} reports. */
export function versionsOf(
  known: readonly Migration[],
  applied: readonly AppliedMigration[],
): { schemaVersion: number; programVersion: number; breakingVersion: number } {
  const newest = (migrations: readonly { version: number }[]): number =>
    Math.max(0, ...migrations.map((migration) => migration.version));
  return {
    schemaVersion: newest(applied),
    programVersion: newest(known),
    breakingVersion: newest(applied.filter((migration) => migration.breaking)),
  };
}
