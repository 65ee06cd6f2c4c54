/**
 * Guarded tools in a server written with the official SDK (`@modelcontextprotocol/server`): each call
 * goes through the guard, and each answer says what it is (R29). For servers that can't be changed
 * there is the gateway.
 *
 * @module
 */
import type {
  CallToolResult,
  McpServer,
  RegisteredTool,
  ServerContext,
  StandardSchemaWithJSON,
  ToolAnnotations,
} from "@modelcontextprotocol/server";
import { NeverTwiceError } from "../../base/errors.ts";
import type { Outcome } from "../../guard/answers.ts";
import type { Guard } from "../../guard/create-guard.ts";
import type { RunContext } from "../../guard/prepare.ts";
import type { Tool } from "../../guard/tool.ts";
import { errorResult, outcomeResult } from "./answers.ts";
import { intentsFact } from "./brought-intent.ts";
import { type CallerContext, type ContextPolicy, readCaller } from "./caller-context.ts";
import type { ToolDefinition } from "./tool-definition.ts";
import { ToolReportedError } from "./upstream-errors.ts";

type Members = Readonly<Record<string, unknown>>;

/** One tool as a server shows it. */
export interface ServedTool<Result = unknown> {
  /** Declared with `defineTool`. Its schema must say its own JSON Schema, as zod's do. */
  readonly tool: Tool<Result>;
  /** What agents call it. Default: the tool's name. */
  readonly name?: string;
  readonly title?: string;
  readonly description?: string;
  /** Hints. Default: by the tool's kind. */
  readonly annotations?: ToolAnnotations;
  /** What `structuredContent` holds. */
  readonly outputSchema?: StandardSchemaWithJSON;
  /** Default: a value with `content` stands as it is; any other becomes a text and structured content. */
  readonly toResult?: (value: Result) => CallToolResult;
}

/** Options of {@link guardTools}. */
export interface GuardToolsOptions {
  readonly tools: readonly ServedTool[];
  /**
   * Where tenant, workflow, step and trusted ids stand, beside `_meta["dev.nevertwice/context"]`.
   * They never come from arguments, which a model writes (R2).
   */
  readonly context?: Partial<ContextPolicy>;
  /**
   * The tenant of a verified access token. Then a request can't name another one. Default:
   * `authInfo.extra.tenant`, where that is a text.
   */
  readonly tenantOf?: (authInfo: AuthInfo) => string | undefined;
  /** How long a duplicate waits for the outcome of the call under way. Default 0: it is told at once. */
  readonly waitMs?: number;
}

/** What the SDK knows of a verified token. */
export type AuthInfo = NonNullable<NonNullable<ServerContext["http"]>["authInfo"]>;

/**
 * Registers the tools. A client that goes away withdraws nothing: the call ends and is recorded.
 *
 * @throws {NeverTwiceError} TOOL_INVALID when a tool's schema has no JSON Schema to show.
 *
 * @example
 * guardTools(server, guard, {
 *   tools: [{ tool: issueRefund, description: "Refunds an order." }],
 *   context: { tenant: { value: "acme" } },
 * });
 */
export function guardTools(
  server: McpServer,
  guard: Pick<Guard, "run">,
  options: GuardToolsOptions,
): readonly RegisteredTool[] {
  // All are checked before one is shown.
  const schemas = options.tools.map(({ tool }) => shownSchema(tool));
  return options.tools.map((served, at) => {
    const { tool, title, description, annotations, outputSchema } = served;
    return server.registerTool(
      served.name ?? tool.name,
      {
        ...(title === undefined ? {} : { title }),
        ...(description === undefined ? {} : { description }),
        ...(outputSchema === undefined ? {} : { outputSchema: unchecked(outputSchema) }),
        annotations: annotations ?? hintsOf(tool),
        inputSchema: schemas[at] as StandardSchemaWithJSON,
      },
      (args: unknown, context: ServerContext) => answer(guard, served, options, args, context),
    );
  });
}

/**
 * For an `execute` that hands on another MCP server's result: throws when the result is marked as an
 * error, which may have come after the effect. The tool's contract classifies what is thrown.
 *
 * @throws {ToolReportedError} holding the result.
 */
export function throwIfReported<Result extends Members>(result: Result): Result {
  if (result["isError"] === true) throw new ToolReportedError(result);
  return result;
}

async function answer(
  guard: Pick<Guard, "run">,
  served: ServedTool,
  options: GuardToolsOptions,
  args: unknown,
  context: ServerContext,
): Promise<CallToolResult> {
  const { waitMs = 0 } = options;
  try {
    const { intents, trusted, ...ids } = callerOf(options, context);
    const caller = { ...ids, trusted: { ...trusted, [intentsFact]: intents } };
    const more: Partial<RunContext> = waitMs === 0 ? {} : { onInProgress: { waitMs } };
    const outcome = await guard.run(served.tool, args, { ...caller, ...more });
    return (await resultFor(served, outcome)) as CallToolResult;
  } catch (error) {
    return errorResult(error) as CallToolResult;
  }
}

function callerOf(options: GuardToolsOptions, { mcpReq, http }: ServerContext): CallerContext {
  const { tenantOf = tenantInToken } = options;
  const authInfo = http?.authInfo;
  const tokenTenant = authInfo === undefined ? undefined : tenantOf(authInfo);
  if (authInfo !== undefined && tokenTenant === undefined && options.tenantOf !== undefined)
    throw new NeverTwiceError(
      "INTENT_INVALID",
      "The identity of this operation is incomplete: the token stands for no tenant. Nothing was recorded and nothing was sent.",
      { details: { part: "tenant", reason: "is not in the token" } },
    );
  const { _meta: meta = {} } = mcpReq;
  const facts = {
    meta,
    header: (name: string) => http?.req?.headers.get(name) ?? undefined,
    tokenTenant,
    parameterKey: undefined,
  };
  return readCaller(facts, { trusted: {}, keyHeaders: [], ...options.context });
}

function tenantInToken({ extra }: AuthInfo): string | undefined {
  const tenant = extra?.["tenant"];
  return typeof tenant === "string" ? tenant : undefined;
}

async function resultFor(served: ServedTool, outcome: Outcome<unknown>): Promise<Members> {
  const { outputSchema, toResult = plainResult } = served;
  const value =
    outcome.omitted !== null && outcome.replayed ? { content: [] } : toResult(outcome.value);
  // A tool that goes straight through has no operation to tell of.
  if (outcome.key === null) return value;
  const fitting = await fittingResult(value, outputSchema);
  const definition: ToolDefinition = {
    name: served.tool.name,
    inputSchema: {},
    ...(outputSchema === undefined ? {} : { outputSchema }),
  };
  return outcomeResult({ ...outcome, value: fitting }, definition);
}

/** The effect exists, so a result that breaks its schema costs its structure and nothing else. */
async function fittingResult(
  result: Members,
  schema: StandardSchemaWithJSON | undefined,
): Promise<Members> {
  if (schema === undefined || result["structuredContent"] === undefined) return result;
  const { issues } = await schema["~standard"].validate(result["structuredContent"]);
  if (issues === undefined) return result;
  const { structuredContent: _unfit, ...rest } = result;
  return rest;
}

function plainResult(value: unknown): CallToolResult {
  if (isMembers(value) && Array.isArray(value["content"])) return value as CallToolResult;
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "done");
  return {
    content: [{ type: "text", text }],
    ...(isMembers(value) ? { structuredContent: value } : {}),
  };
}

/** The guard checks arguments itself, with a text of ours, and a transform must not run twice. */
function shownSchema(tool: Tool): StandardSchemaWithJSON {
  const schema = tool.schema as unknown as StandardSchemaWithJSON;
  const { jsonSchema } = schema["~standard"] as { jsonSchema?: unknown };
  if (jsonSchema !== undefined) return unchecked(schema);
  throw new NeverTwiceError(
    "TOOL_INVALID",
    `The tool ${tool.name} can't be shown to agents: its schema has no JSON Schema of its own. Take zod 4.2 or newer, arktype, or valibot's toStandardJsonSchema.`,
    { details: { tool: tool.name } },
  );
}

function unchecked(schema: StandardSchemaWithJSON): StandardSchemaWithJSON {
  const standard = schema["~standard"];
  return { "~standard": { ...standard, validate: (value: unknown) => ({ value }) } };
}

function hintsOf(tool: Tool): ToolAnnotations {
  if (tool.kind === "read-only") return { readOnlyHint: true };
  // Guarded, the same arguments have no second effect only under the same intent: no promise.
  return { readOnlyHint: false, idempotentHint: tool.kind === "convergent" };
}

function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
