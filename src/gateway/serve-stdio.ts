/**
 * Agents on standard input and output.
 *
 * @module
 */
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import type { Server } from "@modelcontextprotocol/server";
import { createAgentServer } from "./agent-server.ts";
import type { Gateway } from "./gateway.ts";
import type { Logger } from "./log.ts";
import { passedOn } from "./passed-on.ts";

/** A served connection. */
export interface StdioService {
  /** Resolves when the agent has gone away. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

/**
 * Tells when it is closed, whoever closed it: the transport itself does so after a request that is too
 * large and when nobody reads its output, and from then on it is deaf.
 */
class AgentTransport extends StdioServerTransport {
  #tell: () => void = () => {};
  readonly closed = new Promise<void>((resolve) => (this.#tell = resolve));

  override async close(): Promise<void> {
    await super.close();
    this.#tell();
  }
}

/** Serves one agent. */
export function serveAgentOnStdio(gateway: Gateway, version: string, log: Logger): StdioService {
  const transport = new AgentTransport(process.stdin, process.stdout, {
    maxBufferSize: gateway.config.limits.requestBytes,
  });
  let server: Server | undefined;
  const handle = serveStdio(({ era }) => (server = createAgentServer(gateway, version, { era })), {
    transport,
    onerror: (error) => log.warn({ reason: error.message }, "agent connection"),
  });
  const stopTools = gateway.onToolsChanged(
    () => void server?.sendToolListChanged().catch(() => {}),
  );
  const stopOthers = gateway.forwarder.onNotification((method, params) => {
    if (!passedOn.test(method)) return;
    void server?.notification({ method, params: { ...params } }).catch(() => {});
  });
  return {
    ended: transport.closed,
    close: async () => {
      stopTools();
      stopOthers();
      await handle.close();
      // With something left in it, it would keep the process from ending.
      process.stdin.destroy();
    },
  };
}
