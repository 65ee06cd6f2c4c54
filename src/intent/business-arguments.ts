/**
 * The arguments that a business effect depends on. What is not declared here — the model's free
 * text above all — is neither hashed nor sent (R3).
 *
 * @module
 */
import { canonicalJson } from "../base/canonical-json.ts";
import { NeverTwiceError } from "../base/errors.ts";
import type { Json, JsonObject } from "../base/plain-json.ts";

/** Brings one field to its one spelling, e.g. `"#8812"` to `"8812"`. Must be pure and idempotent. */
export type Normaliser = (value: Json) => Json;

/** The declared fields, each with its normaliser or `true` for "as it is". */
export type BusinessFields = ReadonlyMap<string, Normaliser | true>;

/** Business arguments, captured once: what is hashed, stored, sent and sent again is this (R17). */
export interface CapturedArguments {
  /** Deeply frozen. */
  readonly value: JsonObject;
  /** Their canonical JSON. */
  readonly text: string;
}

/**
 * Picks and normalises the declared fields of arguments that already fit the tool's schema.
 *
 * @throws {NeverTwiceError} UNSUPPORTED_ARGUMENT for what is not plain JSON.
 */
export function captureArguments(
  args: Readonly<Record<string, unknown>>,
  fields: BusinessFields,
): CapturedArguments {
  const picked = Object.create(null) as Record<string, Json>;
  for (const [name, normaliser] of fields) {
    const value = Object.hasOwn(args, name) ? args[name] : undefined;
    if (value === undefined) continue;
    const one: unknown = normaliser === true ? value : normaliser(value as Json);
    if (one === undefined) throw lostValue(name);
    picked[name] = one as Json;
  }
  return restoreArguments(canonicalJson(picked));
}

/** A field that is neither hashed nor sent would make two different effects look like one. */
function lostValue(name: string): NeverTwiceError {
  return new NeverTwiceError(
    "UNSUPPORTED_ARGUMENT",
    `Only plain JSON can be guarded, but $.${name} is undefined after its normaliser. Nothing was recorded and nothing was sent.`,
    { details: { path: `$.${name}`, reason: "undefined after its normaliser" } },
  );
}

/** Reads captured arguments back from their stored canonical JSON. */
export function restoreArguments(text: string): CapturedArguments {
  return { value: deepFreeze(JSON.parse(text) as JsonObject), text };
}

/** Names of the fields in which two captured sets of arguments differ. */
export function differingFields(a: JsonObject, b: JsonObject): string[] {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].filter((name) => !sameMember(a, b, name)).toSorted();
}

function sameMember(a: JsonObject, b: JsonObject, name: string): boolean {
  if (!Object.hasOwn(a, name) || !Object.hasOwn(b, name)) return false;
  return canonicalJson(a[name]) === canonicalJson(b[name]);
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  for (const member of Object.values(value)) deepFreeze(member);
  return Object.freeze(value);
}
