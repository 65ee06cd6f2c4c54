/**
 * Calls by HTTP whose headers say something else than their arguments (SEP-2243).
 *
 * @module
 */
import { mismatchedHeader, wantsHeaders } from "../edges/mcp/param-headers.ts";
import type { Gateway } from "./gateway.ts";

interface Call {
  readonly id?: unknown;
  readonly params?: { readonly name?: unknown; readonly arguments?: unknown };
}

/** https://modelcontextprotocol.io/specification/2026-07-28/schema */
const headerMismatch = -32_020;

/** The refusal of such a call; undefined for every other request. Reads a copy of its body. */
export async function refuseMismatch(
  gateway: Gateway,
  request: Request,
): Promise<Response | undefined> {
  if (request.headers.get("mcp-method") !== "tools/call") return undefined;
  const call = await readCall(request);
  const name = call?.params?.name;
  const entry = typeof name === "string" ? gateway.catalogue.entries.get(name) : undefined;
  if (entry === undefined || entry.verdict === "refused") return undefined;
  const { inputSchema } = entry.shown;
  if (!wantsHeaders(inputSchema)) return undefined;
  const header = (each: string): string | undefined => request.headers.get(each) ?? undefined;
  const wrong = mismatchedHeader(inputSchema, call?.params?.arguments, header);
  if (wrong === undefined) return undefined;
  const message = `The header ${wrong} doesn't say what the arguments say. Nothing was recorded and nothing was sent.`;
  const error = { code: headerMismatch, message, data: { mismatch: { header: wrong } } };
  return Response.json({ jsonrpc: "2.0", id: call?.id ?? null, error }, { status: 400 });
}

/** Undefined for what the SDK refuses anyway: no JSON, too large. */
async function readCall(request: Request): Promise<Call | undefined> {
  try {
    return (await request.clone().json()) as Call;
  } catch {
    return undefined;
  }
}
