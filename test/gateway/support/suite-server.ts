/**
 * The server that the official conformance suite wants to meet: tools, resources and prompts of the
 * names that its scenarios call, on the official SDK.
 * https://github.com/modelcontextprotocol/conformance (0.2.0-alpha.12, descriptions of the scenarios)
 */
import { createHmac, randomBytes } from "node:crypto";
import {
  McpServer,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ResourceNotFoundError,
  type ServerContext,
  fromJsonSchema,
} from "@modelcontextprotocol/server";
import type { ToolDefinition } from "../../../src/edges/mcp/tool-definition.ts";

type Members = Readonly<Record<string, unknown>>;

/** What a scenario's tool may do to the server that it runs in. */
export interface SuiteHooks {
  readonly toolsChanged: () => void;
  readonly promptsChanged: () => void;
}

interface Call {
  readonly params: Members;
  readonly args: Members;
  readonly ctx: ServerContext;
  readonly hooks: SuiteHooks;
}

type Play = (call: Call) => Members | Promise<Members>;

const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const sound = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";

const text = (said: string): Members => ({ type: "text", text: said });
const told = (...content: readonly Members[]): Members => ({ content });
const image: Members = { type: "image", data: pixel, mimeType: "image/png" };
const audio: Members = { type: "audio", data: sound, mimeType: "audio/wav" };

function embedded(uri: string): Members {
  return { type: "resource", resource: { uri, mimeType: "text/plain", text: "Embedded." } };
}

/** Asks for one text. */
function form(message: string, field: string): Members {
  const requestedSchema = {
    type: "object",
    properties: { [field]: { type: field === "ok" ? "boolean" : "string" } },
    required: [field],
  };
  return { method: "elicitation/create", params: { message, requestedSchema } };
}

function sample(question: string): Members {
  const messages = [{ role: "user", content: text(question) }];
  return { method: "sampling/createMessage", params: { messages, maxTokens: 100 } };
}

const roots: Members = { method: "roots/list", params: {} };

function ask(inputRequests: Members, requestState?: string): Members {
  const state = requestState === undefined ? {} : { requestState };
  return { resultType: "input_required", inputRequests, ...state };
}

/** The answers of a round, if each question of it has one that is an object. */
function answersTo({ ctx }: Call, ...names: readonly string[]): Members | undefined {
  const given = (ctx.mcpReq.inputResponses ?? {}) as Members;
  const all = names.every((name) => typeof given[name] === "object" && given[name] !== null);
  return all ? given : undefined;
}

const secret = randomBytes(32);

function sealed(round: string): string {
  return `${round}.${createHmac("sha256", secret).update(round).digest("base64url")}`;
}

/** The round that the state was made for. */
function roundOf({ ctx }: Call): string | undefined {
  const state: unknown = ctx.mcpReq.requestState();
  if (state === undefined) return undefined;
  const [round = ""] = typeof state === "string" ? state.split(".") : [];
  if (state !== sealed(round))
    throw new ProtocolError(-32602, "The state is not ours.", { reason: "invalid_request_state" });
  return round;
}

/** Asks, with a sealed state, until each question has its answer. */
function asksOnce(inputRequests: Members, said: string): Play {
  return (call) => {
    const known = roundOf(call) === "asked" && answersTo(call, ...Object.keys(inputRequests));
    return known === false || known === undefined
      ? ask(inputRequests, sealed("asked"))
      : told(text(said));
  };
}

/** Asks without a state. */
function asksPlainly(inputRequests: Members): Play {
  return (call) => {
    const answers = answersTo(call, ...Object.keys(inputRequests));
    return answers === undefined ? ask(inputRequests) : told(text(JSON.stringify(answers)));
  };
}

function clientCan({ ctx }: Call, capability: string): boolean {
  const envelope = ctx.mcpReq.envelope as Members | undefined;
  const can = envelope?.["io.modelcontextprotocol/clientCapabilities"] as Members | undefined;
  return can?.[capability] !== undefined;
}

const changing = "test_trigger_tool_change";
let toolChanges = 0;

/** Makes another list of tools, and tells nobody. */
export function changeTools(): void {
  toolChanges += 1;
}

const tools: Readonly<Record<string, Play>> = {
  test_simple_text: () => told(text("A simple text.")),
  test_image_content: () => told(image),
  test_audio_content: () => told(audio),
  test_embedded_resource: () => told(embedded("test://embedded-resource")),
  test_multiple_content_types: () => told(text("Several."), image, embedded("test://mixed")),
  test_error_handling: () => ({ isError: true, ...told(text("This tool always fails.")) }),
  test_tool_with_progress: async ({ ctx }) => {
    const { _meta: meta } = ctx.mcpReq;
    const progressToken = meta?.progressToken ?? 0;
    for (const progress of [0, 50, 100])
      await ctx.mcpReq.notify({
        method: "notifications/progress",
        params: { progressToken, progress, total: 100 },
      });
    return told(text("It went on."));
  },
  test_tool_with_logging: logging,
  test_logging_tool: logging,
  test_streaming_elicitation: asksPlainly({ user_name: form("What is your name?", "name") }),
  test_missing_capability: (call) => {
    if (clientCan(call, "sampling")) return told(text("Sampling is there."));
    throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { sampling: {} } });
  },
  test_trigger_tool_change: ({ hooks }) => {
    changeTools();
    hooks.toolsChanged();
    return told(text("The tools changed."));
  },
  test_trigger_prompt_change: ({ hooks }) => {
    hooks.promptsChanged();
    return told(text("The prompts changed."));
  },
  test_input_required_result_elicitation: asksPlainly({
    user_name: form("What is your name?", "name"),
  }),
  test_input_required_result_sampling: asksPlainly({
    capital_question: sample("What is the capital of France?"),
  }),
  test_input_required_result_list_roots: asksPlainly({ client_roots: roots }),
  test_input_required_result_request_state: asksOnce(
    { confirm: form("Please confirm.", "ok") },
    "state-ok",
  ),
  test_input_required_result_tampered_state: asksOnce(
    { confirm: form("Please confirm.", "ok") },
    "state-ok",
  ),
  test_input_required_result_multiple_inputs: asksOnce(
    {
      user_name: form("What is your name?", "name"),
      greeting: sample("Make a greeting."),
      client_roots: roots,
    },
    "All answered.",
  ),
  test_input_required_result_multi_round: (call) => {
    const round = roundOf(call);
    if (round === "2" && answersTo(call, "step2")) return told(text("Both steps are done."));
    return round === "1" && answersTo(call, "step1")
      ? ask({ step2: form("Which colour?", "color") }, sealed("2"))
      : ask({ step1: form("What is your name?", "name") }, sealed("1"));
  },
  test_input_required_result_capabilities: (call) => {
    const able = {
      ...(clientCan(call, "sampling") ? { sampled: sample("Say something.") } : {}),
      ...(clientCan(call, "elicitation") ? { asked: form("What is your name?", "name") } : {}),
    };
    return answersTo(call, ...Object.keys(able)) ? told(text("Answered.")) : ask(able);
  },
};

async function logging({ ctx }: Call): Promise<Members> {
  for (const data of ["begun", "done"]) await ctx.mcpReq.log("info", data);
  return told(text("It was logged."));
}

/** No scenario gives the argument; a policy needs one to tell calls apart by. */
const plain = { type: "object", properties: { order: { type: "string", default: "8812" } } };

/** As text, because an object with a `then` of its own looks like a promise. */
const conditional = JSON.parse(`{
  "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
  "then": { "required": ["phone"] },
  "else": { "required": ["email"] }
}`) as Members;

/** Tools whose schema is what the suite looks at: SEP-2243 and SEP-1613 with SEP-2106. */
const schemas = {
  test_custom_headers: {
    type: "object",
    properties: {
      region: { type: "string", "x-mcp-header": "Region" },
      query: { type: "string" },
    },
    required: ["region"],
  },
  json_schema_2020_12_tool: {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    $defs: {
      address: {
        $anchor: "addressDef",
        type: "object",
        properties: { street: { type: "string" }, city: { type: "string" } },
      },
    },
    properties: {
      name: { type: "string" },
      address: { $ref: "#/$defs/address" },
      contactMethod: { type: "string", enum: ["phone", "email"] },
      phone: { type: "string" },
      email: { type: "string" },
    },
    allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
    ...conditional,
    additionalProperties: false,
  },
};

/** What it lists. */
export function listTools(): { readonly tools: readonly ToolDefinition[] } {
  const shown = {
    ...Object.fromEntries(Object.keys(tools).map((name) => [name, plain])),
    ...schemas,
  };
  return {
    tools: Object.entries(shown).map(([name, inputSchema]) => ({
      name,
      description: `The tool ${name} of the suite${name === changing ? `, after ${toolChanges} changes` : ""}.`,
      inputSchema,
    })),
  };
}

const resources: Readonly<Record<string, Members>> = {
  "test://static-text": { mimeType: "text/plain", text: "A static text." },
  "test://static-binary": { mimeType: "image/png", blob: pixel },
};

function readResource(uri: string): Members {
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  const content =
    id === undefined
      ? resources[uri]
      : { mimeType: "application/json", text: JSON.stringify({ id, templateTest: true }) };
  if (content === undefined) throw new ResourceNotFoundError(uri);
  return { contents: [{ uri, ...content }] };
}

const user = (content: Members): Members => ({ messages: [{ role: "user", content }] });

const prompts: Readonly<Record<string, Play>> = {
  test_simple_prompt: () => user(text("A simple prompt.")),
  test_prompt_with_arguments: ({ args }) =>
    user(text(`arg1='${String(args["arg1"])}', arg2='${String(args["arg2"])}'`)),
  test_prompt_with_embedded_resource: ({ args }) => user(embedded(String(args["resourceUri"]))),
  test_prompt_with_image: () => user(image),
  test_input_required_result_prompt: (call) =>
    answersTo(call, "user_context")
      ? user(text("With context."))
      : ask({ user_context: form("What context should the prompt use?", "context") }),
};

const promptArguments: Readonly<Record<string, readonly string[]>> = {
  test_prompt_with_arguments: ["arg1", "arg2"],
  test_prompt_with_embedded_resource: ["resourceUri"],
};

function listPrompts(): Members {
  const listed = Object.keys(prompts).map((name) => ({
    name,
    description: `The prompt ${name} of the suite.`,
    arguments: (promptArguments[name] ?? []).map((each) => ({ name: each, required: true })),
  }));
  return { prompts: listed };
}

function play(table: Readonly<Record<string, Play>>): Play {
  return (call) => {
    const name = String(call.params["name"]);
    const one = Object.hasOwn(table, name) ? table[name] : undefined;
    if (one === undefined) throw new ProtocolError(-32602, `Unknown: ${name}`);
    return one(call);
  };
}

const echo: Play = ({ args }) => told(text(JSON.stringify(args)));
const echoes = Object.fromEntries(Object.keys(schemas).map((name) => [name, echo]));

const methods: Readonly<Record<string, Play>> = {
  "tools/list": listTools,
  "tools/call": play({ ...tools, ...echoes }),
  "prompts/list": listPrompts,
  "prompts/get": play(prompts),
  "resources/list": () => ({
    resources: Object.keys(resources).map((each) => ({ uri: each, name: each })),
  }),
  "resources/templates/list": () => ({
    resourceTemplates: [{ uriTemplate: "test://template/{id}/data", name: "template" }],
  }),
  "resources/read": ({ params }) => readResource(String(params["uri"])),
  "completion/complete": () => ({ completion: { values: ["paris"], total: 1 } }),
};

const announced = { listChanged: true };
const capabilities = {
  tools: announced,
  resources: announced,
  prompts: announced,
  completions: {},
  logging: {},
};

/** Makes the server for one request or one connection. */
export function createSuiteServer(hooks: SuiteHooks): McpServer {
  const official = new McpServer({ name: "suite-server", version: "1.0.0" }, { capabilities });
  // Registered as well, because the SDK checks a call's headers against what is registered.
  for (const [name, schema] of Object.entries(schemas))
    official.registerTool(name, { inputSchema: fromJsonSchema(schema) }, () => ({ content: [] }));
  for (const [method, answer] of Object.entries(methods))
    official.server.setRequestHandler(method as "tools/call", async (request, ctx) => {
      const params = request.params as unknown as Members;
      const args = (params["arguments"] ?? {}) as Members;
      return (await answer({ params, args, ctx, hooks })) as never;
    });
  return official;
}
