/**
 * How commands name an MCP server to look at, and its arguments: a command behind `--`, or a URL.
 *
 * @module
 */
import { InvalidArgumentError } from "commander";
import type { JsonObject } from "../base/plain-json.ts";
import type { UpstreamSpec } from "../gateway/config/gateway-config.ts";
import { CliError } from "./exit-codes.ts";

/** Reads an option that holds a JSON object. */
export function parseObject(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return value as JsonObject;
  } catch {
    // Told below, like everything else that is no object.
  }
  throw new InvalidArgumentError("It must be a JSON object.");
}

/** The server of a command line. A command gets the whole environment, as if it were started by hand. */
export function specOf(
  [command = "", ...args]: readonly string[],
  options: { readonly name: string; readonly url?: string },
): UpstreamSpec {
  const { name, url } = options;
  if (url !== undefined)
    return { kind: "url", name, url, headers: {}, protocol: "auto", requests: [] };
  const env = Object.fromEntries(
    Object.entries(process.env).filter(
      (entry): entry is [string, string] => entry[1] !== undefined,
    ),
  );
  return { kind: "command", name, command, args, env, protocol: "legacy", requests: [] };
}

/**
 * Says what can't be reached in one sentence.
 *
 * @throws {CliError} SERVER_UNREACHABLE.
 */
export async function reached<T>(server: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new CliError(
      "SERVER_UNREACHABLE",
      `The server ${server} can't be looked at: ${(error as Error).message}.`.replace("..", "."),
    );
  }
}
