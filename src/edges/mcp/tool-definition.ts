/**
 * Tool definitions as upstream servers give them: what is pinned, and what their hints are worth.
 * Hints are claims of a server about itself. They may make us more careful, never less.
 * https://modelcontextprotocol.io/specification/2025-11-25/server/tools
 *
 * @module
 */
import { canonicalJson, sha256Hex } from "../../base/canonical-json.ts";
import { maxDepth } from "../../base/plain-json.ts";
import { valueAt } from "./json-pointer.ts";
import type { ToolKind } from "../../guard/tool.ts";

/** Hints of a server about a tool. Absent means: not said. */
export interface ToolHints {
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

/** The part of a JSON Schema that is looked at here; all of it is passed on. */
export interface ObjectSchema {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
  readonly [member: string]: unknown;
}

/** A tool as `tools/list` gives it, vendor fields included. */
export interface ToolDefinition {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: ObjectSchema;
  readonly outputSchema?: unknown;
  readonly annotations?: ToolHints;
  readonly [member: string]: unknown;
}

/** True for what can be taken for a tool's definition. */
export function isToolDefinition(value: unknown): value is ToolDefinition {
  if (typeof value !== "object" || value === null) return false;
  const { name, inputSchema } = value as Record<string, unknown>;
  return typeof name === "string" && typeof inputSchema === "object" && inputSchema !== null;
}

/** The parts that a model or a policy leans on. `_meta` and icons may change freely. */
const pinnedParts = [
  "name",
  "title",
  "description",
  "inputSchema",
  "outputSchema",
  "annotations",
] as const;

/**
 * SHA-256 over the definition as it was looked at; another one means: look again.
 *
 * @throws {NeverTwiceError} UNSUPPORTED_ARGUMENT for one that is nested too deep.
 */
export function definitionHash(definition: ToolDefinition): string {
  const pinned = pinnedParts.flatMap((part) =>
    definition[part] === undefined ? [] : [[part, hashable(definition[part])] as const],
  );
  return sha256Hex(canonicalJson(Object.fromEntries(pinned)));
}

/** A schema may bound a number at 2^64-1, and nothing is sent of it: what can't be exact is taken as text. */
function hashable(value: unknown, depth = 0): unknown {
  if (typeof value === "number" && !isExact(value)) return `number ${value}`;
  if (typeof value === "string") return hashableText(value);
  if (typeof value !== "object" || value === null || depth > maxDepth) return value;
  if (Array.isArray(value)) return value.map((each: unknown) => hashable(each, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [hashableText(name), hashable(each, depth + 1)]),
  );
}

function isExact(value: number): boolean {
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
}

function hashableText(text: string): string {
  return text.isWellFormed() && !text.includes("\0") ? text : JSON.stringify(text);
}

/** Names of the arguments that a model is shown, in whichever part of the schema they stand. */
export function argumentNames({ inputSchema }: ToolDefinition): readonly string[] {
  return [...new Set(namesIn(inputSchema, inputSchema, new Set()))];
}

/** Parts of a schema that speak of the same object as the schema itself: schemas, and lists or maps of them. */
const sameObject = ["if", "then", "else"] as const;
const sameObjects = ["allOf", "anyOf", "oneOf", "dependentSchemas"] as const;

function namesIn(schema: unknown, root: ObjectSchema, seen: Set<unknown>): readonly string[] {
  if (typeof schema !== "object" || schema === null || seen.has(schema)) return [];
  seen.add(schema);
  const { properties, $ref, ...rest } = schema as ObjectSchema;
  const parts = [
    ...sameObject.map((name) => rest[name]),
    ...sameObjects.flatMap((name) => Object.values(rest[name] ?? {}) as unknown[]),
    typeof $ref === "string" ? valueAt(root, $ref.replace("#", "")) : undefined,
  ];
  const below = parts.flatMap((part) => namesIn(part, root, seen));
  return [...Object.keys(properties ?? {}), ...below];
}

/** The definition without some arguments: what is hidden from the model. */
export function withoutArguments(
  definition: ToolDefinition,
  hidden: readonly string[],
): ToolDefinition {
  const { properties = {}, required } = definition.inputSchema;
  if (hidden.length === 0) return definition;
  const shown = Object.entries(properties).filter(([name]) => !hidden.includes(name));
  return {
    ...definition,
    inputSchema: {
      ...definition.inputSchema,
      properties: Object.fromEntries(shown),
      ...(required === undefined
        ? {}
        : { required: required.filter((name) => !hidden.includes(name)) }),
    },
  };
}

/** Something about a tool's definition that its operator should see. */
export interface DefinitionRemark {
  /** `conflict`: a hint says more than the policy's kind allows for. `note`: worth knowing. */
  readonly severity: "conflict" | "note";
  readonly message: string;
}

/**
 * Compares the kind that a policy gives a tool with the server's own hints. Only a hint that calls
 * the tool more dangerous than the policy does is a conflict.
 */
export function compareHints(
  definition: ToolDefinition,
  kind: ToolKind,
): readonly DefinitionRemark[] {
  const { readOnlyHint, destructiveHint, idempotentHint } = definition.annotations ?? {};
  const conflict = (message: string): DefinitionRemark => ({ severity: "conflict", message });
  const note = (message: string): DefinitionRemark => ({ severity: "note", message });
  switch (kind) {
    case "read-only":
      if (readOnlyHint === false)
        return [conflict("the policy says read-only, the server says that it is not")];
      return [];
    case "convergent":
      if (idempotentHint === false && readOnlyHint !== true)
        return [conflict("the policy says convergent, the server says not idempotent")];
      return destructiveHint === true
        ? [note("convergent, and the server says that it may destroy")]
        : [];
    case "non-idempotent":
      return readOnlyHint === true
        ? [note("guarded, though the server says that it only reads")]
        : [];
  }
}

const changingVerbs =
  /(^|[^a-z])(add|apply|approve|book|buy|cancel|charge|commit|create|delete|deploy|drop|edit|execute|insert|install|merge|move|pay|post|publish|push|put|refund|remove|rename|reset|restart|run|send|set|submit|transfer|update|upload|write)([^a-z]|$)/;

/** What a definition says against itself, found without calling anything. */
export function findContradictions(definition: ToolDefinition): readonly string[] {
  const { annotations } = definition;
  if (annotations === undefined) return ["it has no hints"];
  const { readOnlyHint, destructiveHint, idempotentHint } = annotations;
  const found: string[] = [];
  if (readOnlyHint === true) {
    const verb = changingVerbIn(definition);
    if (verb !== undefined) found.push(`readOnlyHint is true, but ${verb}`);
    if (destructiveHint === true) found.push("readOnlyHint and destructiveHint are both true");
    if (idempotentHint === false)
      found.push("idempotentHint: false means nothing beside readOnlyHint: true");
  }
  return found;
}

function changingVerbIn(definition: ToolDefinition): string | undefined {
  const spelled = (text: string): string =>
    text.replaceAll(/([a-z])([A-Z])/g, "$1_$2").toLowerCase();
  const name = changingVerbs.exec(spelled(definition.name))?.[2];
  if (name !== undefined) return `its name says "${name}"`;
  for (const [argument, schema] of Object.entries(definition.inputSchema.properties ?? {})) {
    const choices: unknown = (schema as { enum?: unknown } | null)?.enum;
    const verb = (Array.isArray(choices) ? choices : [])
      .map(String)
      .find((choice) => changingVerbs.test(spelled(choice)));
    if (verb !== undefined) return `its argument ${argument} may be "${verb}"`;
  }
  return undefined;
}
