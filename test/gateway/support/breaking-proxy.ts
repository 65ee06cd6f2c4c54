/**
 * An HTTP proxy that breaks the answers of tool calls after the effect: the request has been served
 * in full when its answer gets lost. Or, to compare, before it.
 */
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/**
 * What a client sees instead of the answer: a reset connection, a gateway's 503, or that its session is
 * not there (any more); `404 before` is told of a request that went no further.
 */
export type Breakage = "reset" | "503" | "404" | "404 before";

export interface BreakingProxy {
  readonly url: URL;
  /** Answers of tool calls that were broken. */
  broken(): number;
}

/** Starts a proxy that breaks the first `times` answers of tool calls. */
export function startBreakingProxy(
  target: string,
  breakage: Breakage,
  times: number,
): Promise<BreakingProxy> {
  return startProxy(target, (broken) => (broken < times ? breakage : undefined));
}

/** Starts a proxy that asks for each tool call what becomes of it; every answer tells the session. */
export async function startProxy(
  target: string,
  breakageOf: (broken: number) => Breakage | undefined,
  session?: string,
): Promise<BreakingProxy> {
  let broken = 0;
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    // Nothing of ours comes by a stream that the server opens; clients do without.
    if (request.method === "GET") return void response.writeHead(405).end();
    const how = body.includes('"tools/call"') ? breakageOf(broken) : undefined;
    if (how !== undefined) broken += 1;
    if (how === "404 before") return void response.writeHead(404).end("Session not found");
    const answer = await fetch(target, {
      method: request.method ?? "POST",
      headers: headersOf(request),
      ...(body.length === 0 ? {} : { body }),
    });
    const answered = Buffer.from(await answer.arrayBuffer());
    if (how === "reset") return void request.socket.destroy();
    if (how === "404") return void response.writeHead(404).end("Session not found");
    if (how === "503") return void response.writeHead(503).end("Service Unavailable");
    const headers = [...answer.headers].filter(([name]) => !ownHeaders.has(name));
    if (session !== undefined) headers.push(["mcp-session-id", session]);
    response.writeHead(answer.status, Object.fromEntries(headers)).end(answered);
  };
  const server = createServer((request, response) => {
    serve(request, response).catch(() => request.socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: new URL(`http://127.0.0.1:${port}/mcp`), broken: () => broken };
}

/** They belong to one connection. https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1 */
const ownHeaders = new Set([
  "connection",
  "content-length",
  "content-encoding",
  "host",
  "keep-alive",
  "transfer-encoding",
]);

function headersOf({ headers }: IncomingMessage): Record<string, string> {
  const passed = Object.entries(headers).filter(([name]) => !ownHeaders.has(name));
  return Object.fromEntries(passed.map(([name, value]) => [name, String(value)]));
}
