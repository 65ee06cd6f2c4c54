/**
 * A probe: calls a tool twice and looks at the state before, between and after. What a tool does says
 * more than its hints. It makes real effects, so it belongs to a test server.
 *
 * @module
 */
import { canonicalJson } from "../base/canonical-json.ts";
import type { JsonObject } from "../base/plain-json.ts";
import { type ToolHints, isToolDefinition } from "../edges/mcp/tool-definition.ts";
import type { UpstreamConnection } from "../edges/mcp/upstream-connection.ts";
import type { UpstreamSpec } from "./config/gateway-config.ts";
import { withServer } from "./inspect.ts";
import { listAll } from "./upstreams.ts";

type Members = Readonly<Record<string, unknown>>;

/** A call of a tool. */
export interface ProbeCall {
  readonly tool: string;
  readonly arguments: JsonObject;
}

/** What a probe saw. */
export interface Probed {
  readonly tool: string;
  readonly hints: ToolHints;
  /** `reads`: nothing changed; `converges`: the second call changed nothing more; `repeats`: it did. */
  readonly observed: "reads" | "converges" | "repeats";
  /** Hints that the observation contradicts, in sentences. */
  readonly lies: readonly string[];
  /** Both calls reported an error, so little was seen. */
  readonly refused: boolean;
}

/** Probes one tool by another that shows the state. */
export function probeTool(
  spec: UpstreamSpec,
  version: string,
  call: ProbeCall,
  observe: ProbeCall,
): Promise<Probed> {
  return withServer(spec, version, async (connection) => {
    const listed = await listAll(connection, "tools/list", "tools");
    const definition = listed.filter(isToolDefinition).find(({ name }) => name === call.tool);
    if (definition === undefined) throw new Error(`the server has no tool ${call.tool}`);
    const before = await stateOf(connection, observe);
    const first = await run(connection, call);
    const between = await stateOf(connection, observe);
    const second = await run(connection, call);
    const after = await stateOf(connection, observe);
    const observed =
      before === after && before === between
        ? "reads"
        : between === after
          ? "converges"
          : "repeats";
    const hints = definition.annotations ?? {};
    const refused = first["isError"] === true && second["isError"] === true;
    return { tool: call.tool, hints, observed, lies: liesOf(hints, observed), refused };
  });
}

function run(connection: UpstreamConnection, call: ProbeCall): Promise<Members> {
  return connection.request("tools/call", { name: call.tool, arguments: call.arguments });
}

async function stateOf(connection: UpstreamConnection, observe: ProbeCall): Promise<string> {
  const result = await run(connection, observe);
  if (result["isError"] === true)
    throw new Error(`${observe.tool} reported an error, so the state can't be seen`);
  return canonicalJson({
    content: result["content"],
    structuredContent: result["structuredContent"] ?? null,
  });
}

function liesOf(hints: ToolHints, observed: Probed["observed"]): readonly string[] {
  const lies: string[] = [];
  if (hints.readOnlyHint === true && observed !== "reads")
    lies.push("readOnlyHint is true, but the state changed");
  if (hints.idempotentHint === true && observed === "repeats")
    lies.push("idempotentHint is true, but the second call changed the state again");
  return lies;
}
