import { isBoolean, isDuration, isName, oneOf } from "./checks.ts";

/**
 * What kind of provider this is. Every option may be left out; the defaults make an ideal
 * provider: atomic keys kept for ever, every answer saved, look-up at once, effects settled at once.
 */
export interface ProviderBehaviour {
  /**
   * `keyed` (default): the `Idempotency-Key` header is honoured. `unkeyed`: it is ignored.
   * `natural`: it is ignored too, but a second create of the same operation and account with the
   * same value of `naturalField` answers 409 `already_exists`.
   */
  readonly keys?: "keyed" | "unkeyed" | "natural";
  /** Body field that is unique under `natural`. Default `"reference"`. Absent field: no check. */
  readonly naturalField?: string;
  /** Whether `already_exists` names the first effect as `error.existingId`. Default false. */
  readonly naturalTellsId?: boolean;
  /** How long a key is known, from its first arrival. Default `null`: for ever. */
  readonly retentionMs?: number | null;
  /**
   * True (default): a key is taken in the same step as it is looked up, so a second request in
   * flight answers 409 `key_in_use`. False: it is looked up, the effect lands after `delayMs` (or
   * a gate), and only then is the key saved, so two requests in flight both run.
   */
  readonly atomicKeys?: boolean;
  /** How long every execution takes between key look-up and effect. Default 0. */
  readonly delayMs?: number;
  /**
   * Which answers a key keeps; a 2xx is always kept. `all` (default): declines and 5xx too, as
   * Stripe v1. `success-only`: anything else frees the key, which then runs again, as
   * Checkout.com. `no-declines`: all but 402. `burns`: after anything else the key answers 409
   * `key_burnt`, for ever, whatever `retentionMs` says.
   */
  readonly saves?: "all" | "success-only" | "no-declines" | "burns";
  /** How long a landed effect stays invisible to `GET /effects`. Not to `/effects/:id`. Default 0. */
  readonly lookUpLagMs?: number;
  /** Whether look-ups `answer` (default), `fail` with 503, or are cut off (`drop`). */
  readonly lookUps?: "answer" | "fail" | "drop";
  /** How long an effect has the status `pending` before it is `succeeded`. Default 0. */
  readonly pendingMs?: number;
}

/** A behaviour with every option filled in. */
export type ResolvedBehaviour = Required<ProviderBehaviour>;

/** The ideal provider. */
export const IDEAL_BEHAVIOUR: ResolvedBehaviour = {
  keys: "keyed",
  naturalField: "reference",
  naturalTellsId: false,
  retentionMs: null,
  atomicKeys: true,
  delayMs: 0,
  saves: "all",
  lookUpLagMs: 0,
  lookUps: "answer",
  pendingMs: 0,
};

const CHECKS: Record<keyof ProviderBehaviour, (value: unknown) => boolean> = {
  keys: oneOf("keyed", "unkeyed", "natural"),
  naturalField: isName,
  naturalTellsId: isBoolean,
  retentionMs: (value) => value === null || isDuration(value),
  atomicKeys: isBoolean,
  delayMs: isDuration,
  saves: oneOf("all", "success-only", "no-declines", "burns"),
  lookUpLagMs: isDuration,
  lookUps: oneOf("answer", "fail", "drop"),
  pendingMs: isDuration,
};

/**
 * Reads a change of behaviour that may have come over the wire. Throws a `TypeError` that names
 * the bad option: a misspelt option would otherwise make a test pass for the wrong reason.
 */
export function checkBehaviour(value: unknown): ProviderBehaviour {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new TypeError("a behaviour must be an object");
  }
  for (const [name, option] of Object.entries(value)) {
    if (!Object.hasOwn(CHECKS, name)) {
      throw new TypeError(`unknown behaviour option "${name}"`);
    }
    if (!CHECKS[name as keyof ProviderBehaviour](option)) {
      throw new TypeError(`behaviour option "${name}" can't be ${JSON.stringify(option)}`);
    }
  }
  return value;
}
