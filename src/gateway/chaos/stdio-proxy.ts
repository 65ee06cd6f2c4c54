/**
 * The proxy on standard input and output: one client, one process of a server, and faults between
 * them. When either side ends, the other does too, as without a proxy.
 *
 * @module
 */
import type { JSONRPCMessage, JSONRPCRequest, Transport } from "@modelcontextprotocol/client";
import type { UpstreamSpec } from "../config/gateway-config.ts";
import { ChildServer } from "./child-server.ts";
import type { FaultPlan } from "./fault-plan.ts";
import { type StruckCall, strike } from "./faults.ts";
import { toolCalledBy } from "./tool-called.ts";

/** Options of {@link proxyOnTransport}. */
export interface StdioProxyOptions {
  readonly spec: Extract<UpstreamSpec, { kind: "command" }>;
  /** Where the client is. */
  readonly front: Transport;
  readonly plan: FaultPlan;
  readonly holdMs: number;
  readonly effectSeen?: StruckCall<unknown>["effectSeen"];
  readonly onDiagnostic: (text: string) => void;
}

/** A proxy between one client and one process. */
export interface StdioProxy {
  /** Resolves when either side has ended. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

/** Starts the server, and then listens to the client. */
export async function proxyOnTransport(options: StdioProxyOptions): Promise<StdioProxy> {
  const { spec, front, onDiagnostic } = options;
  const tell = (message: JSONRPCMessage): void => void front.send(message).catch(() => {});
  const server = await ChildServer.start({ spec, onMessage: tell, onDiagnostic });
  const frontEnded = new Promise<void>((resolve) => {
    const onmessage = (message: JSONRPCMessage): void => {
      // A reply that won't come any more is told by the end of the connection.
      take(message, server, options, tell).catch(() => {});
    };
    Object.assign(front, { onmessage, onclose: resolve });
  });
  await front.start();
  const close = async (): Promise<void> => {
    await Promise.all([server.close(), front.close().catch(() => {})]);
  };
  return { ended: Promise.race([server.ended, frontEnded]).then(close), close };
}

async function take(
  message: JSONRPCMessage,
  server: ChildServer,
  options: StdioProxyOptions,
  tell: (message: JSONRPCMessage) => void,
): Promise<void> {
  if (!("method" in message && "id" in message)) return server.pass(message);
  const request: JSONRPCRequest = message;
  const tool = toolCalledBy(request);
  const send = (): Promise<JSONRPCMessage> => server.request(request);
  const outcome = await strike(tool === undefined ? "none" : options.plan(tool), {
    send,
    sendTwin: send,
    kill: () => server.kill(),
    effectSeen: options.effectSeen,
    holdMs: options.holdMs,
  });
  if (outcome.told === "reply") tell(outcome.reply);
}
