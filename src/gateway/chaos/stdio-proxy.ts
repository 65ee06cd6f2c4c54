/**
 * The proxy on standard input and output: one client, one server, and faults between them. When
 * either side ends, the other does too, as without a proxy.
 *
 * @module
 */
import type { JSONRPCMessage, JSONRPCRequest, Transport } from "@modelcontextprotocol/client";
import { errorText } from "../../base/errors.ts";
import type { UpstreamSpec } from "../config/gateway-config.ts";
import type { FaultPlan } from "./fault-plan.ts";
import { type StruckCall, strike } from "./faults.ts";
import { openLink } from "./open-link.ts";
import type { ServerLink } from "./server-link.ts";
import { toolCalledBy } from "./tool-called.ts";

/** Options of {@link proxyOnTransport}. */
export interface StdioProxyOptions {
  readonly spec: UpstreamSpec;
  /** Where the client is. */
  readonly front: Transport;
  readonly plan: FaultPlan;
  readonly holdMs: number;
  readonly effectSeen?: StruckCall<unknown>["effectSeen"];
  readonly onDiagnostic: (text: string) => void;
}

/** A proxy between one client and one server. */
export interface StdioProxy {
  /** Resolves when either side has ended. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

type Tell = (message: JSONRPCMessage) => void;

/** Opens the way to the server, and then listens to the client. */
export async function proxyOnTransport(options: StdioProxyOptions): Promise<StdioProxy> {
  const { spec, front, onDiagnostic } = options;
  const tell: Tell = (message) => void front.send(message).catch(() => {});
  const server = await openLink({ spec, onMessage: tell, onDiagnostic });
  const frontEnded = new Promise<void>((resolve) => {
    const onmessage = (message: JSONRPCMessage): void => {
      take(message, server, options, tell).catch((error: unknown) => {
        onDiagnostic(errorText(error));
        // A process that is gone is told by the end of the connection; a URL has no such end.
        if (spec.kind === "url") tellLoss(message, error, tell);
      });
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
  server: ServerLink,
  options: StdioProxyOptions,
  tell: Tell,
): Promise<void> {
  if (!("method" in message && "id" in message)) return server.pass(message);
  const request: JSONRPCRequest = message;
  const tool = toolCalledBy(request);
  const outcome = await strike(tool === undefined ? "none" : options.plan(tool), {
    send: () => server.request(request, { hear: tell }),
    // What becomes of the twin its client never hears, and its progress would be told twice.
    sendTwin: () => server.request(request),
    kill: () => server.kill(),
    effectSeen: options.effectSeen,
    holdMs: options.holdMs,
  });
  if (outcome.told === "reply") tell(outcome.reply);
}

function tellLoss(message: JSONRPCMessage, error: unknown, tell: Tell): void {
  if (!("method" in message && "id" in message)) return;
  const text = `No reply came from the server, and what it did is unknown: ${errorText(error)}`;
  tell({ jsonrpc: "2.0", id: message.id, error: { code: -32_603, message: text } });
}
