/**
 * What belongs to one call and not to its operation: progress, the client's capabilities, the answers
 * of a multi-round-trip request. They travel beside the guard, for a resend must not depend on them.
 *
 * @module
 */
import { AsyncLocalStorage } from "node:async_hooks";

/** A progress notification's parameters, without its token. */
export type Progress = Readonly<Record<string, unknown>>;

/** See the module. */
export interface CallExtras {
  /** `_meta` of the agent's request, without progress token and what the protocol keeps for itself. */
  readonly meta: Readonly<Record<string, unknown>>;
  /** What the agent's client can do, told to a server that asks per request. */
  readonly clientCapabilities: Readonly<Record<string, unknown>>;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  readonly inputResponses?: Readonly<Record<string, unknown>> | undefined;
  readonly requestState?: unknown;
}

const storage = new AsyncLocalStorage<CallExtras>();
const none: CallExtras = { meta: {}, clientCapabilities: {} };

/** Runs with extras. */
export function withExtras<T>(extras: CallExtras, work: () => Promise<T>): Promise<T> {
  return storage.run(extras, work);
}

/** The extras of the call under way; none in a sweep. */
export function currentExtras(): CallExtras {
  return storage.getStore() ?? none;
}
