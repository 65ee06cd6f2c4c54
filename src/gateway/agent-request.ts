/**
 * A request of an agent, whichever way it came in.
 *
 * @module
 */
import type { RequestFacts } from "../edges/mcp/caller-context.ts";
import type { Progress } from "../edges/mcp/call-extras.ts";

type Members = Readonly<Record<string, unknown>>;

/** Rejects when there is no answer within the span, or within the SDK's 60 s. */
export type Ask = (method: string, params: Members, withinMs?: number) => Promise<Members>;

/** See the module. */
export interface AgentRequest {
  /** Of the protocol, between agent and gateway. */
  readonly era: "legacy" | "modern";
  readonly method: string;
  /** As sent, without what the protocol keeps for itself. */
  readonly params: Members;
  readonly facts: RequestFacts;
  readonly clientCapabilities: Members;
  /** What the client calls itself; a claim of its own. */
  readonly clientName: string;
  /** Aborts when the client cancels or goes away. Only forwarded for what has no effect. */
  readonly signal: AbortSignal;
  readonly onProgress: ((progress: Progress) => void) | undefined;
  readonly inputResponses: Members | undefined;
  readonly requestState: unknown;
  /** Asks the agent's client something, in the older era; undefined in the newer one. */
  readonly ask: Ask | undefined;
}
