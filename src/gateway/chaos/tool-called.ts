/**
 * Which message is a call of a tool.
 *
 * @module
 */

/** The tool that a message calls; undefined for every other message. */
export function toolCalledBy(message: unknown): string | undefined {
  if (typeof message !== "object" || message === null) return undefined;
  const { method, params } = message as { method?: unknown; params?: { name?: unknown } };
  return method === "tools/call" && typeof params?.name === "string" ? params.name : undefined;
}
