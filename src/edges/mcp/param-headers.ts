/**
 * Arguments that a tool's schema wants repeated as HTTP headers (`x-mcp-header`, SEP-2243, revision
 * 2026-07-28 of the protocol).
 *
 * @module
 */
import type { ObjectSchema } from "./tool-definition.ts";

type Members = Readonly<Record<string, unknown>>;

const prefix = "Mcp-Param-";

/** An argument, as far down as it lies, and the header that repeats it. */
interface Declared {
  readonly path: readonly string[];
  readonly header: string;
}

/** What the schema wants repeated; found along `properties` only, as the protocol has it. */
function declaredIn(schema: unknown, path: readonly string[] = []): readonly Declared[] {
  const properties = (isMembers(schema) ? schema["properties"] : undefined) ?? {};
  return Object.entries(properties).flatMap(([name, property]) => {
    const below = [...path, name];
    const header: unknown = isMembers(property) ? property["x-mcp-header"] : undefined;
    const own = typeof header === "string" ? [{ path: below, header: `${prefix}${header}` }] : [];
    return [...own, ...declaredIn(property, below)];
  });
}

function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Undefined for what isn't there, or has no form that a header could take. */
function plainAt(args: unknown, path: readonly string[]): string | number | boolean | undefined {
  let value = args;
  for (const name of path) value = isMembers(value) ? value[name] : undefined;
  const type = typeof value;
  return type === "string" || type === "number" || type === "boolean"
    ? (value as string | number | boolean)
    : undefined;
}

/** `Mcp-Param-…` headers for these arguments. Only arguments of a plain type have one. */
export function paramHeaders(
  schema: ObjectSchema,
  args: unknown,
): Readonly<Record<string, string>> {
  const headers = declaredIn(schema).flatMap(({ path, header }) => {
    const value = plainAt(args, path);
    return value === undefined ? [] : [[header, encoded(String(value))] as const];
  });
  return Object.fromEntries(headers);
}

/** Whether the schema wants any header. */
export function wantsHeaders(schema: ObjectSchema): boolean {
  return declaredIn(schema).length > 0;
}

/**
 * The first header that is missing, or says something else than the argument that it repeats. Whoever
 * works on the arguments has to refuse such a request, for others on the way went by the header.
 * https://modelcontextprotocol.io/seps/2243-http-standardization
 */
export function mismatchedHeader(
  schema: ObjectSchema,
  args: unknown,
  header: (name: string) => string | undefined,
): string | undefined {
  return declaredIn(schema).find(({ path, header: name }) => {
    const value = plainAt(args, path);
    return value !== undefined && !says(header(name), value);
  })?.header;
}

function says(header: string | undefined, value: string | number | boolean): boolean {
  const said = header === undefined ? undefined : decoded(header);
  if (said === undefined) return false;
  return said === String(value) || (typeof value === "number" && Number(said) === value);
}

const wrapped = /^=\?base64\?(.*)\?=$/;

/** Visible ASCII as it is; all else, and what looks encoded already, as base64 of its UTF-8. */
function encoded(value: string): string {
  const plain = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(value);
  if (plain && !value.startsWith("=?base64?")) return value;
  return `=?base64?${Buffer.from(value, "utf8").toString("base64")}?=`;
}

/** Undefined where it claims to be encoded and isn't. */
function decoded(value: string): string | undefined {
  const base64 = wrapped.exec(value)?.[1];
  if (base64 === undefined) return value;
  const text = Buffer.from(base64, "base64").toString("utf8");
  return Buffer.from(text, "utf8").toString("base64") === base64 ? text : undefined;
}
