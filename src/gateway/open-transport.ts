/**
 * Transports to upstream servers, by the official client.
 *
 * @module
 */
import { StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client";
import { StdioClientTransport, getDefaultEnvironment } from "@modelcontextprotocol/client/stdio";
import type { UpstreamSpec } from "./config/gateway-config.ts";

/** Opens a transport; `onDiagnostic` gets what a command writes to its standard error. */
export function openTransport(spec: UpstreamSpec, onDiagnostic: (text: string) => void): Transport {
  return spec.kind === "url" ? openByUrl(spec) : openProcess(spec, onDiagnostic);
}

/** The transport to a URL. */
export function openByUrl({
  url,
  headers,
}: Extract<UpstreamSpec, { kind: "url" }>): StreamableHTTPClientTransport {
  return new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { ...headers } },
  });
}

/** The transport of a command; the process starts with it. */
export function openProcess(
  spec: Extract<UpstreamSpec, { kind: "command" }>,
  onDiagnostic: (text: string) => void,
): StdioClientTransport {
  const transport = new StdioClientTransport({
    command: spec.command,
    args: [...spec.args],
    // Only what is harmless is inherited; everything else is named in the configuration.
    env: { ...getDefaultEnvironment(), ...spec.env },
    stderr: "pipe",
    ...(spec.cwd === undefined ? {} : { cwd: spec.cwd }),
  });
  transport.stderr?.on("data", (chunk: Buffer) => onDiagnostic(chunk.toString("utf8").trimEnd()));
  return transport;
}
