/**
 * One call of a guarded tool: who asks, what a person has answered, the guard, and its answer as a
 * result.
 *
 * @module
 */
import { type NeverTwiceError, isNeverTwiceError } from "../base/errors.ts";
import { errorResult, outcomeResult, withNote, withValues } from "../edges/mcp/answers.ts";
import { type CallExtras, withExtras } from "../edges/mcp/call-extras.ts";
import { readCaller } from "../edges/mcp/caller-context.ts";
import { intentsFact } from "../edges/mcp/brought-intent.ts";
import { InputRequired, UpstreamRefusal, missingCapability } from "../edges/mcp/upstream-errors.ts";
import type { CallIdentity, Guard } from "../guard/create-guard.ts";
import type { RunContext } from "../guard/prepare.ts";
import { restoreArguments } from "../intent/business-arguments.ts";
import type { Store } from "../ledger/store.ts";
import { AgentError } from "./agent-error.ts";
import type { AgentRequest } from "./agent-request.ts";
import type { CatalogueEntry } from "./catalogue.ts";
import type { GatewayConfig } from "./config/gateway-config.ts";
import type { Forwarder } from "./forwarder.ts";
import type { ReviewDialogue, ReviewRound } from "./review-dialogue.ts";

type Members = Readonly<Record<string, unknown>>;
type GuardedEntry = Extract<CatalogueEntry, { verdict: "guarded" }>;

/** What a call leans on. */
export interface GuardedCallParts {
  readonly config: GatewayConfig;
  readonly guard: Guard;
  readonly dialogue: ReviewDialogue;
  readonly store: Store;
  readonly forwarder: Forwarder;
  /** Aborts when the gateway can't wait any longer for its end. */
  readonly withdraw: AbortSignal;
}

/**
 * Calls the tool under the guard.
 *
 * @throws {NeverTwiceError} every answer but DONE, a question to the client, and a mismatch that is
 * told with its values.
 * @throws {AgentError} a round that the server refused.
 */
export async function callGuarded(
  parts: GuardedCallParts,
  entry: GuardedEntry,
  request: AgentRequest,
): Promise<Members> {
  const round = await parts.dialogue.read(request);
  const call: GuardedCall = {
    parts,
    entry,
    request: round?.request ?? request,
    args: request.params["arguments"] ?? {},
    context: contextOf(parts, request, entry.policy.waitMs),
  };
  const note = round === undefined ? undefined : await decideIn(call, round);
  try {
    return noted(await run(call), note);
  } catch (error) {
    return answerError(call, error, round !== undefined, note);
  }
}

interface GuardedCall {
  readonly parts: GuardedCallParts;
  readonly entry: GuardedEntry;
  readonly request: AgentRequest;
  readonly args: unknown;
  readonly context: RunContext;
}

/** Who asks, and for what. */
export function contextOf(
  { config, withdraw }: Pick<GuardedCallParts, "config" | "withdraw">,
  request: AgentRequest,
  waitMs: number,
): RunContext {
  const { intents, trusted, ...ids } = readCaller(request.facts, config.context);
  return {
    ...ids,
    trusted: { ...trusted, [intentsFact]: intents },
    onInProgress: { waitMs },
    signal: withdraw,
  };
}

async function run({ parts, entry, request, args, context }: GuardedCall): Promise<Members> {
  const outcome = await parts.forwarder.during(entry.upstream, request, () =>
    withExtras(extrasOf(request), () => parts.guard.run<Members>(entry.tool, args, context)),
  );
  return outcomeResult(outcome, entry.shown);
}

async function answerError(
  call: GuardedCall,
  error: unknown,
  wasAsked: boolean,
  note: string | undefined,
): Promise<Members> {
  const { policy } = call.entry;
  const askedBack = inputRequiredIn(error);
  if (askedBack !== undefined) return askedBack.result;
  const refusal = refusedRound(call, error);
  if (refusal !== undefined) throw new AgentError(refusal.code, refusal.message, refusal.data);
  if (isNeverTwiceError(error, "PAYLOAD_MISMATCH") && policy.mismatch === "values")
    return mismatchResult(call, error);
  // Once in a call: whoever does not decide now is not asked until the next one.
  if (isNeverTwiceError(error, "NEEDS_REVIEW") && policy.elicit && !wasAsked) {
    const identity = await identityOf(call);
    const question = identity && (await call.parts.dialogue.ask(identity, call.request));
    if (question !== undefined) return question;
  }
  if (note === undefined) throw error;
  return noted(errorResult(error), note);
}

/** The operation that this call is, by the same rules as when it runs. */
async function identityOf(call: GuardedCall): Promise<CallIdentity | undefined> {
  const { parts, entry, args, context } = call;
  return (await parts.guard.identify(entry.tool, args, context)) ?? undefined;
}

/** A policy that has been changed meanwhile to ask nobody takes no answers either. */
async function decideIn(call: GuardedCall, round: ReviewRound): Promise<string | undefined> {
  const identity = call.entry.policy.elicit ? await identityOf(call) : undefined;
  return identity && call.parts.dialogue.decide(call.parts.guard, identity, round);
}

function noted(result: Members, note: string | undefined): Members {
  return note === undefined ? result : withNote(result, note);
}

async function mismatchResult(call: GuardedCall, error: NeverTwiceError): Promise<Members> {
  const { parts, context, args } = call;
  const record = await parts.store.read({ tenant: context.tenant, key: error.key ?? "" });
  const recorded = record?.arguments ?? null;
  return recorded === null
    ? errorResult(error)
    : withValues(error, restoreArguments(recorded).value, args as Members);
}

function extrasOf(request: AgentRequest): CallExtras {
  return {
    meta: request.facts.meta,
    clientCapabilities: request.clientCapabilities,
    onProgress: request.onProgress,
    inputResponses: request.inputResponses,
    requestState: request.requestState,
  };
}

/** The server asked back: the attempt was released, so no effect exists, and the round goes to the agent. */
function inputRequiredIn(error: unknown): InputRequired | undefined {
  return causes(error).find((each) => each instanceof InputRequired);
}

/**
 * The server ran nothing, and it is the client that has to mend it, not the model: a capability that it
 * lacks, or the state of a round. The attempt was released.
 */
function refusedRound({ request }: GuardedCall, error: unknown): UpstreamRefusal | undefined {
  if (!isNeverTwiceError(error, "NOT_SENT")) return undefined;
  const refusal = causes(error).find((each) => each instanceof UpstreamRefusal);
  const goesOn = request.inputResponses !== undefined || request.requestState !== undefined;
  const ofRound = refusal?.code === missingCapability || (goesOn && refusal?.code === -32_602);
  return ofRound ? refusal : undefined;
}

function causes(error: unknown): readonly Error[] {
  const found: Error[] = [];
  for (let each = error; each instanceof Error; each = each.cause) found.push(each);
  return found;
}
