import { answerOf, errorAnswer, REPLAYED_HEADER, type Answer, type Reply } from "./answer.ts";
import {
  checkBehaviour,
  IDEAL_BEHAVIOUR,
  type ProviderBehaviour,
  type ResolvedBehaviour,
} from "./behaviour.ts";
import { checkFaultStep, planFault, type FaultPlan, type FaultStep } from "./faults.ts";
import { parseJsonObject, type JsonObject } from "./json.ts";
import { KeyTable, type KeyRecord, type SavedKey } from "./key-table.ts";
import type {
  Arrival,
  CreateRequest,
  LedgerRow,
  LookUpArrival,
  LookUpQuery,
  ProviderCounters,
} from "./records.ts";

/** A point at which a request can't go on by itself; whoever drives the rules lets time pass. */
export type Pause =
  | { readonly kind: "wait"; readonly ms: number }
  | { readonly kind: "park"; readonly gate: string }
  /** Cut the connection, then go on at once: the work continues without a listener. */
  | { readonly kind: "hang-up" };

/** The life of one create request: pauses, then a reply. Resume it with the time in milliseconds. */
export type RequestStory = Generator<Pause, Reply, number>;

/** Where effects and key verdicts are written before anybody hears of them. */
export interface ProviderJournal {
  /** Called with each effect just before it enters the ledger. */
  effect(row: LedgerRow): void;
  /** Called with each verdict on a key just after its effect, before the answer. */
  key(saved: SavedKey): void;
}

/** What a provider starts with. */
export interface ProviderRulesOptions {
  readonly behaviour?: ProviderBehaviour;
  readonly journal?: ProviderJournal;
  /** Rows and verdicts of an earlier life. */
  readonly ledger?: readonly LedgerRow[];
  readonly savedKeys?: readonly SavedKey[];
}

/**
 * The provider as a pure state machine: no HTTP, no timer, no clock, nothing random. `server.ts`
 * drives it with sockets and timers; a simulation may drive it with a scheduler of its own.
 */
export class ProviderRules {
  readonly #startBehaviour: ResolvedBehaviour;
  readonly #journal: ProviderJournal | undefined;
  #behaviour: ResolvedBehaviour;
  #ledger: LedgerRow[];
  #keys = new KeyTable();
  #arrivals: Arrival[] = [];
  #lookUps: LookUpArrival[] = [];
  #faults: FaultStep[] = [];
  #stickyFault: FaultStep | null = null;
  #replays = 0;
  #errors = 0;
  #sequence = 0;
  /** Never restarts, so that an id is never used twice, not even across a reset. */
  #lastEffect: number;

  constructor(options: ProviderRulesOptions = {}) {
    this.#startBehaviour = { ...IDEAL_BEHAVIOUR, ...checkBehaviour(options.behaviour ?? {}) };
    this.#behaviour = this.#startBehaviour;
    this.#journal = options.journal;
    this.#ledger = [...(options.ledger ?? [])];
    this.#lastEffect = this.#ledger.length;
    this.#restoreKeys(options.savedKeys ?? []);
  }

  /** Tells the story of one create request; nothing happens before its first `next()`. */
  *create(request: CreateRequest, arrivedAtMs: number): RequestStory {
    this.#recordArrival(request, arrivedAtMs, true);
    const plan = planFault(this.#faults.shift() ?? this.#stickyFault);
    let nowMs = arrivedAtMs;
    if (plan.hangUpAtOnce) nowMs = yield { kind: "hang-up" };
    if (plan.gateBeforeKey !== null) nowMs = yield { kind: "park", gate: plan.gateBeforeKey };
    if (plan.replyBeforeKey !== null) {
      return this.#counted(plan.replyBeforeKey);
    }
    let answer = yield* this.#answer(request, plan, nowMs);
    if (plan.waitBeforeReplyMs > 0) yield { kind: "wait", ms: plan.waitBeforeReplyMs };
    if (plan.gateBeforeReply !== null) yield { kind: "park", gate: plan.gateBeforeReply };
    if (plan.maskStatus !== null) {
      answer = errorAnswer(
        plan.maskStatus,
        "gateway_error",
        "The upstream did not answer in time.",
      );
    }
    if (plan.delivery === "cut" || plan.hangUpAtOnce) return { kind: "cut" };
    return this.#counted({ kind: plan.delivery, answer });
  }

  /** Records a create request whose client left in the middle of the body: never executed. */
  arriveCutShort(request: CreateRequest, nowMs: number): void {
    this.#recordArrival(request, nowMs, false);
  }

  /** Answers `GET /effects`: the effects that match and are visible, oldest first. */
  find(query: LookUpQuery, nowMs: number): Reply {
    this.#recordLookUp(query, null, nowMs);
    const behaviour = this.#behaviour;
    if (behaviour.lookUps !== "answer") return this.#brokenLookUp();
    if (query.key !== undefined && behaviour.keys !== "keyed") {
      // An empty list would look like a proof of absence; this provider never stored the key.
      return this.#counted({ kind: "answer", answer: SEARCH_UNSUPPORTED });
    }
    const rows = this.#ledger.filter(
      (row) => row.atMs + behaviour.lookUpLagMs <= nowMs && matches(row, query),
    );
    return {
      kind: "answer",
      answer: answerOf(
        200,
        rows.map((row) => this.#view(row, nowMs)),
      ),
    };
  }

  /** Answers `GET /effects/:id`, without look-up lag: who has the id knows of the effect. */
  get(effectId: string, account: string | null, nowMs: number): Reply {
    const query = account === null ? {} : { account };
    this.#recordLookUp(query, effectId, nowMs);
    if (this.#behaviour.lookUps !== "answer") return this.#brokenLookUp();
    const row = this.#ledger.find((candidate) => candidate.effectId === effectId);
    if (row === undefined || !matches(row, query)) {
      return this.#counted({ kind: "answer", answer: NOT_FOUND });
    }
    return { kind: "answer", answer: answerOf(200, this.#view(row, nowMs)) };
  }

  /** Changes some options and leaves the others; holds for requests already under way, too. */
  behave(change: ProviderBehaviour): void {
    this.#behaviour = { ...this.#behaviour, ...checkBehaviour(change) };
  }

  /** Appends fault steps to the queue; each create request takes one. */
  fault(...steps: FaultStep[]): void {
    this.#faults.push(...steps.map(checkFaultStep));
  }

  /** Sets what happens to a request when the queue is empty; `null` for nothing. */
  faultAlways(step: FaultStep | null): void {
    this.#stickyFault = step === null ? null : checkFaultStep(step);
  }

  /** Every effect so far, oldest first, without any lag. */
  ledger(): readonly LedgerRow[] {
    return [...this.#ledger];
  }

  /** Every create request that arrived, in order. */
  arrivals(): readonly Arrival[] {
    return [...this.#arrivals];
  }

  /** Every look-up that arrived, in order. */
  lookUps(): readonly LookUpArrival[] {
    return [...this.#lookUps];
  }

  /** How often things happened since the start or the last reset. */
  counters(): ProviderCounters {
    return {
      arrivals: this.#arrivals.length,
      lookUps: this.#lookUps.length,
      effects: this.#ledger.length,
      replays: this.#replays,
      errors: this.#errors,
    };
  }

  /** Forgets everything, faults and changed behaviour included. The driver drops open stories. */
  reset(): void {
    this.#behaviour = this.#startBehaviour;
    this.#ledger = [];
    this.#keys = new KeyTable();
    this.#arrivals = [];
    this.#lookUps = [];
    this.#faults = [];
    this.#stickyFault = null;
    this.#replays = 0;
    this.#errors = 0;
    this.#sequence = 0;
  }

  *#answer(
    request: CreateRequest,
    plan: FaultPlan,
    nowMs: number,
  ): Generator<Pause, Answer, number> {
    const body = parseJsonObject(request.bodyText);
    if (body === undefined) return INVALID_BODY;
    if (this.#behaviour.keys !== "keyed" || request.key === null) {
      return yield* this.#execute(request, body, plan, nowMs);
    }
    const use = {
      account: request.account,
      key: request.key,
      fingerprint: fingerprintOf(request.operation, body),
    };
    const admission = this.#keys.admit(use, this.#behaviour, nowMs);
    if (admission.kind === "answer") {
      if (REPLAYED_HEADER in admission.answer.headers) this.#replays += 1;
      return admission.answer;
    }
    const answer = yield* this.#execute(request, body, plan, nowMs);
    this.#finishKey(admission.record, answer, plan);
    return answer;
  }

  *#execute(
    request: CreateRequest,
    body: JsonObject,
    plan: FaultPlan,
    startedAtMs: number,
  ): Generator<Pause, Answer, number> {
    let nowMs = startedAtMs;
    const waitMs = this.#behaviour.delayMs + plan.waitBeforeEffectMs;
    if (waitMs > 0) nowMs = yield { kind: "wait", ms: waitMs };
    if (plan.gateBeforeEffect !== null) nowMs = yield { kind: "park", gate: plan.gateBeforeEffect };

    const twin = this.#naturalTwin(request, body);
    if (twin !== undefined) return this.#alreadyExists(twin);
    const outcome = plan.outcome;
    const row = outcome === null || outcome.effect ? this.#land(request, body, nowMs) : null;
    if (outcome === null) return answerOf(201, row === null ? null : this.#view(row, nowMs));
    if (outcome.status >= 300) {
      return errorAnswer(outcome.status, outcome.code, `The provider answered ${outcome.status}.`);
    }
    const { operation } = request;
    const accepted = { operation, status: "accepted" };
    return answerOf(outcome.status, row === null ? accepted : this.#view(row, nowMs));
  }

  #land(request: CreateRequest, body: JsonObject, atMs: number): LedgerRow {
    this.#lastEffect += 1;
    const { operation, key, tag, account } = request;
    const effectId = `eff_${this.#lastEffect}`;
    const row: LedgerRow = Object.freeze({ effectId, atMs, operation, key, tag, body, account });
    this.#journal?.effect(row);
    this.#ledger.push(row);
    return row;
  }

  #finishKey(record: KeyRecord, answer: Answer, plan: FaultPlan): void {
    const saved = this.#keys.finish(record, answer, this.#behaviour, plan.outcome?.saved);
    if (saved !== null) this.#journal?.key(saved);
  }

  #naturalTwin(request: CreateRequest, body: JsonObject): LedgerRow | undefined {
    const { keys, naturalField } = this.#behaviour;
    const value = body[naturalField];
    if (keys !== "natural" || value === undefined) return undefined;
    return this.#ledger.find(
      (row) =>
        row.operation === request.operation &&
        row.account === request.account &&
        JSON.stringify(row.body[naturalField]) === JSON.stringify(value),
    );
  }

  #alreadyExists(twin: LedgerRow): Answer {
    const details = this.#behaviour.naturalTellsId ? { existingId: twin.effectId } : {};
    const message = `An effect with this ${this.#behaviour.naturalField} already exists.`;
    return errorAnswer(409, "already_exists", message, details);
  }

  /** What the outside sees of an effect; the provider's own members win over the body's. */
  #view(row: LedgerRow, nowMs: number): JsonObject {
    return {
      ...row.body,
      id: row.effectId,
      operation: row.operation,
      status: nowMs >= row.atMs + this.#behaviour.pendingMs ? "succeeded" : "pending",
      ...(row.tag === null ? {} : { tag: row.tag }),
      ...(row.account === null ? {} : { account: row.account }),
    };
  }

  #recordArrival(request: CreateRequest, atMs: number, complete: boolean): void {
    this.#sequence += 1;
    this.#arrivals.push({ ...request, sequence: this.#sequence, atMs, complete });
  }

  #recordLookUp(query: LookUpQuery, effectId: string | null, atMs: number): void {
    this.#sequence += 1;
    this.#lookUps.push({ sequence: this.#sequence, atMs, query, effectId });
  }

  #brokenLookUp(): Reply {
    if (this.#behaviour.lookUps === "drop") return { kind: "cut" };
    return this.#counted({ kind: "answer", answer: LOOK_UP_FAILED });
  }

  #counted(reply: Reply): Reply {
    if (reply.kind === "cut" || REPLAYED_HEADER in reply.answer.headers) return reply;
    if (reply.answer.status >= 400) this.#errors += 1;
    return reply;
  }

  #restoreKeys(savedKeys: readonly SavedKey[]): void {
    // An effect without a verdict: the process was killed between the two lines of the journal.
    const decided = new Set(savedKeys.map(({ account, key }) => JSON.stringify([account, key])));
    for (const row of this.#ledger) {
      const { account, key } = row;
      if (key === null || decided.has(JSON.stringify([account, key]))) continue;
      this.#keys.restore({
        account,
        key,
        fingerprint: fingerprintOf(row.operation, row.body),
        firstArrivedAtMs: row.atMs,
        verdict: "kept",
        answer: answerOf(201, this.#view(row, row.atMs)),
      });
    }
    for (const saved of savedKeys) this.#keys.restore(saved);
  }
}

const INVALID_BODY = errorAnswer(400, "invalid_body", "The body must be a JSON object.");
const NOT_FOUND = errorAnswer(404, "not_found", "There is no such effect.");
const LOOK_UP_FAILED = errorAnswer(503, "look_up_failed", "Look-ups are out of order.");
const SEARCH_UNSUPPORTED = errorAnswer(
  400,
  "search_unsupported",
  "This provider does not know idempotency keys; search by tag.",
);

function matches(row: LedgerRow, query: LookUpQuery): boolean {
  return (
    (query.tag === undefined || row.tag === query.tag) &&
    (query.key === undefined || row.key === query.key) &&
    (query.account === undefined || row.account === query.account)
  );
}

/**
 * White space in the body doesn't count, the order of its members does: a resend is meant to be
 * the same bytes, and this is as strict as it can be while a ledger file can rebuild it.
 */
function fingerprintOf(operation: string, body: JsonObject): string {
  return JSON.stringify([operation, body]);
}
