/**
 * Opens the way to a server: starts its process, or gets ready to call its URL.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import type { UpstreamSpec } from "../config/gateway-config.ts";
import { openByUrl, openProcess } from "../open-transport.ts";
import { ServerLink } from "./server-link.ts";

/** Options of {@link openLink}. */
export interface OpenLinkOptions {
  readonly spec: UpstreamSpec;
  readonly onMessage: (message: JSONRPCMessage) => void;
  /** What a process writes to its standard error. */
  readonly onDiagnostic: (text: string) => void;
}

/** Rejects when there is no such command. A URL is called with the first message. */
export function openLink({ spec, onMessage, onDiagnostic }: OpenLinkOptions): Promise<ServerLink> {
  if (spec.kind === "url") {
    const transport = openByUrl(spec);
    // A server that hangs is not waited for.
    const leave = (): Promise<void> =>
      Promise.race([transport.terminateSession(), pause(1000, undefined, { ref: false })]);
    return ServerLink.start({ transport, onMessage, kill: () => {}, leave });
  }
  const transport = openProcess(spec, onDiagnostic);
  const kill = (): void => {
    if (transport.pid !== null) for (const each of familyOf(transport.pid)) killNow(each);
    void transport.close().catch(() => {});
  };
  return ServerLink.start({ transport, onMessage, kill });
}

/** A launcher, such as npx, is not the server: its children die with it. Linux tells who they are. */
function familyOf(pid: number): readonly number[] {
  let children: readonly number[] = [];
  try {
    const listed = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
    children = listed.split(" ").filter(Boolean).map(Number);
  } catch {
    // Elsewhere the process itself has to do.
  }
  return [pid, ...children.flatMap(familyOf)];
}

function killNow(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}
