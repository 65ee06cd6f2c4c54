/**
 * First drafts of policies, from what a server says about its tools. They are on the safe side: a
 * tool is drafted as guarded unless its server says that it only reads.
 *
 * @module
 */
import { stringify } from "yaml";
import {
  type ToolDefinition,
  argumentNames,
  findContradictions,
} from "../edges/mcp/tool-definition.ts";

type Draft = Readonly<Record<string, unknown>>;

/** Arguments whose names say that a model writes them freely. */
const wordy =
  /^(reason|comment|description|note|notes|message|memo|text|body|summary|explanation|title)$/i;
const idLike = /(^|_)(id|ids|key|number|no|ref|reference|path|name|slug|uuid|sku|order|ticket)$/i;

/** The policy of one tool as data. */
export function draftPolicy(definition: ToolDefinition): Draft {
  const { annotations } = definition;
  const trusty = findContradictions(definition).length === 0;
  if (annotations?.readOnlyHint === true && trusty) return { kind: "read-only" };
  const names = argumentNames(definition);
  const required = definition.inputSchema.required ?? [];
  const isFree = (name: string): boolean => wordy.test(name) && !required.includes(name);
  const business = names.filter((name) => !isFree(name));
  const spelled = (name: string): string => name.replaceAll(/([a-z])([A-Z])/g, "$1_$2");
  const isPlain = (name: string): boolean => {
    const property = definition.inputSchema.properties?.[name] as { type?: unknown } | undefined;
    return ["string", "integer", "number", "boolean"].includes(String(property?.type));
  };
  const needed = business.filter((name) => required.includes(name) && isPlain(name));
  const ids = needed.filter((name) => idLike.test(spelled(name)));
  const identity = ids.length > 0 ? ids : needed;
  const free = names.filter(isFree);
  return {
    kind: "non-idempotent",
    // Nothing that every call brings says what the business wants done once; its caller has to.
    ...(identity.length === 0
      ? { intentFrom: ["meta", "header", "parameter"] }
      : { intent: [definition.name, ...identity.map((name) => `{args.${name}}`)].join(":") }),
    businessArguments: Object.fromEntries(business.map((name) => [name, null])),
    ...(free.length === 0 ? {} : { freeText: free }),
    timeout: "60s",
  };
}

/** The lines to add under `tools:`. */
export function policyLines(server: string, definition: ToolDefinition): string {
  const draft = { [`${server}/${definition.name}`]: draftPolicy(definition) };
  return stringify({ tools: draft }, { nullStr: "" }).trimEnd();
}
