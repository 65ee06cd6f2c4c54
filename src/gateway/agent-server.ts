/**
 * The side that agents see: a server of the official SDK that hands every request on as it came. Its
 * typed handlers would drop what their schemas don't know, so all go through the fallback.
 *
 * @module
 */
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type JSONRPCRequest,
  type McpRequestContext,
  ProtocolError,
  type Result,
  Server,
  type ServerCapabilities,
  type ServerContext,
  type StandardSchemaV1,
} from "@modelcontextprotocol/server";
import { AgentError } from "./agent-error.ts";
import type { AgentRequest, Ask } from "./agent-request.ts";
import { Forwarder } from "./forwarder.ts";
import type { Gateway } from "./gateway.ts";
import { reviewRound } from "./review-dialogue.ts";

type Members = Readonly<Record<string, unknown>>;

const toolMethods: ReadonlySet<string> = new Set(["tools/list", "tools/call"]);

/** Most rounds in which a server may ask an agent of the older era back. */
const maxRounds = 16;

/**
 * Makes the server for one connection or one HTTP request. A request of the newer era by HTTP names its
 * method in a header; one that nobody here knows is left to the SDK, which answers it with HTTP's 404.
 */
export function createAgentServer(
  gateway: Gateway,
  version: string,
  context: Pick<McpRequestContext, "era" | "requestInfo">,
): Server {
  const server = new Server(
    { name: "nevertwice-gateway", version },
    { capabilities: capabilitiesOf(gateway), ...instructionsOf(gateway) },
  );
  const named = context.requestInfo?.headers.get("mcp-method") ?? undefined;
  if (named === undefined || toolMethods.has(named) || Forwarder.knows(named))
    server.fallbackRequestHandler = (request, ctx) =>
      answer(gateway, readRequest(server, request, ctx, context.era));
  server.fallbackNotificationHandler = async () => {};
  return server;
}

async function answer(gateway: Gateway, request: AgentRequest): Promise<Result> {
  try {
    return await handle(gateway, request);
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    throw new ProtocolError(error.code, error.message, error.data);
  }
}

async function handle(gateway: Gateway, request: AgentRequest): Promise<Members> {
  const { method } = request;
  if (method === "tools/list") return gateway.listTools();
  const ask = (next: AgentRequest): Promise<Members | undefined> =>
    method === "tools/call" ? gateway.callTool(next) : gateway.forwarder.handle(next);
  const result = await inRounds(request, gateway.config.review.withinMs, ask);
  if (result === undefined) throw new AgentError(-32601, "Method not found");
  return result;
}

/**
 * In the older era a client can't be sent away with a question: it is asked while it waits, and the
 * request goes on with its answers (SEP-2322).
 */
async function inRounds(
  request: AgentRequest,
  reviewWithinMs: number,
  run: (request: AgentRequest) => Promise<Members | undefined>,
): Promise<Members | undefined> {
  let next = request;
  for (let round = 1; round <= maxRounds; round += 1) {
    const result = await run(next);
    const { ask } = request;
    if (ask === undefined || result?.["resultType"] !== "input_required") return result;
    const questions = (result["inputRequests"] ?? {}) as Readonly<Record<string, Question>>;
    const inputResponses: Record<string, unknown> = {};
    for (const [name, question] of Object.entries(questions)) {
      inputResponses[name] =
        name === reviewRound
          ? await askReviewer(ask, question, reviewWithinMs)
          : await ask(question.method, question.params ?? {});
    }
    next = { ...request, inputResponses, requestState: result["requestState"] };
  }
  throw new AgentError(
    -32603,
    `The server asked back ${maxRounds} times, and its last question is left without an answer. By its own word it has not carried the request out. The same request is safe: it begins anew.`,
  );
}

/** A person who doesn't answer decides nothing, and neither does a client that is gone. */
async function askReviewer(ask: Ask, question: Question, withinMs: number): Promise<Members> {
  try {
    return await ask(question.method, question.params ?? {}, withinMs);
  } catch {
    return { action: "cancel" };
  }
}

interface Question {
  readonly method: string;
  readonly params?: Members;
}

function readRequest(
  server: Server,
  { method, params }: JSONRPCRequest,
  ctx: ServerContext,
  era: McpRequestContext["era"],
): AgentRequest {
  const { mcpReq, http } = ctx;
  const given = (params ?? {}) as Members;
  const { progressToken, ...meta } = (given["_meta"] ?? {}) as Members;
  const headers = http?.req?.headers;
  const tenant: unknown = http?.authInfo?.extra?.["tenant"];
  return {
    era,
    method,
    params: given,
    facts: {
      meta,
      header: (name) => headers?.get(name) ?? undefined,
      tokenTenant: typeof tenant === "string" ? tenant : undefined,
      parameterKey: given["idempotencyKey"],
    },
    clientCapabilities: capabilitiesOfClient(server, ctx),
    clientName: nameOfClient(server, ctx),
    signal: mcpReq.signal,
    onProgress:
      progressToken === undefined
        ? undefined
        : (progress) => notify(ctx, { progressToken, ...progress }),
    inputResponses: mcpReq.inputResponses,
    requestState: mcpReq.requestState(),
    ask:
      era === "modern"
        ? undefined
        : (asked, about, withinMs) =>
            mcpReq.send(
              { method: asked, params: { ...about } },
              anything,
              withinMs === undefined ? {} : { timeout: withinMs },
            ),
  };
}

/** A client that is gone hears of no progress; the call goes on all the same. */
function notify(ctx: ServerContext, params: Members): void {
  ctx.mcpReq.notify({ method: "notifications/progress", params: { ...params } }).catch(() => {});
}

/** The newer era says it in each request, the older one once. */
function capabilitiesOfClient(server: Server, ctx: ServerContext): Members {
  const said = (ctx.mcpReq.envelope as Members | undefined)?.[CLIENT_CAPABILITIES_META_KEY];
  return (said ?? server.getClientCapabilities() ?? {}) as Members;
}

/** As far as it can be read and stored; it proves nothing. */
function nameOfClient(server: Server, ctx: ServerContext): string {
  const said = (ctx.mcpReq.envelope as Members | undefined)?.[CLIENT_INFO_META_KEY];
  const { name } = (said ?? server.getClientVersion() ?? {}) as Members;
  const readable = typeof name === "string" ? name.replaceAll(/[^\w .@/-]/g, "").trim() : "";
  return readable === "" ? "a client without a name" : readable.slice(0, 64).trim();
}

const anything: StandardSchemaV1<unknown, Members> = {
  "~standard": {
    version: 1,
    vendor: "nevertwice",
    validate: (value) => ({ value: value as Members }),
  },
};

/** What any of the servers can do. Tasks are not passed on: their ids are made by attempts. */
function capabilitiesOf(gateway: Gateway): ServerCapabilities {
  const all = gateway.forwarder.capabilities;
  const has = (name: string): boolean => all.some((each) => each[name] !== undefined);
  return {
    tools: { listChanged: true },
    ...(has("resources") ? { resources: { listChanged: true, subscribe: true } } : {}),
    ...(has("prompts") ? { prompts: { listChanged: true } } : {}),
    ...(has("completions") ? { completions: {} } : {}),
  };
}

function instructionsOf(gateway: Gateway): { readonly instructions?: string } {
  const texts = gateway.forwarder.instructions;
  return texts.length === 0 ? {} : { instructions: texts.join("\n\n") };
}
