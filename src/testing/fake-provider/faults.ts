import { errorAnswer, type Reply } from "./answer.ts";
import { isBoolean, isDuration, isName, oneOf } from "./checks.ts";

/**
 * One thing that goes wrong with one `POST /effects`. Steps are queued and each request takes one,
 * in order of arrival; with an empty queue the sticky default applies, and without one nothing is
 * wrong.
 *
 * A known key is answered from the key table, so the faults of execution (`decline`, `status`,
 * `delayMs`, a gate before the effect) don't touch a replay; the faults of the way back
 * (`dropReplyAfterCommit`, `truncateBody`, `replyDelayMs`, a gate before the reply) do.
 */
export type FaultStep =
  /** Nothing goes wrong: lets one request through. */
  | { readonly pass: true }
  /** The effect lands, then the connection is cut. */
  | { readonly dropReplyAfterCommit: true }
  /** The connection is cut before the provider looks at the request: no effect, no trace of a key. */
  | { readonly failBeforeCommit: true }
  /**
   * Answers `status` (code `provider_error`), with or without an effect. `saved` overrides what
   * the key keeps: `true` this answer, `false` nothing (a resend runs again), `"success"` the
   * effect's own 201, as when a gateway answers 504 in the provider's stead (needs `effect`).
   */
  | { readonly status: number; readonly effect: boolean; readonly saved?: boolean | "success" }
  /** 402 `card_declined`, no effect. */
  | { readonly decline: true }
  /**
   * The effect lands after `delayMs`; the client may have gone by then. `thenReply: false` (default
   * true) cuts the connection at once: the late effect of a request the client thinks is dead.
   */
  | { readonly delayMs: number; readonly thenReply?: boolean }
  /** The effect lands at once, the reply leaves after `replyDelayMs`. */
  | { readonly replyDelayMs: number }
  /** The effect lands; half the body is sent under the whole body's content-length, then a cut. */
  | { readonly truncateBody: true }
  /**
   * The request waits at a named gate until it is released. `before` says where: `key` is still on
   * its way, `effect` (default) has taken its key, `reply` has its effect. `thenReply` as above.
   */
  | {
      readonly gate: string;
      readonly before?: "key" | "effect" | "reply";
      readonly thenReply?: boolean;
    }
  /** 409 `key_in_use` before anything is executed or kept. */
  | { readonly keyInUse: true }
  /** 429 `rate_limited` before anything is executed or kept. */
  | { readonly rateLimited: true };

/** What the provider answers instead of executing well. */
export interface FaultOutcome {
  readonly status: number;
  readonly code: string;
  /** Whether the effect lands all the same. */
  readonly effect: boolean;
  /** Whether the key keeps this answer; `undefined` leaves it to the behaviour. */
  readonly saved: boolean | undefined;
}

/** A fault step, spelt out stage by stage in the order in which a request meets them. */
export interface FaultPlan {
  readonly hangUpAtOnce: boolean;
  readonly gateBeforeKey: string | null;
  /** Replied before the key is looked at, so that nothing is executed or kept. */
  readonly replyBeforeKey: Reply | null;
  readonly waitBeforeEffectMs: number;
  readonly gateBeforeEffect: string | null;
  readonly outcome: FaultOutcome | null;
  readonly waitBeforeReplyMs: number;
  readonly gateBeforeReply: string | null;
  /** A gateway's status, which hides whatever the provider answered. */
  readonly maskStatus: number | null;
  readonly delivery: Reply["kind"];
}

const NO_FAULT: FaultPlan = {
  hangUpAtOnce: false,
  gateBeforeKey: null,
  replyBeforeKey: null,
  waitBeforeEffectMs: 0,
  gateBeforeEffect: null,
  outcome: null,
  waitBeforeReplyMs: 0,
  gateBeforeReply: null,
  maskStatus: null,
  delivery: "answer",
};

/** Spells a step out; `null` is a request with which nothing goes wrong. */
export function planFault(step: FaultStep | null): FaultPlan {
  if (step === null || "pass" in step) return NO_FAULT;
  if ("dropReplyAfterCommit" in step) return { ...NO_FAULT, delivery: "cut" };
  if ("failBeforeCommit" in step) return { ...NO_FAULT, replyBeforeKey: { kind: "cut" } };
  if ("status" in step) return planStatus(step);
  if ("decline" in step) return { ...NO_FAULT, outcome: DECLINE };
  if ("delayMs" in step) {
    return {
      ...NO_FAULT,
      hangUpAtOnce: step.thenReply === false,
      waitBeforeEffectMs: step.delayMs,
    };
  }
  if ("replyDelayMs" in step) return { ...NO_FAULT, waitBeforeReplyMs: step.replyDelayMs };
  if ("truncateBody" in step) return { ...NO_FAULT, delivery: "truncated" };
  if ("gate" in step) return planGate(step);
  if ("keyInUse" in step) return { ...NO_FAULT, replyBeforeKey: KEY_IN_USE };
  return { ...NO_FAULT, replyBeforeKey: RATE_LIMITED };
}

/** Reads a step that may have come over the wire; throws a `TypeError` that says what is wrong. */
export function checkFaultStep(value: unknown): FaultStep {
  if (typeof value !== "object" || value === null) throw badStep(value);
  const fields = value as Record<string, unknown>;
  const shape = SHAPES.find((candidate) => Object.hasOwn(fields, candidate.name));
  if (shape === undefined) throw badStep(value);
  for (const [name, field] of Object.entries(fields)) {
    const check = name === shape.name ? shape.check : shape.more?.[name];
    if (check === undefined || !check(field)) throw badStep(value);
  }
  if (shape.name === "status" && typeof fields["effect"] !== "boolean") throw badStep(value);
  if (fields["saved"] === "success" && fields["effect"] !== true) throw badStep(value);
  return value as FaultStep;
}

const DECLINE: FaultOutcome = {
  status: 402,
  code: "card_declined",
  effect: false,
  saved: undefined,
};

const KEY_IN_USE: Reply = {
  kind: "answer",
  answer: errorAnswer(409, "key_in_use", "A request with this key is still being executed."),
};

const RATE_LIMITED: Reply = {
  kind: "answer",
  answer: {
    ...errorAnswer(429, "rate_limited", "Too many requests; nothing was executed."),
    headers: { "retry-after": "1" },
  },
};

function planStatus(step: Extract<FaultStep, { status: number }>): FaultPlan {
  if (step.saved === "success") return { ...NO_FAULT, maskStatus: step.status };
  const { status, effect, saved } = step;
  return { ...NO_FAULT, outcome: { status, code: "provider_error", effect, saved } };
}

function planGate(step: Extract<FaultStep, { gate: string }>): FaultPlan {
  const before = step.before ?? "effect";
  return {
    ...NO_FAULT,
    hangUpAtOnce: step.thenReply === false,
    gateBeforeKey: before === "key" ? step.gate : null,
    gateBeforeEffect: before === "effect" ? step.gate : null,
    gateBeforeReply: before === "reply" ? step.gate : null,
  };
}

interface StepShape {
  /** The member that tells this kind of step from all others. */
  readonly name: string;
  readonly check: (value: unknown) => boolean;
  readonly more?: Readonly<Record<string, (value: unknown) => boolean>>;
}

const SHAPES: readonly StepShape[] = [
  { name: "pass", check: oneOf(true) },
  { name: "dropReplyAfterCommit", check: oneOf(true) },
  { name: "failBeforeCommit", check: oneOf(true) },
  {
    name: "status",
    check: (value) => Number.isInteger(value) && Number(value) >= 200 && Number(value) <= 599,
    more: { effect: isBoolean, saved: oneOf(true, false, "success") },
  },
  { name: "decline", check: oneOf(true) },
  { name: "delayMs", check: isDuration, more: { thenReply: isBoolean } },
  { name: "replyDelayMs", check: isDuration },
  { name: "truncateBody", check: oneOf(true) },
  {
    name: "gate",
    check: isName,
    more: {
      before: oneOf("key", "effect", "reply"),
      thenReply: isBoolean,
    },
  },
  { name: "keyInUse", check: oneOf(true) },
  { name: "rateLimited", check: oneOf(true) },
];

function badStep(value: unknown): TypeError {
  return new TypeError(`not a fault step: ${JSON.stringify(value)}`);
}
