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

/** Reads one header, beside those that were read before. */
export function parseHeader(
  text: string,
  before: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const [, name = "", value = ""] = /^([^:\s]+):\s*(.*\S)\s*$/.exec(text) ?? [];
  try {
    return Object.fromEntries(new Headers({ ...before, [name]: value }));
  } catch {
    throw new InvalidArgumentError('It must be "Name: value".');
  }
}

/** The server of a command line. A command gets the whole environment, as if it were started by hand. */
export function specOf(
  [command = "", ...args]: readonly string[],
  options: {
    readonly name: string;
    readonly url?: string;
    readonly header?: Readonly<Record<string, string>>;
  },
): UpstreamSpec {
  const { name, url, header: headers = {} } = options;
  if (url !== undefined) {
    if (!/^https?:$/.test(URL.canParse(url) ? new URL(url).protocol : ""))
      throw new CliError("USAGE", `--url must be an http:// or https:// address, not ${url}.`);
    return { kind: "url", name, url, headers, protocol: "auto", requests: [] };
  }
  if (Object.keys(headers).length > 0)
    throw new CliError("USAGE", "--header goes with --url: a command gets its environment.");
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
