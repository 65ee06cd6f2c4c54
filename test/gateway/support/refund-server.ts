/**
 * An upstream MCP server whose effects are lines in a file: the ledger that tests judge by. It is a
 * process of its own, and what goes wrong in it is set from outside, by files in its folder:
 * `die-after-effect`, `die-before-effect`, `decline`, `report-error`, `refuse-params`, `refuse-method`, `hang`, `ask`,
 * `ask-ever`, `task` and `task-type`.
 * With REPLY_AFTER_MS there is a pause between effect and reply; with REFUND_HTTP it listens, and prints where.
 */
import { appendFileSync, existsSync, readFileSync, rmSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { ProtocolError, Server, createMcpHandler } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

interface RefundArguments {
  readonly order_id: string;
  readonly amount_minor: number;
  readonly currency?: string;
  readonly reason?: string;
  readonly idempotency_key?: string;
}

const folder = process.env["LEDGER_FOLDER"] ?? ".";
const replyAfterMs = Number(process.env["REPLY_AFTER_MS"] ?? "0");
const ledger = join(folder, "ledger.jsonl");
const has = (name: string): boolean => existsSync(join(folder, name));

/** What is set goes wrong once. */
function once(name: string): boolean {
  if (!has(name)) return false;
  rmSync(join(folder, name));
  return true;
}

function entries(): Record<string, unknown>[] {
  if (!existsSync(ledger)) return [];
  const lines = readFileSync(ledger, "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

const refundTool = {
  name: "issue_refund",
  description: process.env["REFUND_DESCRIPTION"] ?? "Refunds an order.",
  inputSchema: {
    type: "object",
    properties: {
      order_id: { type: "string" },
      amount_minor: { type: "integer" },
      currency: { type: "string", default: "EUR" },
      reason: { type: "string" },
      idempotency_key: { type: "string" },
    },
    required: ["order_id", "amount_minor"],
  },
  outputSchema: {
    type: "object",
    properties: { id: { type: "string" }, order_id: { type: "string" } },
    required: ["id", "order_id"],
  },
  annotations: { destructiveHint: true, idempotentHint: false, "vendor-risk": "money" },
  "x-vendor": { team: "payments" },
};

const listTool = {
  name: "list_refunds",
  description: "Lists refunds.",
  inputSchema: { type: "object", properties: { order_id: { type: "string" } } },
  annotations: { readOnlyHint: true },
};

function toolResult(value: Record<string, unknown>): Record<string, unknown> {
  return {
    content: [{ type: "text", text: JSON.stringify(value) }],
    structuredContent: value,
    "x-vendor-result": { traced: true },
  };
}

function makeEffect(args: RefundArguments): Record<string, unknown> {
  const entry = { id: `re_${entries().length + 1}`, ...args, at: Date.now() };
  appendFileSync(ledger, `${JSON.stringify(entry)}\n`);
  return entry;
}

async function refund(
  args: RefundArguments,
  inputResponses: Readonly<Record<string, unknown>> | undefined,
): Promise<Record<string, unknown>> {
  if (has("ask-ever") || (has("ask") && inputResponses === undefined)) {
    const schema = { type: "object", properties: { sure: { type: "boolean" } } };
    return {
      resultType: "input_required",
      inputRequests: {
        sure: {
          method: "elicitation/create",
          params: { mode: "form", message: "Sure?", requestedSchema: schema },
        },
      },
      requestState: "round-1",
    };
  }
  if (once("die-before-effect")) process.exit(1);
  if (once("decline")) return { isError: true, content: [{ type: "text", text: "card_declined" }] };
  const known = entries().find(
    (entry) =>
      args.idempotency_key !== undefined && entry["idempotency_key"] === args.idempotency_key,
  );
  const effect = known ?? makeEffect(args);
  if (replyAfterMs > 0) await new Promise((resolve) => setTimeout(resolve, replyAfterMs));
  if (once("die-after-effect")) process.exit(1);
  if (has("task")) return { task: { taskId: `t-${entries().length}`, status: "working" } };
  if (has("task-type")) return { resultType: "task", taskId: `t-${entries().length}` };
  if (once("report-error"))
    return { isError: true, content: [{ type: "text", text: "it failed, please try again" }] };
  if (once("refuse-params")) throw new ProtocolError(-32_602, "Invalid tools/call result: content");
  if (once("refuse-method")) throw new ProtocolError(-32_601, "Method not found");
  while (has("hang")) await new Promise((resolve) => setTimeout(resolve, 10));
  return toolResult({ id: effect["id"], order_id: args.order_id });
}

function createServer(): Server {
  const server = new Server(
    { name: "refunds", version: "1.0.0" },
    { capabilities: { tools: { listChanged: true } } },
  );
  server.fallbackRequestHandler = async ({ method, params }, ctx) => {
    const { name, arguments: args } = (params ?? {}) as { name?: string; arguments?: unknown };
    if (method === "tools/list") return { tools: [refundTool, listTool] };
    if (name === "list_refunds") {
      const { order_id: order } = args as { order_id?: string };
      const refunds = entries().filter(
        (entry) => order === undefined || entry["order_id"] === order,
      );
      return toolResult({ refunds });
    }
    return refund(args as RefundArguments, ctx.mcpReq.inputResponses);
  };
  return server;
}

function serveHttp(): void {
  const handle = toNodeHandler(createMcpHandler(createServer));
  const listener = createHttpServer((request, response) => {
    void handle(request as Parameters<typeof handle>[0], response);
  });
  listener.listen(0, "127.0.0.1", () => {
    const { port } = listener.address() as AddressInfo;
    process.stdout.write(`http://127.0.0.1:${port}/mcp\n`);
  });
}

if (process.env["REFUND_HTTP"] === undefined) serveStdio(createServer);
else serveHttp();
