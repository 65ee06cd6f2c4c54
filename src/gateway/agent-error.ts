/**
 * What the protocol itself calls an error, as opposed to a tool's result that says so.
 *
 * @module
 */

/** A JSON-RPC error for the agent's client. */
export class AgentError extends Error {
  override readonly name = "AgentError";
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}
