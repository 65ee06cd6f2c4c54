import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

import type { ProviderBehaviour } from "./behaviour.ts";
import type { RemoteControl } from "./control.ts";
import { siblingScript } from "../sibling-script.ts";
import { createRemoteControl } from "./remote-control.ts";

/** How to start a fake provider in a process of its own. */
export interface SpawnOptions {
  /** Port on 127.0.0.1. Default: a free one. Give the old one to come back after a kill. */
  readonly port?: number;
  /** What kind of provider it is, also after a reset. Default: the ideal one. */
  readonly behaviour?: ProviderBehaviour;
  /** Keeps ledger and keys in this file and `<file>.keys`, so that a killed process loses nothing. */
  readonly ledgerFile?: string;
}

/** A fake provider in another process; it dies with ours. */
export interface RemoteProvider extends RemoteControl {
  /** Such as `http://127.0.0.1:40123`. */
  readonly url: string;
  readonly processId: number;
  /** Ends it in good order; resolves when it is gone. */
  stop(): Promise<void>;
  /** SIGKILL: nothing is flushed, no reply is finished. Resolves when it is gone. */
  kill(): Promise<void>;
}

/** Starts the fake provider as a process; resolves when it listens. */
export async function spawnFakeProvider(options: SpawnOptions = {}): Promise<RemoteProvider> {
  const child = spawn(process.execPath, commandLine(options), {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const gone = once(child, "exit");
  const url = await readUrl(child, gone);
  const end = async (how: () => void): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) how();
    await gone;
  };
  return {
    ...createRemoteControl(url),
    url,
    processId: child.pid ?? 0,
    stop: () => end(() => child.stdin.end()),
    kill: () => end(() => child.kill("SIGKILL")),
  };
}

function commandLine({ port, behaviour, ledgerFile }: SpawnOptions): string[] {
  return [
    ...siblingScript(import.meta.url, "process"),
    "--exit-with-stdin",
    ...(port === undefined ? [] : ["--port", String(port)]),
    ...(behaviour === undefined ? [] : ["--behaviour", JSON.stringify(behaviour)]),
    ...(ledgerFile === undefined ? [] : ["--ledger", ledgerFile]),
  ];
}

async function readUrl(child: ChildProcess, gone: Promise<unknown>): Promise<string> {
  if (child.stdout === null) throw new Error("the fake provider has no standard output");
  const lines = createInterface({ input: child.stdout });
  const first = await Promise.race([once(lines, "line"), gone.then(() => undefined)]);
  if (first === undefined) {
    throw new Error(`the fake provider ended with code ${child.exitCode} before it listened`);
  }
  return (JSON.parse(String(first[0])) as { url: string }).url;
}
