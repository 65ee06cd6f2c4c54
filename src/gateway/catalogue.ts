/**
 * The tools that agents are shown: what the upstream servers list, each with its policy, its pin and
 * its verdict. What isn't fit to be called is not shown, and a call of it is told why.
 *
 * @module
 */
import { NeverTwiceError, errorText, isNeverTwiceError } from "../base/errors.ts";
import type { Tool } from "../guard/tool.ts";
import { guardedTool, hiddenArguments } from "../edges/mcp/guarded-tool.ts";
import { type Template, argumentsOf } from "../edges/mcp/template.ts";
import {
  type ToolDefinition,
  argumentNames,
  compareHints,
  definitionHash,
  withoutArguments,
} from "../edges/mcp/tool-definition.ts";
import { type GuardPolicy, type ToolPolicy, policyName } from "../edges/mcp/tool-policy.ts";
import type { UpstreamConnection } from "../edges/mcp/upstream-connection.ts";
import type { GatewayConfig } from "./config/gateway-config.ts";
import { policyLines } from "./draft-policy.ts";
import type { Pins } from "./pins.ts";

type Members = Readonly<Record<string, unknown>>;

/** A tool as the gateway answers for it. */
export type CatalogueEntry = {
  readonly shownName: string;
  /** `server/tool`. */
  readonly name: string;
  readonly upstream: UpstreamConnection;
} & (
  | {
      readonly verdict: "guarded";
      readonly shown: ToolDefinition;
      readonly policy: GuardPolicy;
      readonly tool: Tool<Members>;
    }
  | { readonly verdict: "pass"; readonly shown: ToolDefinition }
  | { readonly verdict: "refused"; readonly refusal: NeverTwiceError }
);

/** See the module. */
export interface Catalogue {
  /** By shown name. */
  readonly entries: ReadonlyMap<string, CatalogueEntry>;
  /** What an operator should know, in sentences. */
  readonly remarks: readonly string[];
}

/** What the servers list, by server; a server that has not been reached yet is missing. */
export type Listings = ReadonlyMap<string, readonly ToolDefinition[]>;

/** Builds the catalogue. Never throws for what a server lists: such a tool is refused. */
export function buildCatalogue(
  config: GatewayConfig,
  pins: Pins,
  listings: Listings,
  connections: ReadonlyMap<string, UpstreamConnection>,
): Catalogue {
  const remarks: string[] = [];
  const names = shownNames(config, listings);
  const entries = new Map<string, CatalogueEntry>();
  for (const [server, upstream] of connections) {
    const listed = listings.get(server) ?? [];
    const listedNames = new Set(listed.map(({ name }) => name));
    const pinnedTools = listed.filter(
      (each) => pins.get(`${server}/${each.name}`) === hashOf(each),
    );
    const pinnedNames = new Set(pinnedTools.map(({ name }) => name));
    for (const definition of listed) {
      const name = `${server}/${definition.name}`;
      const base = { shownName: names.get(name) ?? definition.name, name, upstream };
      const judged = judgeQuietly(config, pins, definition, pinnedNames, upstream);
      remarks.push(...judged.remarks.map((remark) => `${name}: ${remark}`));
      put(entries, { ...base, ...judged.entry });
    }
    for (const policy of config.policies.values()) {
      if (policy.upstream !== server || listedNames.has(policy.tool)) continue;
      const name = policyName(policy);
      const shownName = names.get(name) ?? policy.tool;
      const refusal = absent(name, shownName, policy, listings.has(server));
      if (listings.has(server)) remarks.push(refusal.message);
      put(entries, { shownName, name, upstream, verdict: "refused", refusal });
    }
  }
  return { entries, remarks };
}

/** Two tools under one name, such as `b__c` of `a` and `c` of `a__b`: neither is called. */
function put(entries: Map<string, CatalogueEntry>, entry: CatalogueEntry): void {
  const { shownName, name, upstream } = entry;
  const other = entries.get(shownName);
  if (other === undefined || other.name === name) return void entries.set(shownName, entry);
  const reason = `${other.name} would be called ${shownName} as well: give one of the servers another name`;
  entries.set(shownName, {
    shownName,
    name,
    upstream,
    verdict: "refused",
    refusal: held(name, reason),
  });
}

/**
 * Names that clash, among listed tools and policies of servers that are not up, get their server's name in
 * front. So does a name that is another tool's with its server's name in front: nobody takes its place.
 */
function shownNames(config: GatewayConfig, listings: Listings): ReadonlyMap<string, string> {
  const all = new Map<string, string>();
  for (const policy of config.policies.values()) all.set(policyName(policy), policy.tool);
  for (const [server, listed] of listings)
    for (const { name } of listed) all.set(`${server}/${name}`, name);
  const counts = new Map<string, number>();
  for (const tool of all.values()) counts.set(tool, (counts.get(tool) ?? 0) + 1);
  const prefixed = new Set([...all.keys()].map(withPrefix));
  const shown = [...all].map(([name, tool]) => {
    const clashes = (counts.get(tool) ?? 0) > 1 || prefixed.has(tool);
    return [name, config.prefix === "always" || clashes ? withPrefix(name) : tool] as const;
  });
  return new Map(shown);
}

function withPrefix(name: string): string {
  return name.replace("/", "__");
}

type Entry =
  | {
      readonly verdict: "guarded";
      readonly shown: ToolDefinition;
      readonly policy: GuardPolicy;
      readonly tool: Tool<Members>;
    }
  | { readonly verdict: "pass"; readonly shown: ToolDefinition }
  | { readonly verdict: "refused"; readonly refusal: NeverTwiceError };

interface Judged {
  readonly entry: Entry;
  readonly remarks: readonly string[];
}

/** A definition that nobody can work with is its own trouble, and no other tool's. */
function judgeQuietly(...args: Parameters<typeof judge>): Judged {
  const [, , definition, , upstream] = args;
  try {
    return judge(...args);
  } catch (error) {
    const name = `${upstream.name}/${definition.name}`;
    return refused(held(name, `its definition can't be worked with: ${errorText(error)}`));
  }
}

/** Undefined for a definition that has none, and so is never pinned. */
function hashOf(definition: ToolDefinition): string | undefined {
  try {
    return definitionHash(definition);
  } catch {
    return undefined;
  }
}

function judge(
  config: GatewayConfig,
  pins: Pins,
  definition: ToolDefinition,
  pinnedNames: ReadonlySet<string>,
  upstream: UpstreamConnection,
): Judged {
  const name = `${upstream.name}/${definition.name}`;
  const policy = config.policies.get(name);
  const { execution: _asTask, ...shown } = definition;
  if (policy === undefined) {
    if (config.unlisted === "pass" && needsTask(definition)) return refused(held(name, asTaskOnly));
    if (config.unlisted === "pass") return { entry: { verdict: "pass", shown }, remarks: [] };
    return refused(unlisted(name, definition));
  }
  if (needsTask(definition)) return refused(held(name, asTaskOnly));
  const pinned = pins.get(name);
  if (pinned !== definitionHash(definition)) return refused(notPinned(name, pinned));
  const hints = compareHints(definition, policy.kind);
  const conflict = hints.find(({ severity }) => severity === "conflict");
  const notes = hints.map(({ message }) => message);
  if (conflict !== undefined && !policy.overrideHints)
    return refused(
      held(
        name,
        `${conflict.message} (${policy.place}; \`overrideHints: true\` lets the policy stand)`,
      ),
    );
  if (policy.kind !== "non-idempotent")
    return { entry: { verdict: "pass", shown }, remarks: notes };
  const fault = findMisfit(policy, definition, pinnedNames);
  if (fault !== undefined) return refused(held(name, `${fault} (${policy.place})`));
  try {
    const tool = guardedTool(policy, definition, upstream);
    const hidden = withoutArguments(shown, hiddenArguments(policy));
    return { entry: { verdict: "guarded", shown: hidden, policy, tool }, remarks: notes };
  } catch (error) {
    if (!isNeverTwiceError(error)) throw error;
    return refused(held(name, `${error.message} (${policy.place})`));
  }
}

/**
 * A task's id is made by each attempt, so it would be lost with the answer, and doubled by a retry.
 * https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#tool-level-negotiation
 */
const asTaskOnly =
  "its server runs it as a task only, and tasks are not passed on, because a task that a lost answer named can't be found again";

function needsTask(definition: ToolDefinition): boolean {
  const execution = definition["execution"] as { readonly taskSupport?: unknown } | undefined;
  return execution?.taskSupport === "required";
}

function refused(refusal: NeverTwiceError): Judged {
  return { entry: { verdict: "refused", refusal }, remarks: [refusal.message] };
}

/** Where policy and definition don't fit together. Each argument must have a place, or it would get lost. */
function findMisfit(
  policy: GuardPolicy,
  definition: ToolDefinition,
  pinnedNames: ReadonlySet<string>,
): string | undefined {
  const there = argumentNames(definition);
  const fixed = [...policy.fixed.keys()];
  const hidden = hiddenArguments(policy);
  const business = [...policy.businessArguments.keys()];
  const missing = [...business, ...policy.freeText, ...fixed, ...keyArgument(policy)].find(
    (argument) => !there.includes(argument),
  );
  if (missing !== undefined)
    return `the policy names the argument ${missing}, which the tool doesn't have`;
  const lost = there.filter((each) => ![...business, ...policy.freeText, ...hidden].includes(each));
  if (lost.length > 0)
    return `the policy says nothing of ${lost.join(", ")}: list each in \`businessArguments\`, in \`freeText\` (then it is not sent) or in \`fixed\``;
  const unsent = (definition.inputSchema.required ?? []).find((each) =>
    policy.freeText.includes(each),
  );
  if (unsent !== undefined)
    return `the tool requires ${unsent}, which is free text and so is not sent: make it a business argument, or give it in \`fixed\``;
  const { reconcile } = policy;
  if (reconcile !== undefined && !pinnedNames.has(reconcile.tool))
    return `the policy reconciles by ${reconcile.tool}, which the server doesn't have, or which is not pinned as it is listed`;
  return intentMisfit(policy.intent, definition);
}

function keyArgument(policy: GuardPolicy): readonly string[] {
  const travel = policy.key?.travel;
  return travel?.by === "argument" ? [travel.name] : [];
}

/** An optional argument in an intent would leave calls without one. */
function intentMisfit(
  intent: Template | undefined,
  definition: ToolDefinition,
): string | undefined {
  if (intent === undefined) return undefined;
  const { required = [], properties = {} } = definition.inputSchema;
  const optional = argumentsOf(intent).find(
    (each) =>
      !required.includes(each) &&
      (properties[each] as { default?: unknown } | undefined)?.default === undefined,
  );
  return optional === undefined
    ? undefined
    : `the intent is made of ${optional}, which the tool doesn't require: a call without it would be refused`;
}

function unlisted(name: string, definition: ToolDefinition): NeverTwiceError {
  const [server = ""] = name.split("/");
  return new NeverTwiceError(
    "TOOL_UNLISTED",
    `The gateway has no policy for ${name}, so it is not called: nothing was recorded and nothing was sent. An operator can add it:\n${policyLines(server, definition)}`,
    { details: { tool: name } },
  );
}

function notPinned(name: string, pinned: string | undefined): NeverTwiceError {
  return held(
    name,
    pinned === undefined
      ? "nobody has looked at its definition yet: `nevertwice inspect --pin` shows and pins it"
      : "the server changed its definition since it was pinned: `nevertwice inspect --pin` shows the new one and pins it",
  );
}

function held(name: string, reason: string): NeverTwiceError {
  return new NeverTwiceError(
    "TOOL_HELD",
    `The tool ${name} is held: ${reason}. Nothing was recorded and nothing was sent; an operator has to act first.`,
    { details: { tool: name, reason } },
  );
}

function absent(
  name: string,
  shownName: string,
  policy: ToolPolicy,
  listed: boolean,
): NeverTwiceError {
  if (listed) return held(name, `its server lists no such tool (${policy.place})`);
  return new NeverTwiceError(
    "NOT_SENT",
    `The server of ${shownName} has not been reached yet, so this call sent nothing. The same call is safe.`,
    { details: { tool: name } },
  );
}
