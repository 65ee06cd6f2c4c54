/**
 * Standing proxies of `nevertwice chaos`, as people start them: over a pipe, in the place of a server
 * in a client's configuration, or at a port.
 */
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, onTestFinished } from "vitest";
import { builtMain, startCli } from "./run-cli.ts";

/** A folder for a ledger. */
export function chaosFolder(): string {
  const path = mkdtempSync(join(tmpdir(), "nevertwice-chaos-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** How many effects the refund server's ledger holds. */
export function effectsIn(place: string): number {
  const ledger = join(place, "ledger.jsonl");
  return existsSync(ledger) ? readFileSync(ledger, "utf8").trim().split("\n").length : 0;
}

/** A proxy on standard input and output, and what it writes to its standard error. */
export function pipedProxy(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): { readonly transport: StdioClientTransport; readonly said: () => string } {
  let said = "";
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [builtMain(), "chaos", ...args],
    env: { ...env },
    stderr: "pipe",
  });
  transport.stderr?.on("data", (chunk: Buffer) => (said += chunk.toString("utf8")));
  return { transport, said: () => said };
}

/** A proxy at a port; gives its URL. */
export async function listeningProxy(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const child = startCli(["chaos", "--json", "--listen", "0", ...args], { env });
  onTestFinished(async () => {
    const ended = once(child, "close");
    child.kill("SIGTERM");
    await ended;
    expect(child.exitCode).toBe(0);
  });
  const [printed] = (await once(child.stdout ?? child, "data")) as [Buffer];
  return (JSON.parse(printed.toString("utf8")) as { url: string }).url;
}
