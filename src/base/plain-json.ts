/**
 * The strict validator in front of every hash (R4). JSON.stringify turns a Map, a Set and a class
 * instance into `{}` and drops what it doesn't know, so that two different payments look like one;
 * here each of them is refused, with its path.
 *
 * @module
 */
import { NeverTwiceError } from "./errors.ts";

/** A value that JSON can carry without loss. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

/** A plain object of {@link Json} values. */
export interface JsonObject {
  readonly [name: string]: Json;
}

/** Nesting beyond this many levels is refused. */
export const maxDepth = 64;

/**
 * Returns a deep, frozen copy that holds only plain JSON. Members whose value is `undefined` are
 * left out, as absent; everything else that JSON can't carry is refused.
 *
 * @throws {NeverTwiceError} UNSUPPORTED_ARGUMENT, naming the path (`$.items[2].when`) and the reason.
 */
export function toPlainJson(value: unknown): Json {
  return copy(value, "$", []);
}

function copy(value: unknown, path: string, parents: readonly object[]): Json {
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "string") return checkedString(value, path);
  if (typeof value === "number") return checkedNumber(value, path);
  if (typeof value !== "object") return refuse(path, describe(value));
  if (parents.includes(value)) return refuse(path, "a reference to one of its own parents");
  if (parents.length >= maxDepth) return refuse(path, `nested deeper than ${maxDepth} levels`);
  const inside = [...parents, value];
  return Array.isArray(value) ? copyArray(value, path, inside) : copyObject(value, path, inside);
}

function copyArray(values: readonly unknown[], path: string, parents: readonly object[]): Json {
  if (Object.getPrototypeOf(values) !== Array.prototype) refuse(path, describe(values));
  if (Object.getOwnPropertySymbols(values).length > 0) refuse(path, "a member named by a symbol");
  const named = Object.getOwnPropertyNames(values).find(
    (name) => name !== "length" && !/^\d+$/.test(name),
  );
  if (named !== undefined) refuse(`${path}.${named}`, "a named member of an array");
  const result: Json[] = [];
  // An index loop, so that a hole is met as undefined and refused instead of skipped.
  for (let index = 0; index < values.length; index += 1) {
    const at = `${path}[${index}]`;
    const member = Object.getOwnPropertyDescriptor(values, index);
    if (member?.get !== undefined || member?.set !== undefined) refuse(at, "a getter or setter");
    result.push(copy(member?.value, at, parents));
  }
  return Object.freeze(result);
}

function copyObject(value: object, path: string, parents: readonly object[]): Json {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && prototype !== Object.prototype) refuse(path, describe(value));
  if (Object.getOwnPropertySymbols(value).length > 0) refuse(path, "a member named by a symbol");
  // Without a prototype, so that a member called "__proto__" is a member and nothing else.
  const result: Record<string, Json> = Object.create(null) as Record<string, Json>;
  for (const [name, member] of Object.entries(Object.getOwnPropertyDescriptors(value))) {
    const at = `${path}.${checkedString(name, path)}`;
    if (member.get !== undefined || member.set !== undefined) refuse(at, "a getter or setter");
    if (member.enumerable === false) refuse(at, "a hidden (non-enumerable) member");
    if (member.value !== undefined) result[name] = copy(member.value, at, parents);
  }
  return Object.freeze(result);
}

function checkedString(value: string, path: string): string {
  if (!value.isWellFormed()) refuse(path, "text with a lone surrogate");
  if (value.includes("\0")) refuse(path, "text with a NUL character");
  return value;
}

function checkedNumber(value: number, path: string): number {
  if (!Number.isFinite(value)) refuse(path, String(value));
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    refuse(path, `the integer ${value}, which is beyond 2^53-1 and not exact; send it as text`);
  }
  return value;
}

function describe(value: unknown): string {
  if (typeof value !== "object" || value === null) return `a value of type ${typeof value}`;
  const name: unknown = Object.getPrototypeOf(value)?.constructor?.name;
  return typeof name === "string" && name !== "" ? `an instance of ${name}` : "not a plain object";
}

function refuse(path: string, reason: string): never {
  throw new NeverTwiceError(
    "UNSUPPORTED_ARGUMENT",
    `Only plain JSON can be guarded, but ${path} is ${reason}. Nothing was recorded and nothing was sent.`,
    { details: { path, reason } },
  );
}
