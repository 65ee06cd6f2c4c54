/**
 * Names of ours in MCP's `_meta`. A prefix is a dotted name and a slash; those whose second label is
 * `mcp` or `modelcontextprotocol` are reserved.
 * https://modelcontextprotocol.io/specification/2025-11-25/basic#meta
 *
 * @module
 */

/** Keys of `_meta`. */
export const metaNames = {
  /** In a request: what the orchestrator vouches for. See {@link MetaContext}. */
  context: "dev.nevertwice/context",
  /** In a result: the operation that it belongs to. */
  operation: "dev.nevertwice/operation",
  /** In a request to an upstream server: the wire key, unless the policy names another. */
  key: "dev.nevertwice/key",
} as const;

/** The host's own id of a tool call: good for a step at most, never for an intent (R2). */
export const hostCallIdNames = ["claudecode/toolUseId"] as const;
