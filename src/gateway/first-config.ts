/**
 * The text of a first configuration.
 *
 * @module
 */
import { stringify } from "yaml";
import { inspectServer } from "./inspect.ts";
import type { Pins } from "./pins.ts";

/** What a first configuration is made of. */
export interface FirstConfigOptions {
  /** The server's command; empty for a placeholder. */
  readonly command: readonly string[];
  readonly server: string;
  readonly tenant: string;
  readonly version: string;
}

const head = `# yaml-language-server: $schema=./node_modules/nevertwice/docs/reference/nevertwice.schema.json
# The gateway's configuration: docs/reference/gateway-config.md. Secrets go in as \${ENV_VARIABLE}.
`;

/** Looks at the server, if one is named, and drafts a policy for each tool. */
export async function firstConfig(
  options: FirstConfigOptions,
): Promise<{ readonly text: string; readonly pins: Pins }> {
  const { command, server, tenant, version } = options;
  const [program = "your-mcp-server", ...args] = command;
  const upstream = { command: program, ...(args.length === 0 ? {} : { args }) };
  const spec = {
    kind: "command",
    name: server,
    command: program,
    args,
    env: {},
    protocol: "legacy",
    requests: [],
  } as const;
  const tools = command.length === 0 ? [] : await inspectServer(spec, version);
  const body = {
    store: "./nevertwice.sqlite",
    context: { tenant: { value: tenant } },
    upstreams: { [server]: upstream },
    ...(tools.length === 0
      ? {}
      : { tools: Object.fromEntries(tools.map(({ name, draft }) => [name, draft])) }),
  };
  return {
    text: head + stringify(body, { nullStr: "", lineWidth: 0 }),
    pins: new Map(tools.map(({ name, hash }) => [name, hash])),
  };
}
