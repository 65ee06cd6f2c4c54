/**
 * A server under test: one connection that can be dropped, and a process that can be killed.
 *
 * @module
 */
import type { Transport } from "@modelcontextprotocol/client";
import type { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { UpstreamConnection } from "../../edges/mcp/upstream-connection.ts";
import { UpstreamNotConnected } from "../../edges/mcp/upstream-errors.ts";
import type { UpstreamSpec } from "../config/gateway-config.ts";
import { openTransport } from "../open-transport.ts";

/** See the module. */
export interface ChaosServer {
  readonly connection: UpstreamConnection;
  /** Ends the process at once, as a crash does. Undefined for a server at a URL. */
  readonly kill: (() => void) | undefined;
  close(): Promise<void>;
}

/** Longer than any run: a connection that was lost here is never opened again by itself. */
const neverMs = 2_000_000_000;

/**
 * Opens a new connection; a server of a command is a new process.
 *
 * @throws {UpstreamNotConnected} with what the server said.
 */
export async function openChaosServer(spec: UpstreamSpec, version: string): Promise<ChaosServer> {
  let transport: Transport | undefined;
  let reason = "";
  let said = "";
  const connection = new UpstreamConnection({
    name: spec.name,
    openTransport: () => (transport = openTransport(spec, (text) => (said = text))),
    protocol: spec.protocol === "modern" ? { pin: "2026-07-28" } : spec.protocol,
    clientInfo: { name: "nevertwice-chaos", version },
    clientCapabilities: {},
    backOffMs: { first: neverMs, last: neverMs },
    onState: (state, why) => {
      if (state === "down") reason = why;
    },
  });
  await connection.start();
  if (connection.state !== "up") {
    await connection.close();
    throw new UpstreamNotConnected([reason, said].filter((text) => text !== "").join(": "));
  }
  const { pid } = transport as unknown as StdioClientTransport;
  const kill = (): void => {
    if (typeof pid === "number") process.kill(pid, "SIGKILL");
  };
  return {
    connection,
    kill: spec.kind === "command" ? kill : undefined,
    close: () => connection.close(),
  };
}
