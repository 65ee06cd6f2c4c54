/**
 * Runs the binary as people do: a process of its own, judged by its output and exit code. And a
 * store with an operation in every state, made by the real guard.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll } from "vitest";
import { z } from "zod";
import type { OpenStore } from "../support/stores.ts";
import { type BuiltPackage, buildPackage } from "./built-package.ts";
import { type Store, createGuard, defineTool, isNeverTwiceError } from "../../src/index.ts";

/** How the store is named on the command line. */
export function storeArgs({ kind, location, schema }: OpenStore): string[] {
  return ["--store", location, ...(kind === "sqlite" ? [] : ["--schema", schema])];
}

/** How a run ended. */
export interface Ran {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  /** Added to an environment without NEVERTWICE_STORE. */
  readonly env?: Readonly<Record<string, string>>;
  /** Default: the package, built. */
  readonly main?: string;
  readonly input?: string;
}

/** The binary's source, to be run as it is. */
export const sourceMain = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
let built: BuiltPackage | undefined;
afterAll(() => built?.remove());

/** The main file of the package, built. */
export function builtMain(): string {
  built ??= buildPackage({ withDrivers: true });
  return built.main;
}

/** Starts the binary. */
export function startCli(args: readonly string[], options: RunOptions = {}): ChildProcess {
  const { NEVERTWICE_STORE: _, FORCE_COLOR: __, NO_COLOR: ___, ...inherited } = process.env;
  const main = options.main ?? builtMain();
  const loader = main.endsWith(".ts") ? ["--import", tsx] : [];
  return spawn(process.execPath, [...loader, main, ...args], {
    // Not here: it must not depend on where it is called.
    cwd: tmpdir(),
    env: { ...inherited, COLUMNS: "80", ...options.env },
    stdio: ["pipe", "pipe", "pipe"],
  });
}

/** Runs the binary to its end. */
export async function runCli(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const child = startCli(args, options);
  let stdout = "";
  let stderr = "";
  child.stdout?.on("data", (chunk: Buffer) => (stdout += chunk.toString("utf8")));
  child.stderr?.on("data", (chunk: Buffer) => (stderr += chunk.toString("utf8")));
  child.stdin?.on("error", () => {});
  child.stdin?.end(options.input ?? "");
  await once(child, "close");
  return { exitCode: child.exitCode, stdout, stderr };
}

/** A run with `--json`. */
export interface RanJson extends Ran {
  /** Standard output, read. Throws what standard error says when there is none. */
  readonly document: unknown;
}

/** Runs with `--json`. */
export async function runJson(args: readonly string[], options: RunOptions = {}): Promise<RanJson> {
  const ran = await runCli([...args, "--json"], options);
  return {
    ...ran,
    get document(): unknown {
      if (ran.stdout === "") throw new Error(`nothing was printed but: ${ran.stderr}`);
      return JSON.parse(ran.stdout);
    },
  };
}

/** The error object that `--json` puts on standard error. */
export function errorOf(ran: Ran): Record<string, unknown> {
  return (JSON.parse(ran.stderr) as { error: Record<string, unknown> }).error;
}

/** What the provider does with a refund. */
type Fate = "works" | "declines" | "is silent";

/** The keys of the operations that {@link fillStore} made. */
export interface FilledStore {
  readonly done: string;
  readonly failed: string;
  readonly unknown: string;
  readonly review: string;
}

export interface FillOptions {
  readonly tenant?: string;
  /** How long a request may still take effect after the call. Default: next to nothing. */
  readonly flightMs?: number;
}

/** Makes an operation in each of four states; returns their keys. */
export async function fillStore(store: Store, options: FillOptions = {}): Promise<FilledStore> {
  return {
    done: await refund(store, "8812", "works", options),
    failed: await refund(store, "8813", "declines", options),
    unknown: await refund(store, "8814", "is silent", options),
    // Silent and without a look-up: the second call can only ask a person.
    review: await refund(store, "8815", "is silent", options).then(() =>
      refund(store, "8815", "is silent", options),
    ),
  };
}

/** Calls a guarded refund once; returns its key, whatever became of it. */
export async function refund(
  store: Store,
  orderId: string,
  fate: Fate,
  { tenant = "acme", flightMs = 1 }: FillOptions = {},
): Promise<string> {
  const tool = defineTool({
    name: "issue_refund",
    operation: "refund",
    kind: "non-idempotent",
    arguments: z.object({ orderId: z.string(), amountMinor: z.int(), currency: z.string() }),
    intent: ({ args }) => `refund:order-${args.orderId}:ticket-5521`,
    businessArguments: ["orderId", "amountMinor", "currency"],
    contract: {
      // Far: whoever is late is armed once more, and has another journal.
      timeoutMs: 60_000,
      flightMs,
      sendWithinMs: 60_000,
      marginMs: 0,
      classify: (error) => (String(error).includes("declined") ? "definitive" : "unknown"),
      providerId: (result: { id: string }) => result.id,
    },
    execute: async () => {
      if (fate === "works") return { id: `re_${orderId}`, status: "succeeded" };
      throw new Error(fate === "declines" ? "card_declined" : "socket hang up");
    },
  });
  const guard = await createGuard({ store });
  try {
    const args = { orderId, amountMinor: 48_000, currency: "EUR" };
    return (await guard.run(tool, args, { tenant })).key ?? "";
  } catch (error) {
    if (!isNeverTwiceError(error)) throw error;
    return error.key ?? "";
  }
}
