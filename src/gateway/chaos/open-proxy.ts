/**
 * Proxies as they are used: one that stands until it is ended, and one for a single play, to which
 * the agent of this process connects.
 *
 * @module
 */
import {
  InMemoryTransport,
  StreamableHTTPClientTransport,
  type Transport,
} from "@modelcontextprotocol/client";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import type { UpstreamSpec } from "../config/gateway-config.ts";
import type { FaultPlan } from "./fault-plan.ts";
import type { StruckCall } from "./faults.ts";
import { commandBack } from "./command-back.ts";
import { urlBack } from "./http-back.ts";
import { type HttpProxy, startHttpProxy } from "./http-proxy.ts";
import { type StdioProxy, proxyOnTransport } from "./stdio-proxy.ts";

/** Options of {@link openChaosProxy}. */
export interface ChaosProxyOptions {
  readonly spec: UpstreamSpec;
  readonly plan: FaultPlan;
  readonly holdMs: number;
  readonly effectSeen: NonNullable<StruckCall<unknown>["effectSeen"]>;
}

/** A proxy that the agent of this process connects to. */
export interface ChaosProxy {
  /** A new connection; to a command it is a new process. */
  readonly open: () => Promise<Transport>;
  /** What the process wrote last to its standard error. */
  readonly said: () => string;
  close(): Promise<void>;
}

/** Opens the proxy for one play: by HTTP in front of a URL, by messages in front of a command. */
export async function openChaosProxy(options: ChaosProxyOptions): Promise<ChaosProxy> {
  const { spec } = options;
  if (spec.kind === "url") {
    const proxy = await startHttpProxy({ ...options, back: urlBack(spec), port: 0 });
    return {
      open: async () => new StreamableHTTPClientTransport(new URL(proxy.url)),
      said: () => "",
      close: () => proxy.close(),
    };
  }
  const opened: StdioProxy[] = [];
  let said = "";
  const onDiagnostic = (text: string): void => void (said = text);
  return {
    open: async () => {
      const [client, front] = InMemoryTransport.createLinkedPair();
      const proxy = await proxyOnTransport({ ...options, spec, front, onDiagnostic });
      opened.push(proxy);
      return client;
    },
    said: () => said,
    close: async () => {
      await Promise.all(opened.map((proxy) => proxy.close()));
    },
  };
}

/** Options of a standing proxy. */
export interface StandingOptions {
  readonly spec: UpstreamSpec;
  readonly plan: FaultPlan;
  readonly holdMs: number;
}

/** Listens on loopback; port 0 is any free one. */
export function listenWithFaults(options: StandingOptions, port: number): Promise<HttpProxy> {
  const { spec } = options;
  const back = spec.kind === "url" ? urlBack(spec) : commandBack(spec, toStandardError);
  return startHttpProxy({ ...options, back, port });
}

/** Serves one client on standard input and output; resolves when it or the server has ended. */
export async function serveStdioWithFaults(options: StandingOptions): Promise<void> {
  const front = new StdioServerTransport();
  const proxy = await proxyOnTransport({ ...options, front, onDiagnostic: toStandardError });
  process.stdin.once("end", () => void proxy.close());
  await proxy.ended;
}

function toStandardError(text: string): void {
  process.stderr.write(`${text}\n`);
}
