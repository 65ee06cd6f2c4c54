/**
 * A request of an agent, whichever way it came in.
 *
 * @module
 */
import type { RequestFacts } from "../edges/mcp/caller-context.ts";
import type { Progress } from "../edges/mcp/call-extras.ts";

type Members = Readonly<Record<string, unknown>>;

/** See the module. */
export interface AgentRequest {
  readonly method: string;
  /** As sent, without what the protocol keeps for itself. */
  readonly params: Members;
  readonly facts: RequestFacts;
  readonly clientCapabilities: Members;
  /** Aborts when the client cancels or goes away. Only forwarded for what has no effect. */
  readonly signal: AbortSignal;
  readonly onProgress: ((progress: Progress) => void) | undefined;
  readonly inputResponses: Members | undefined;
  readonly requestState: unknown;
  /** Asks the agent's client something, in the older era; undefined in the newer one. */
  readonly ask: ((method: string, params: Members) => Promise<Members>) | undefined;
}
