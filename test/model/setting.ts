/**
 * What one exploration assumes: the tool's contract as declared, the provider as it really is, who takes
 * part, what may go wrong, and which rule is switched off. The policy is made by `termsOf`, as the guard
 * makes it.
 */
import { type Contract, type KeyContract, type Terms, termsOf } from "../../src/guard/contract.ts";
import type { Mode } from "../../src/ledger/decide.ts";
import { type Rules, realRules } from "./rules.ts";
import type { Cast } from "./state.ts";

/** A retention that nothing outlives. */
export const forEver = 1_000_000;

/** A rule left out, in the store's statements or in the worker's program. */
export type Switch =
  | "claim-atomic"
  | "take-over-checks"
  | "arm-fenced"
  | "arm-checks-window"
  | "arm-checks-absence"
  | "fail-fenced"
  | "fail-checks-attempts"
  | "failed-from-the-row"
  | "success-merged"
  | "send-deadline"
  | "arm-obeyed"
  | "renewal-obeyed"
  | "one-wire-key"
  | "stored-arguments"
  | "exists-is-doubt"
  | "errors-are-doubt"
  | "not-sent-is-a-fact"
  | "purge-settled-only"
  | "tombstone"
  | "review-version"
  | "review-waits"
  | "window-from-first-arm"
  | "global-tokens"
  | "database-clock";

/** The provider as it really is. */
export interface ProviderFacts {
  readonly kind: "keyed" | "unkeyed" | "natural";
  readonly retention: number;
  readonly atomic: boolean;
  readonly afterError: "replays" | "re-executes" | "burnt" | "not-saved";
  readonly savesDeclines: boolean;
  readonly declines: boolean;
  /** An error of the provider's own, before or after the effect. */
  readonly errors: "none" | "before" | "after";
  readonly turnsAway: boolean;
  /** Running takes time: others may arrive meanwhile. */
  readonly slow: boolean;
  /** Accepts at first; whether it comes to be is decided later. */
  readonly pends: boolean;
  /** May stop to take requests for the intent, and can prove it. */
  readonly closes: boolean;
  readonly lookUp: "none" | "sync" | "laggy";
  /** The look-up may give no answer. */
  readonly unsure: boolean;
  /** The look-up may show another's effect in place of none. */
  readonly foreign: boolean;
  readonly lag: number;
  readonly flight: number;
}

/** What may go wrong beside crashes, pauses and lost messages, which may go wrong always. */
export interface Faults {
  /** The database's clock steps back once, by so much. */
  readonly clockBack: number;
  readonly lostAnswers: boolean;
  readonly storeCuts: boolean;
  readonly rowLoss: boolean;
  /** The process may pause between the check of the deadline and the write. */
  readonly pauseAtWrite: boolean;
  /** Added to the database's clock by each worker, where workers' clocks count. */
  readonly skews: readonly number[];
}

export interface Setting {
  readonly cast: Cast;
  readonly program: "guard" | "article";
  readonly mode: Mode;
  readonly key: Omit<KeyContract, "shape"> | null;
  readonly lookUp: { readonly lagMs?: number; readonly authoritative: boolean } | null;
  readonly flightMs: number;
  readonly sendWithinMs: number;
  readonly marginMs: number;
  readonly leaseMs: number;
  readonly renewLease: boolean;
  readonly maxAttempts: number;
  readonly giveUpAfterMs: number;
  readonly provider: ProviderFacts;
  readonly faults: Faults;
  /** Settled rows may be purged. */
  readonly purges: boolean;
  /** The caller may withdraw before the write. */
  readonly withdraws: boolean;
  readonly reviewDecisions: readonly ("happened" | "did-not-happen" | "run-again" | "look-again")[];
  /** A reviewer who looks before everything has settled takes the look for an answer. */
  readonly reviewersLookEarly: boolean;
  readonly off: readonly Switch[];
  readonly rules: Rules;
  /** Changes what the contract says, where it is the contract's reading that is at fault. */
  readonly misread: (terms: Terms) => Terms;
  /** Follow every world to a fault-free end (L1–L4). */
  readonly liveness: boolean;
}

/** A setting made ready: what every step needs. */
export interface Lab {
  readonly setting: Setting;
  readonly terms: Terms;
  readonly rules: Rules;
  readonly off: ReadonlySet<Switch>;
  /** As a claim and an arm carry them. */
  readonly quietMs: number;
  readonly resendSpan: number;
}

export function labOf(setting: Setting): Lab {
  const { rules } = setting;
  const terms = setting.misread(termsOf(contractOf(setting)));
  const { policy, bounds } = terms;
  return {
    setting,
    terms,
    rules,
    off: new Set(setting.off),
    quietMs: rules.quietSpanMs(bounds),
    // As in guard/arm.ts.
    resendSpan: policy.mode === "strict" || !policy.resendable ? 0 : rules.resendSpanMs(bounds),
  };
}

function contractOf(setting: Setting): Contract<never, never> {
  const { mode, key, lookUp, flightMs, sendWithinMs, marginMs, leaseMs, renewLease } = setting;
  const { maxAttempts, giveUpAfterMs } = setting;
  return {
    mode,
    ...(key === null ? {} : { key: { shape: "hex", ...key } }),
    ...(lookUp === null
      ? {}
      : { lookUp: { find: () => ({ answer: "unsure" as const }), ...lookUp } }),
    timeoutMs: 1,
    flightMs,
    sendWithinMs,
    marginMs,
    leaseMs,
    renewLease,
    maxAttempts,
    giveUpAfterMs,
  };
}

const plainProvider: ProviderFacts = {
  kind: "keyed",
  retention: 5,
  atomic: true,
  afterError: "replays",
  savesDeclines: true,
  declines: false,
  errors: "none",
  turnsAway: false,
  slow: false,
  pends: false,
  closes: false,
  lookUp: "sync",
  unsure: false,
  foreign: false,
  lag: 0,
  flight: 1,
};

const noFaults: Faults = {
  clockBack: 0,
  lostAnswers: false,
  storeCuts: false,
  rowLoss: false,
  pauseAtWrite: false,
  skews: [],
};

/** What a configuration says; the rest is as below. */
export interface SettingParts extends Partial<
  Omit<Setting, "provider" | "faults" | "cast" | "key">
> {
  readonly workers?: number;
  readonly cast?: Cast["workers"];
  readonly reviewers?: number;
  readonly key?: Partial<Omit<KeyContract, "shape">> | null;
  readonly provider?: Partial<ProviderFacts>;
  readonly faults?: Partial<Faults>;
}

/** What the contract declares of the provider is true unless `provider` says otherwise. */
export function settingOf(parts: SettingParts): Setting {
  const { workers = 2, cast, reviewers = 0, key, provider, faults, ...rest } = parts;
  const truth: ProviderFacts = {
    ...plainProvider,
    ...(key === null ? { kind: "unkeyed" as const } : {}),
    flight: rest.flightMs ?? 1,
    ...(rest.lookUp === null ? { lookUp: "none" as const } : {}),
    lag: rest.lookUp?.lagMs ?? 0,
    ...((rest.lookUp?.lagMs ?? 0) > 0 ? { lookUp: "laggy" as const } : {}),
    ...provider,
  };
  const declared = {
    retentionMs: truth.retention,
    atomic: truth.atomic,
    afterError: truth.afterError,
    replaysDeclines: truth.savesDeclines,
  };
  return {
    program: "guard",
    mode: "window",
    lookUp: { lagMs: 0, authoritative: true },
    flightMs: 1,
    sendWithinMs: 1,
    marginMs: 0,
    leaseMs: 1,
    renewLease: false,
    maxAttempts: 3,
    giveUpAfterMs: 1,
    purges: false,
    withdraws: false,
    reviewDecisions: [],
    reviewersLookEarly: false,
    off: [],
    rules: realRules,
    misread: (terms) => terms,
    liveness: false,
    ...rest,
    key:
      key === null || (key === undefined && truth.kind !== "keyed")
        ? null
        : { ...declared, ...key },
    cast: { workers: cast ?? Array.from({ length: workers }, () => ({})), reviewers },
    provider: truth,
    faults: { ...noFaults, ...faults },
  };
}
