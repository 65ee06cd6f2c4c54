/**
 * What is shown and what is held: only pinned tools whose policy fits their definition are called;
 * hints make the gateway more careful and never less.
 */
import { expect, it } from "vitest";
import { readConfig } from "../../src/gateway/config/load-config.ts";
import { type CatalogueEntry, buildCatalogue } from "../../src/gateway/catalogue.ts";
import {
  type ToolDefinition,
  definitionHash,
  findContradictions,
} from "../../src/edges/mcp/tool-definition.ts";
import { UpstreamConnection } from "../../src/edges/mcp/upstream-connection.ts";

const refund: ToolDefinition = {
  name: "issue_refund",
  description: "Refunds an order.",
  inputSchema: {
    type: "object",
    properties: {
      order_id: { type: "string" },
      amount_minor: { type: "integer" },
      reason: { type: "string" },
    },
    required: ["order_id", "amount_minor"],
  },
};

const policy = `
    kind: non-idempotent
    intent: refund:{args.order_id}
    businessArguments: { order_id: , amount_minor: }
    freeText: [reason]`;

interface Given {
  readonly policy?: string;
  readonly definition?: ToolDefinition;
  readonly pinned?: ToolDefinition | null;
  readonly more?: string;
}

const shop = new UpstreamConnection({
  name: "shop",
  openTransport: () => {
    throw new Error("not opened here");
  },
  protocol: "legacy",
  clientInfo: { name: "test", version: "0" },
  clientCapabilities: {},
});

/** The verdict on one tool. */
function judge({ policy: lines = policy, definition = refund, pinned, more = "" }: Given): {
  readonly entry: CatalogueEntry | undefined;
  readonly reason: string;
} {
  const tools = lines === "" ? "" : `tools:\n  shop/issue_refund:${lines}`;
  const text = `upstreams: { shop: { command: shop } }\n${more}\n${tools}`;
  const config = readConfig("/etc/nevertwice.yaml", text, {});
  const looked = pinned === undefined ? definition : pinned;
  const pins = new Map(looked === null ? [] : [["shop/issue_refund", definitionHash(looked)]]);
  const connections = new Map([["shop", shop]]);
  const { entries } = buildCatalogue(config, pins, new Map([["shop", [definition]]]), connections);
  const entry = entries.get("issue_refund");
  return { entry, reason: entry?.verdict === "refused" ? entry.refusal.message : "" };
}

it("a pinned tool whose policy fits is guarded", () => {
  expect(judge({}).entry?.verdict).toBe("guarded");
});

const withHints = (annotations: ToolDefinition["annotations"]): ToolDefinition => ({
  ...refund,
  ...(annotations === undefined ? {} : { annotations }),
});
const properties = refund.inputSchema.properties ?? {};
const held: readonly [what: string, given: Given, reason: string][] = [
  ["that nobody has looked at", { pinned: null }, "nobody has looked at its definition yet"],
  [
    "whose schema changed",
    { pinned: { ...refund, inputSchema: { type: "object" } } },
    "the server changed its definition since it was pinned",
  ],
  [
    "whose words to the model changed",
    { pinned: { ...refund, description: "Refunds." } },
    "the server changed its definition since it was pinned",
  ],
  [
    "whose hints changed",
    { definition: withHints({ readOnlyHint: true }), pinned: refund },
    "the server changed its definition since it was pinned",
  ],
  [
    "that is called read-only against its server",
    { policy: " { kind: read-only }", definition: withHints({ readOnlyHint: false }) },
    "the policy says read-only, the server says that it is not",
  ],
  [
    "that is called convergent against its server",
    { policy: " { kind: convergent }", definition: withHints({ idempotentHint: false }) },
    "the policy says convergent, the server says not idempotent",
  ],
  [
    "with an argument that has no place",
    { policy: policy.replace("[reason]", "[]") },
    "the policy says nothing of reason",
  ],
  [
    "whose policy names an argument that isn't there",
    { policy: policy.replace("[reason]", "[reason, note]") },
    "the policy names the argument note, which the tool doesn't have",
  ],
  [
    "that requires free text",
    {
      definition: {
        ...refund,
        inputSchema: { ...refund.inputSchema, required: ["order_id", "amount_minor", "reason"] },
      },
    },
    "the tool requires reason, which is free text and so is not sent",
  ],
  [
    "whose intent is made of an optional argument",
    { definition: { ...refund, inputSchema: { ...refund.inputSchema, required: [] } } },
    "the intent is made of order_id, which the tool doesn't require",
  ],
  [
    "that is reconciled by a tool that isn't there",
    {
      policy: `${policy}\n    reconcile: { tool: find, match: { /k: "{key}" } }\n  shop/find: { kind: read-only }`,
    },
    "the policy reconciles by find, which the server doesn't have, or which is not pinned",
  ],
];

it.each(held)("a tool %s is held, with the reason", (_what, given, reason) => {
  const { entry, reason: told } = judge(given);
  expect(entry?.verdict).toBe("refused");
  expect(told).toContain(`The tool shop/issue_refund is held: ${reason}`);
  expect(told).toContain(
    "Nothing was recorded and nothing was sent; an operator has to act first.",
  );
});

it("an operator may let a policy stand against the hints, and a hint never makes a guarded tool pass", () => {
  const definition = withHints({ readOnlyHint: false });
  const overridden = " { kind: read-only, overrideHints: true }";
  expect(judge({ policy: overridden, definition }).entry?.verdict).toBe("pass");
  const harmless = withHints({ readOnlyHint: true, idempotentHint: true });
  expect(judge({ definition: harmless }).entry?.verdict).toBe("guarded");
});

it("what is fixed and the key's argument are hidden from the model", () => {
  const definition = {
    ...refund,
    inputSchema: {
      ...refund.inputSchema,
      properties: { ...properties, key: { type: "string" }, note: { type: "string" } },
      required: ["order_id", "amount_minor", "key", "note"],
    },
  };
  const { entry } = judge({
    definition,
    policy: `${policy}\n    key: { argument: key }\n    fixed: { note: "Refund of {args.order_id}" }`,
  });
  expect(entry?.verdict === "guarded" && entry.shown.inputSchema).toMatchObject({
    properties,
    required: ["order_id", "amount_minor"],
  });
});

it("a tool without a policy is refused with the lines to add, unless all may pass", () => {
  const { reason } = judge({ policy: "" });
  expect(reason).toContain("tools:\n  shop/issue_refund:\n    kind: non-idempotent");
  expect(reason).toContain("intent: issue_refund:{args.order_id}");
  expect(judge({ policy: "", more: "unlisted: pass" }).entry?.verdict).toBe("pass");
});

it("hints that contradict the definition are found without a call", () => {
  const enums = { type: "object", properties: { op: { enum: ["get", "set"] } } };
  const found = [
    { name: "kubectl_context", inputSchema: enums, annotations: { readOnlyHint: true } },
    { name: "deleteRow", inputSchema: {}, annotations: { readOnlyHint: true } },
    { name: "look", inputSchema: {}, annotations: { readOnlyHint: true, destructiveHint: true } },
    { name: "look", inputSchema: {}, annotations: { readOnlyHint: true, idempotentHint: false } },
    { name: "look", inputSchema: {} },
    { name: "get_settings", inputSchema: {}, annotations: { readOnlyHint: true } },
  ].map((definition) => findContradictions(definition));
  expect(found).toEqual([
    ['readOnlyHint is true, but its argument op may be "set"'],
    ['readOnlyHint is true, but its name says "delete"'],
    ["readOnlyHint and destructiveHint are both true"],
    ["idempotentHint: false means nothing beside readOnlyHint: true"],
    ["it has no hints"],
    [],
  ]);
});

function withReason(reason: unknown): ToolDefinition {
  const { inputSchema } = refund;
  return { ...refund, inputSchema: { ...inputSchema, properties: { ...properties, reason } } };
}

it.each([
  ["a number that is not exact", { type: "integer", maximum: 2 ** 64 }],
  ["text with a lone surrogate", { type: "string", description: "\ud800" }],
])("a schema with %s can be pinned", (_what, property) => {
  const definition = withReason(property);
  expect(judge({ definition }).entry?.verdict).toBe("guarded");
  expect(judge({ definition, pinned: refund }).entry?.verdict).toBe("refused");
});

/** Nested too deep for a hash. */
const deep = Array.from({ length: 500 }).reduce<object>((inner) => ({ items: inner }), {});

it.each([
  ["a pattern of another language", { type: "string", pattern: "(?i)abc" }],
  ["a reference to nothing", { $ref: "#/nowhere" }],
  ["a type that is none", { type: "money" }],
  ["too many levels", deep],
])("a schema with %s holds its own tool, and no other", (_what, reason) => {
  const bad = withReason(reason);
  const good = { ...refund, name: "good" };
  const text = `upstreams: { shop: { command: shop } }
tools:
  shop/issue_refund:${policy}
  shop/good:${policy}`;
  const config = readConfig("/etc/nevertwice.yaml", text, {});
  const hash = (definition: ToolDefinition): string =>
    reason === deep ? "none" : definitionHash(definition);
  const pins = new Map([
    ["shop/issue_refund", hash(bad)],
    ["shop/good", definitionHash(good)],
  ]);
  const connections = new Map([["shop", shop]]);
  const { entries } = buildCatalogue(config, pins, new Map([["shop", [bad, good]]]), connections);
  expect(entries.get("good")?.verdict).toBe("guarded");
  const entry = entries.get("issue_refund");
  expect(entry).toMatchObject({ verdict: "refused", refusal: { code: "TOOL_HELD" } });
});

it.each([
  ["allOf", { allOf: [{ properties: { fee: { type: "integer" } } }] }],
  ["a reference", { $ref: "#/$defs/more", $defs: { more: { properties: { fee: {} } } } }],
  ["else", { if: { required: ["reason"] }, else: { properties: { fee: {} } } }],
])("an argument that the schema names in %s must have a place too", (_where, more) => {
  const definition = { ...refund, inputSchema: { ...refund.inputSchema, ...more } };
  expect(judge({ definition }).reason).toContain("the policy says nothing of fee");
});

/** What each shown name stands for, where tools without a policy pass. */
function namesOf(
  listed: Readonly<Record<string, readonly string[]>>,
  more = "",
): Record<string, string> {
  const servers = Object.keys(listed).map((server) => `${server}: { command: x }`);
  const text = `upstreams: { ${servers.join(", ")} }\nunlisted: pass\n${more}`;
  const listings = Object.entries(listed).map(
    ([server, names]) => [server, names.map((name) => ({ ...refund, name }))] as const,
  );
  const { entries } = buildCatalogue(
    readConfig("/etc/nevertwice.yaml", text, {}),
    new Map(),
    new Map(listings),
    new Map(Object.keys(listed).map((server) => [server, shop])),
  );
  return Object.fromEntries(
    [...entries].map(([shown, { name, verdict }]) => [shown, `${name} ${verdict}`]),
  );
}

it("no server takes the place of another one's tool by a name with a prefix", () => {
  const listed = { bank: ["pay"], store: ["pay"], evil: ["bank__pay"] };
  expect(namesOf(listed)).toEqual({
    bank__pay: "bank/pay pass",
    store__pay: "store/pay pass",
    evil__bank__pay: "evil/bank__pay pass",
  });
});

it("two tools that would have one name all the same are held", () => {
  const listed = { a: ["b__c"], a__b: ["c"] };
  expect(namesOf(listed, "prefix: always")["a__b__c"]).toContain("refused");
});
