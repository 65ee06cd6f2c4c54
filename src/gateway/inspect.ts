/**
 * A look at servers: what they list, what their hints are worth, and which policy would be a start.
 *
 * @module
 */
import { UpstreamConnection } from "../edges/mcp/upstream-connection.ts";
import { UpstreamNotConnected } from "../edges/mcp/upstream-errors.ts";
import {
  type ToolDefinition,
  type ToolHints,
  compareHints,
  definitionHash,
  findContradictions,
  isToolDefinition,
} from "../edges/mcp/tool-definition.ts";
import type { ToolPolicy } from "../edges/mcp/tool-policy.ts";
import type { UpstreamSpec } from "./config/gateway-config.ts";
import { draftPolicy } from "./draft-policy.ts";
import { openTransport } from "./open-transport.ts";
import type { Pins } from "./pins.ts";
import { listAll } from "./upstreams.ts";

/** One tool, looked at. */
export interface InspectedTool {
  /** `server/tool`. */
  readonly name: string;
  readonly definition: ToolDefinition;
  readonly hints: ToolHints;
  readonly hash: string;
  /** What the definition says against itself, and against its policy. */
  readonly remarks: readonly string[];
  /** `pinned`, `changed` since, or `new`. */
  readonly pin: "pinned" | "changed" | "new";
  /** The kind by its policy; without one, the kind that a draft would give it. */
  readonly kind: string;
  readonly hasPolicy: boolean;
  readonly draft: Readonly<Record<string, unknown>>;
}

/** Opens one connection, works, closes. It is not tried again. */
export async function withServer<T>(
  spec: UpstreamSpec,
  version: string,
  work: (connection: UpstreamConnection) => Promise<T>,
): Promise<T> {
  let reason = "";
  let said = "";
  const connection = new UpstreamConnection({
    name: spec.name,
    openTransport: () => openTransport(spec, (text) => (said = text)),
    protocol: spec.protocol === "modern" ? { pin: "2026-07-28" } : spec.protocol,
    clientInfo: { name: "nevertwice-inspect", version },
    clientCapabilities: {},
    onState: (state, why) => {
      if (state === "down") reason = why;
    },
  });
  try {
    await connection.start();
    if (connection.state !== "up")
      throw new UpstreamNotConnected([reason, said].filter((text) => text !== "").join(": "));
    return await work(connection);
  } finally {
    await connection.close();
  }
}

/** Looks at one server's tools, with what a configuration and a lock file say of them. */
export async function inspectServer(
  spec: UpstreamSpec,
  version: string,
  policies: ReadonlyMap<string, ToolPolicy> = new Map(),
  pins: Pins = new Map(),
): Promise<readonly InspectedTool[]> {
  const tools = await withServer(spec, version, (connection) =>
    listAll(connection, "tools/list", "tools"),
  );
  return tools.filter(isToolDefinition).map((definition) => {
    const name = `${spec.name}/${definition.name}`;
    const hash = definitionHash(definition);
    const policy = policies.get(name);
    const draft = draftPolicy(definition);
    const pinned = pins.get(name);
    return {
      name,
      definition,
      hints: definition.annotations ?? {},
      hash,
      remarks: [
        ...findContradictions(definition),
        ...(policy === undefined ? [] : compareHints(definition, policy.kind)).map(
          ({ message }) => message,
        ),
      ],
      pin: pinned === undefined ? "new" : pinned === hash ? "pinned" : "changed",
      kind: policy?.kind ?? String(draft["kind"]),
      hasPolicy: policy !== undefined,
      draft,
    };
  });
}
