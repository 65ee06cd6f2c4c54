/**
 * Review in a dialogue: the person in front of the agent's client is asked about the operation that
 * their call has met. It is one more channel to the review queue, which stays the record (R30): the
 * answer is bound to the version that was shown, so that of two channels one wins.
 *
 * The dialogue is a round of a multi-round-trip request (SEP-2322); what it is about is sealed into its
 * state, which travels through the client.
 *
 * @module
 */
import { createRequestStateCodec } from "@modelcontextprotocol/server";
import { isNeverTwiceError } from "../base/errors.ts";
import type { CallIdentity, Guard } from "../guard/create-guard.ts";
import type { Store } from "../ledger/store.ts";
import type { AgentRequest } from "./agent-request.ts";
import type { Logger } from "./log.ts";
import { type ReviewQuestion, questionAbout, readAnswer } from "./review-question.ts";

type Members = Readonly<Record<string, unknown>>;

/** What the round is called among a request's questions. */
export const reviewRound = "nevertwice-review";

/** Marks a state as ours; a server's own states pass through. */
const statePrefix = "nevertwice-review.";

/** Errors that say that a decision was not recorded. Whatever else goes wrong is the call's own error. */
const notRecorded: ReadonlySet<string> = new Set(["REVIEW_CONFLICT", "REVIEW_TOO_EARLY"]);

/** What a state holds: the operation as the person was shown it. */
interface Shown {
  readonly tenant: string;
  readonly key: string;
  readonly fingerprint: string;
  readonly version: number;
  readonly readAtMs: number;
  readonly question: ReviewQuestion;
}

/** A request that brings the answer of a dialogue. */
export interface ReviewRound {
  /** The request without it: nothing of a dialogue is sent on. */
  readonly request: AgentRequest;
  /** Undefined: the state is not ours, or too old. */
  readonly shown: Shown | undefined;
  readonly result: unknown;
}

/** Options of a {@link ReviewDialogue}. */
export interface ReviewDialogueOptions {
  readonly store: Store;
  readonly log: Logger;
  /** Seals states; 32 bytes or more. Gateways behind one address share it. */
  readonly secret: string | Uint8Array;
  /** How long an answer counts. */
  readonly withinMs: number;
}

/** See the module. */
export class ReviewDialogue {
  readonly #options: ReviewDialogueOptions;
  readonly #codec: ReturnType<typeof createRequestStateCodec<Shown>>;

  constructor(options: ReviewDialogueOptions) {
    this.#options = options;
    this.#codec = createRequestStateCodec<Shown>({
      key: options.secret,
      ttlSeconds: Math.max(1, Math.ceil(options.withinMs / 1000)),
    });
  }

  /** The round that asks the client's person, or undefined where it can't be asked. */
  async ask(identity: CallIdentity, request: AgentRequest): Promise<Members | undefined> {
    if (!takesForms(request.clientCapabilities)) return undefined;
    const { tenant, key, fingerprint } = identity;
    const record = await this.#options.store.read({ tenant, key });
    const question = record === undefined ? undefined : questionAbout(record);
    if (record === undefined || question === undefined) return undefined;
    if (record.fingerprint !== fingerprint) return undefined;
    const { version, readAtMs } = record;
    const state = await this.#codec.mint({
      tenant,
      key,
      fingerprint,
      version,
      readAtMs,
      question,
    });
    this.#options.log.info({ key, version }, "a person is asked in the agent's client");
    return {
      resultType: "input_required",
      inputRequests: {
        [reviewRound]: { method: "elicitation/create", params: { mode: "form", ...question } },
      },
      requestState: `${statePrefix}${state}`,
    };
  }

  /** Reads a request that comes back from a dialogue; undefined for every other one. */
  async read(request: AgentRequest): Promise<ReviewRound | undefined> {
    const { requestState: state, inputResponses } = request;
    if (typeof state !== "string" || !state.startsWith(statePrefix)) return undefined;
    return {
      request: { ...request, requestState: undefined, inputResponses: undefined },
      shown: await this.#open(state.slice(statePrefix.length)),
      result: inputResponses?.[reviewRound],
    };
  }

  async #open(state: string): Promise<Shown | undefined> {
    try {
      // Without a binding the codec reads no context; tenant and key are compared by us.
      return await this.#codec.verify(state, undefined as never);
    } catch (error) {
      this.#options.log.warn(
        { reason: String(error) },
        "the state of a review dialogue was refused",
      );
      return undefined;
    }
  }

  /**
   * Records what a person decided about this very call. Returns why it was not recorded, for the
   * caller; undefined when it was, or when nobody decided anything.
   */
  async decide(
    guard: Pick<Guard, "resolve">,
    identity: CallIdentity,
    { request, shown, result }: ReviewRound,
  ): Promise<string | undefined> {
    if (shown === undefined || !isSame(shown, identity)) return undefined;
    const answer = readAnswer(result, shown.question);
    if (answer?.decision === undefined) return undefined;
    const { tenant, key, version, readAtMs } = shown;
    const by = `elicitation by ${request.clientName}`;
    const { decision, why } = answer;
    try {
      await guard.resolve({ tenant, key, version, decision, by, why, lookedAtMs: readAtMs });
    } catch (error) {
      if (!isNeverTwiceError(error) || !notRecorded.has(error.code)) throw error;
      this.#options.log.warn({ key, version, code: error.code }, "a decision was not recorded");
      return `A person answered here. ${error.message}`;
    }
    this.#options.log.info({ key, version, decision }, "a person decided in the agent's client");
    return undefined;
  }
}

/** The state of one operation doesn't speak for another one. */
function isSame(shown: Shown, identity: CallIdentity): boolean {
  return (
    shown.tenant === identity.tenant &&
    shown.key === identity.key &&
    shown.fingerprint === identity.fingerprint
  );
}

/** An empty capability means forms, as in the revisions that knew nothing else. */
function takesForms({ elicitation }: Members): boolean {
  if (typeof elicitation !== "object" || elicitation === null) return false;
  return Object.keys(elicitation).length === 0 || "form" in elicitation;
}
