/**
 * What is behind the proxy by HTTP: a server at a URL, or a command that is started.
 *
 * @module
 */
import { randomUUID } from "node:crypto";
import type { JSONRPCMessage, JSONRPCRequest } from "@modelcontextprotocol/client";
import type { UpstreamSpec } from "../config/gateway-config.ts";
import { ChildServer } from "./child-server.ts";

/** A request, read. */
export interface BackRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The body's JSON. */
  readonly message: unknown;
  readonly signal?: AbortSignal;
}

/** See the module. */
export interface HttpBack {
  /** Rejects when the server gives no answer. */
  forward(request: BackRequest): Promise<Response>;
  /** Ends the processes at once. Absent for a URL. */
  readonly kill?: () => void;
  close(): Promise<void>;
}

/**
 * They belong to one connection (https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1), or to the
 * coding of a body, which is undone here.
 */
const ofOneConnection = new Set([
  "accept-encoding",
  "connection",
  "content-encoding",
  "content-length",
  "host",
  "keep-alive",
  "transfer-encoding",
]);

/** The headers that pass a proxy. */
export function endToEnd(
  headers: Headers | NodeJS.Dict<string | string[]>,
): Readonly<Record<string, string>> {
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers);
  return Object.fromEntries(
    entries
      .filter(([name, value]) => value !== undefined && !ofOneConnection.has(name))
      .map(([name, value]) => [name, String(value)]),
  );
}

/** A server at a URL. */
export function urlBack({ url, headers }: Extract<UpstreamSpec, { kind: "url" }>): HttpBack {
  return {
    forward: ({ method, headers: given, body, signal }) =>
      fetch(url, {
        method,
        headers: { ...given, ...headers },
        ...(body === "" ? {} : { body }),
        ...(signal === undefined ? {} : { signal }),
      }),
    close: async () => {},
  };
}

type CommandSpec = Extract<UpstreamSpec, { kind: "command" }>;

const sessionHeader = "mcp-session-id";

/** The process of clients that open no session: the newer era has none. */
const sessionless = "";

/**
 * A command: a process for each session, and one for everyone without. Replies come as JSON;
 * notifications and questions of the server don't pass, for there is no stream to put them on.
 */
export function commandBack(spec: CommandSpec, onDiagnostic: (text: string) => void): HttpBack {
  const servers = new Map<string, Promise<ChildServer>>();
  const started = (session: string): Promise<ChildServer> => {
    const server = startServer(spec, onDiagnostic);
    servers.set(session, server);
    const forget = (): void => {
      if (servers.get(session) === server) servers.delete(session);
    };
    server.then(({ ended }) => ended).then(forget, forget);
    return server;
  };
  const all = async (end: (server: ChildServer) => void | Promise<void>): Promise<void> => {
    await Promise.allSettled([...servers.values()].map((server) => server.then(end)));
  };
  return {
    forward: async ({ method, headers, message }) => {
      const known = headers[sessionHeader];
      const opens = (message as { method?: unknown } | undefined)?.method === "initialize";
      const session = opens ? randomUUID() : (known ?? sessionless);
      if (method === "DELETE") return closed(await servers.get(session));
      if (method !== "POST" || message === undefined) return new Response(null, { status: 405 });
      // https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
      if (known !== undefined && !opens && !servers.has(known))
        return new Response("There is no such session.\n", { status: 404 });
      const server = await (servers.get(session) ?? started(session));
      const answer = await exchange(server, message as JSONRPCMessage);
      if (opens) answer.headers.set(sessionHeader, session);
      return answer;
    },
    kill: () => {
      void all((server) => server.kill());
      // Whoever comes now must not meet one that is dying.
      servers.clear();
    },
    close: () => all((server) => server.close()),
  };
}

async function startServer(
  spec: CommandSpec,
  onDiagnostic: (text: string) => void,
): Promise<ChildServer> {
  const refuse = (message: JSONRPCMessage): void => {
    if (!("method" in message && "id" in message)) return;
    const error = { code: -32_601, message: "No client can be asked here." };
    void server.pass({ jsonrpc: "2.0", id: message.id, error }).catch(() => {});
  };
  const server = await ChildServer.start({ spec, onDiagnostic, onMessage: refuse });
  return server;
}

async function exchange(server: ChildServer, message: JSONRPCMessage): Promise<Response> {
  if ("method" in message && "id" in message)
    return Response.json(await server.request(message satisfies JSONRPCRequest));
  await server.pass(message);
  return new Response(null, { status: 202 });
}

async function closed(server: ChildServer | undefined): Promise<Response> {
  await server?.close();
  return new Response(null, { status: server === undefined ? 404 : 200 });
}
