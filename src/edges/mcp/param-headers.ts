/**
 * Arguments that a tool's schema wants repeated as HTTP headers (`x-mcp-header`, SEP-2243, revision
 * 2026-07-28 of the protocol).
 *
 * @module
 */
import type { ObjectSchema } from "./tool-definition.ts";

/** `Mcp-Param-…` headers for these arguments. Only top-level arguments of a plain type have one. */
export function paramHeaders(
  schema: ObjectSchema,
  args: Readonly<Record<string, unknown>>,
): Readonly<Record<string, string>> {
  const headers = Object.entries(schema.properties ?? {}).flatMap(([argument, property]) => {
    const name: unknown = (property as Record<string, unknown> | null)?.["x-mcp-header"];
    const value = args[argument];
    const plain = ["string", "number", "boolean"].includes(typeof value);
    if (typeof name !== "string" || !plain) return [];
    return [[`Mcp-Param-${name}`, encoded(String(value))] as const];
  });
  return Object.fromEntries(headers);
}

/** Visible ASCII as it is; all else, and what looks encoded already, as base64 of its UTF-8. */
function encoded(value: string): string {
  const plain = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(value);
  if (plain && !value.startsWith("=?base64?")) return value;
  return `=?base64?${Buffer.from(value, "utf8").toString("base64")}?=`;
}
