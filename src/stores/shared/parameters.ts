/**
 * What the ports' methods are given, as parameters of statements.
 *
 * @module
 */
import type { SqlParams, SqlValue } from "./statement.ts";

/** `leaseMs: 5` becomes `lease_ms: 5`. */
export function toSqlParams(params: object): SqlParams {
  const bound: Record<string, SqlValue> = {};
  for (const [name, value] of Object.entries(params)) bound[toSqlName(name)] = toSqlValue(value);
  return bound;
}

/** The place after which a page begins, as `after_…`; all null for the first page. */
export function toPlaceParams<Place extends object>(
  after: Place | null,
  parts: readonly (keyof Place & string)[],
): SqlParams {
  return Object.fromEntries(
    parts.map((part) => [`after_${toSqlName(part)}`, toSqlValue(after?.[part] ?? null)]),
  );
}

const sqlNames = new Map<string, string>();

function toSqlName(name: string): string {
  const known = sqlNames.get(name);
  if (known !== undefined) return known;
  const made = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  sqlNames.set(name, made);
  return made;
}

/** True becomes 1, for SQLite has no truth values; spans become whole milliseconds. */
function toSqlValue(value: unknown): SqlValue {
  if (typeof value === "boolean") return Number(value);
  return typeof value === "number" ? Math.round(value) : (value as SqlValue);
}
