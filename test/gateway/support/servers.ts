/**
 * Upstream servers of the tests, as commands of a configuration.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { onTestFinished } from "vitest";
import { withFreePort } from "../../support/postgres-server.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const cache = join(root, ".cache/gateway");

/** The refund server as plain JavaScript: a process that has to load TypeScript starts slowly. */
export function refundServer(): string {
  const text = readFileSync(new URL("refund-server.ts", import.meta.url), "utf8");
  const digest = createHash("sha256").update(text).digest("hex").slice(0, 16);
  const file = join(cache, `refund-server-${digest}.mjs`);
  if (existsSync(file)) return file;
  const { outputText } = ts.transpileModule(text, {
    compilerOptions: {
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.ESNext,
      verbatimModuleSyntax: true,
    },
  });
  mkdirSync(cache, { recursive: true });
  // Several test files may make it at once; each gets a whole file.
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, outputText);
  renameSync(draft, file);
  return file;
}

/** Starts the refund server by HTTP; gives its URL. */
export async function refundUrl(folder: string): Promise<string> {
  const child = spawn(process.execPath, [refundServer()], {
    env: { ...process.env, LEDGER_FOLDER: folder, REFUND_HTTP: "1" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [printed] = (await once(child.stdout, "data")) as [Buffer];
  return printed.toString("utf8").trim();
}

/** The protocol's own example server, as a command's argument. */
export const everything = npmServer("@modelcontextprotocol/server-everything/dist/index.js");

/** Starts it by HTTP; gives its URL. */
export function everythingUrl(): Promise<string> {
  return withFreePort(async (port) => {
    const child = spawn(process.execPath, [everything, "streamableHttp"], {
      env: { ...process.env, PORT: String(port) },
      stdio: ["ignore", "ignore", "pipe"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const url = `http://127.0.0.1:${port}/mcp`;
    let said = "";
    await new Promise<void>((resolve, reject) => {
      child.once("exit", () => reject(new Error(`address already in use, perhaps:\n${said}`)));
      child.stderr.on("data", (part: Buffer) => {
        said += part.toString("utf8");
        // Where another process took the port it says this as well, and ends; so it is asked.
        if (said.includes("listening on port")) fetch(url).then(() => resolve(), reject);
      });
    });
    return url;
  });
}

/** The entry of a server from npm. */
export function npmServer(path: string): string {
  return join(root, "node_modules", path);
}
