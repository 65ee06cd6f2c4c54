/**
 * The JSON Schema of `nevertwice.yaml`: what a configuration is checked against, and what editors
 * complete from. Published as docs/reference/nevertwice.schema.json, which a test holds equal.
 *
 * @module
 */
import { normaliserNames } from "../../edges/mcp/normalisers.ts";
import { intentSources } from "../../edges/mcp/tool-policy.ts";
import { wireKeyLengths } from "../../intent/wire-key.ts";
import { durationPattern } from "./duration-text.ts";

type Schema = Readonly<Record<string, unknown>>;

const text = (description: string, more: Schema = {}): Schema => ({
  type: "string",
  minLength: 1,
  description,
  ...more,
});
const span = (description: string): Schema => text(description, { pattern: durationPattern });
const flag = (description: string): Schema => ({ type: "boolean", description });
const count = (description: string): Schema => ({ type: "integer", minimum: 1, description });
const choice = (description: string, values: readonly string[]): Schema => ({
  enum: values,
  description,
});
const list = (description: string, items: Schema): Schema => ({
  type: "array",
  items,
  description,
});
const map = (description: string, values: Schema): Schema => ({
  type: "object",
  additionalProperties: values,
  description,
});
const object = (
  description: string,
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[] = [],
): Schema => ({
  type: "object",
  additionalProperties: false,
  properties,
  required,
  description,
});

const idSource = (description: string): Schema => ({
  ...object(description, {
    meta: text("Name in the request's _meta."),
    header: text("HTTP header."),
    value: text("Always this."),
  }),
  minProperties: 1,
});

const context = object("Where the ids of a caller come from; never from a model's arguments.", {
  tenant: idSource("Whose money, machines or orders these are."),
  workflowId: idSource("The workflow's stable id."),
  stepId: idSource("The step's stable id inside the workflow."),
  trusted: map("Ids that intents may use as {trusted.name}.", idSource("Where it comes from.")),
  keyHeaders: list(
    "HTTP headers that carry an intent's key, beside Idempotency-Key.",
    text("Header."),
  ),
});

const http = object("Streamable HTTP towards agents.", {
  host: text("Address to listen on. Default 127.0.0.1; any other needs tokens."),
  port: { type: "integer", minimum: 0, maximum: 65_535, description: "Default 8484." },
  path: text("Path of the endpoint. Default /mcp.", { pattern: "^/" }),
  tokens: list(
    "Who may call: each token stands for a tenant.",
    object(
      "A bearer token.",
      { token: text("As ${ENV_VARIABLE}."), tenant: text("The tenant that it stands for.") },
      ["token", "tenant"],
    ),
  ),
  sessions: flag(
    "Give agents of the protocol's older era sessions. Default false: any gateway can answer any request.",
  ),
});

const upstream = object("An upstream MCP server: a command or a URL.", {
  command: text("Program to start; it speaks MCP on its standard input and output."),
  args: list("Its arguments.", { type: "string" }),
  env: map("Environment variables for it; secrets as ${ENV_VARIABLE}.", { type: "string" }),
  cwd: text("Folder to start it in."),
  url: text("Streamable HTTP endpoint.", { pattern: "^https?://" }),
  headers: map("HTTP headers; secrets as ${ENV_VARIABLE}.", { type: "string" }),
  protocol: choice("Which protocol era to speak. Default: legacy for a command, auto for a URL.", [
    "legacy",
    "modern",
    "auto",
  ]),
  requests: list(
    "What a server of the older era may ask the agent's client for. Default: nothing.",
    choice("A capability.", ["elicitation", "sampling", "roots"]),
  ),
});

const key = object("How the server takes keys. What is not said here is not leaned on.", {
  argument: text("The argument that carries it; hidden from the model."),
  meta: text("The name in _meta that carries it."),
  header: text("The HTTP header that carries it."),
  shape: choice("Its shape. Default uuid.", Object.keys(wireKeyLengths)),
  retention: span("How long the server remembers a key."),
  atomic: flag("Two requests in flight under one key can't both run. Default false."),
  afterError: choice("What a key does whose first request ended in an error. Default unknown.", [
    "replays",
    "re-executes",
    "burnt",
    "not-saved",
    "unknown",
  ]),
  replaysDeclines: flag("A declined key answers a resend with the same decline. Default false."),
});

const definitive = object("A kind of isError result that proves that no effect exists or will.", {
  text: text("Regular expression that the result's text must match.", { format: "regex" }),
  pointer: text("JSON Pointer into the result."),
  equals: { description: "What must stand there." },
});

const reconcile = object(
  "How another tool of the same server finds the effect.",
  {
    tool: text("Its name."),
    arguments: { type: "object", description: "Its arguments; texts are templates." },
    items: { type: "string", description: "JSON Pointer to the list of candidates." },
    match: map(
      "JSON Pointers into a candidate, each with the template of what must stand there.",
      text("Template."),
    ),
    contains: text("Template of a text that a candidate must hold."),
    status: object(
      "Where a candidate's status stands, and what its values mean.",
      {
        pointer: text("JSON Pointer."),
        succeeded: list("It took effect.", {}),
        pending: list("It may still.", {}),
        failed: list("It never will.", {}),
      },
      ["pointer", "succeeded"],
    ),
    id: text("JSON Pointer to the provider's id of the effect."),
    lag: span("How long an effect may stay invisible. Absent: not seeing it proves nothing."),
    authoritative: flag("Not seeing it after all has settled is proof. Default false."),
    timeout: span("Default: the tool's timeout."),
  },
  ["tool"],
);

const normaliser = { enum: normaliserNames };

/** Parts of a tool's policy that a guarded tool alone has. */
export const guardedParts = {
  operation: text("The business operation; tools may share one. Default: the tool's name."),
  scope: choice("How wide the intent is unique. Default business.", [
    "business",
    "workflow",
    "step",
  ]),
  intent: text("Template of what the business wants done once: refund:{args.order_id}."),
  intentFrom: list(
    "Where an intent may come from, in this order. Default: all, in this order.",
    choice("A source.", intentSources),
  ),
  businessArguments: map(
    "Arguments that the effect depends on, with their normalisers. Only these are hashed and sent.",
    { anyOf: [{ type: "null" }, normaliser, { type: "array", items: normaliser }] },
  ),
  freeText: list(
    "Arguments for the model's own words: shown, neither hashed nor sent.",
    text("Argument."),
  ),
  fixed: map("Arguments that we give, hidden from the model; texts are templates.", {}),
  key,
  mode: choice("How far to go when an outcome is in doubt. Default strict.", [
    "strict",
    "window",
    "proved-absence",
  ]),
  timeout: span("The longest that one call may take. Default 60s."),
  flight: span("The longest that a request can go on to take effect. Default: the timeout."),
  sendWithin: span("The longest from arm to write. Default 2s."),
  margin: span("Clock steps and slack. Default 5s."),
  giveUpAfter: span("How long an unsure look-up is asked again before a person is. Default 1h."),
  maxResultBytes: count("A larger result is not stored. Default 262144."),
  account: text("The provider's account, where keys are scoped by it."),
  wait: span("How long a duplicate waits for the outcome. Default 20s."),
  definitive: list("Which isError results are definitive. Default: none.", definitive),
  reconcile,
  lookAlike: object(
    "What to do about the same arguments under another intent.",
    {
      rule: choice("warn tells the caller; hold asks a person.", ["warn", "hold"]),
      window: span("How far back."),
      fields: list("What they share. Default: all business arguments.", text("Argument.")),
    },
    ["rule", "window"],
  ),
  approval: object(
    "A person is asked before anything is sent.",
    {
      argument: text("A business argument that is a number."),
      above: { type: "number", description: "Greater values need a person." },
    },
    ["argument", "above"],
  ),
  mismatch: choice(
    "What a caller with other arguments is told of the recorded ones. Default names.",
    ["names", "values"],
  ),
  review: object("How a person decides what waits for review.", {
    elicit: flag("Ask in the agent's client too. Default: what review.elicit says for all."),
  }),
} as const;

const tool = object(
  "The policy of one tool.",
  {
    kind: choice("What calling it twice does.", ["read-only", "convergent", "non-idempotent"]),
    overrideHints: flag("The policy stands against the server's own hints. Default false."),
    ...guardedParts,
  },
  ["kind"],
);

/** See the module. */
export const configSchema: Schema = {
  $schema: "http://json-schema.org/draft-07/schema#",
  title: "nevertwice.yaml",
  ...object(
    "Configuration of the NeverTwice MCP gateway.",
    {
      store: text("A SQLite file or a postgres:// URL. Default: --store."),
      schema: text("PostgreSQL schema that holds the tables."),
      retention: span("How long settled operations keep their outcome. Default 45d."),
      context,
      http,
      upstreams: {
        ...map("Upstream servers by name.", upstream),
        minProperties: 1,
        propertyNames: { pattern: "^[A-Za-z0-9][A-Za-z0-9_-]*$" },
      },
      prefix: choice("When tools are called server__tool. Default: where names clash.", [
        "clash",
        "always",
      ]),
      unlisted: choice("What to do with a tool without a policy. Default refuse.", [
        "refuse",
        "pass",
      ]),
      tools: {
        ...map("Policies, by server/tool.", tool),
        propertyNames: { pattern: "^[^/]+/.+$" },
      },
      review: object("How a person decides what waits for review, beside the review queue.", {
        elicit: flag("Ask the person in the agent's client too, by elicitation. Default false."),
        within: span("How long an answer counts. Default 5min."),
        secret: text("As ${ENV_VARIABLE}, 32 bytes or more: shared by gateways of one address."),
      }),
      operationStatus: object("The gateway's own tool: what is recorded of an earlier call.", {
        offer: flag("Offer it to agents. Default true."),
        name: text("What it is called. Default operation_status.", {
          pattern: "^[A-Za-z0-9_.-]{1,128}$",
        }),
      }),
      limits: object("Limits of a request.", {
        requestBytes: count("Default 1048576."),
        depth: count("Nesting of arguments. Default 32."),
      }),
      shutdown: span("How long calls in flight may go on at shutdown. Default 30s."),
    },
    ["upstreams"],
  ),
};
