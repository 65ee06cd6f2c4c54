/** Negative runs: one rule left out of the store's statements or the worker's program, or one assumption broken. */
import type { Terms } from "../../src/guard/contract.ts";
import { mayFail } from "../../src/ledger/decide.ts";
import type { Bounds } from "../../src/ledger/window.ts";
import type { Configuration } from "./configurations.ts";
import type { Invariant } from "./invariants.ts";
import { realRules } from "./rules.ts";
import { type SettingParts, forEver } from "./setting.ts";

function without(
  name: string,
  rule: string,
  breaks: Invariant,
  about: string,
  setting: SettingParts,
): Configuration {
  return { name: `neg-${name}`, group: "rule", about, breaks, rule, setting };
}

function untrue(
  name: string,
  rule: string,
  breaks: Invariant,
  about: string,
  setting: SettingParts,
): Configuration {
  return { name: `neg-${name}`, group: "assumption", about, breaks, rule, setting };
}

const laggy = { lagMs: 1, authoritative: true } as const;
const proved = { mode: "proved-absence", key: null } as const;
const strict = { mode: "strict", key: null } as const;
const anyDecline = { ...realRules, mayFail: (): ReturnType<typeof mayFail> => true };

/** The contract read with one bound for another. */
function bounded(change: Partial<Bounds>): (terms: Terms) => Terms {
  return (terms) => {
    const bounds = { ...terms.bounds, ...change };
    return { ...terms, bounds, policy: { ...terms.policy, bounds } };
  };
}

const acting: readonly Configuration[] = [
  without("claimNotAtomic", "R8", "S1", "a claim is a look and an insert", {
    ...strict,
    off: ["claim-atomic"],
  }),
  without("takeOverByTokenAlone", "R12", "S5", "a take-over doesn't check status and lease again", {
    off: ["take-over-checks"],
  }),
  without("armNotFenced", "R12", "S2", "arming looks at neither token nor attempts", {
    provider: { turnsAway: true, declines: true, savesDeclines: false },
    off: ["arm-fenced"],
  }),
  without("armUnchecked", "R12", "S1", "arming looks at nothing but the key", {
    ...strict,
    off: ["arm-fenced", "arm-checks-window"],
  }),
  without("armRefusalIgnored", "R10", "S7", "a refused arm is sent all the same", {
    ...strict,
    off: ["arm-obeyed"],
  }),
  without("armWithoutWindow", "R19", "S1", "the window is checked before the arm, not in it", {
    off: ["arm-checks-window"],
  }),
  without("windowReset", "R19", "S1", "the window starts anew with every arm", {
    workers: 3,
    lookUp: null,
    off: ["window-from-first-arm"],
  }),
  without("sendDeadline", "R10", "S1", "W is not enforced: the write may come at any time", {
    off: ["send-deadline"],
  }),
  without("sendDeadline-unkeyed", "R10", "S1", "W is not enforced, no key", {
    ...proved,
    off: ["send-deadline"],
  }),
  without("keyPerAttempt", "R2", "S1", "each attempt has a wire key of its own", {
    off: ["one-wire-key"],
  }),
  without("renewFailsSilently", "R11", "S7", "a refused renewal is not heeded", {
    ...proved,
    renewLease: true,
    off: ["renewal-obeyed"],
  }),
  without("workerClocks", "R9", "S1", "workers' clocks are compared with the database's times", {
    faults: { skews: [0, -3] },
    off: ["database-clock"],
  }),
  without("tokensPerRow", "R9", "S1", "tokens start anew with each row, and one row was lost", {
    ...strict,
    faults: { rowLoss: true },
    off: ["global-tokens"],
  }),
];

const settling: readonly Configuration[] = [
  without("failNotFenced", "R12", "S2", "FAILED is written whatever the token", {
    ...proved,
    provider: { declines: true },
    off: ["fail-fenced"],
  }),
  without("failedOnDoubt", "R13", "S2", "any error is definitive", {
    ...strict,
    provider: { errors: "after" },
    off: ["errors-are-doubt"],
  }),
  without("failedAfterResend", "R13", "S2", "a decline of any attempt is definitive", {
    lookUp: null,
    provider: { declines: true, savesDeclines: false },
    rules: anyDecline,
    off: ["fail-checks-attempts"],
  }),
  without("failedOnNoRow", "R16", "S2", "FAILED is told although no row was written", {
    lookUp: null,
    provider: { declines: true, savesDeclines: false },
    off: ["failed-from-the-row"],
  }),
  without("existsIsFailure", "R13", "S2", "“already exists” is taken for a refusal", {
    lookUp: laggy,
    key: { retentionMs: forEver },
    provider: { kind: "natural", retention: forEver },
    off: ["exists-is-doubt"],
  }),
  without("notSentByGuess", "R13", "S2", "a doubt is taken for “not sent”", {
    ...strict,
    off: ["not-sent-is-a-fact"],
  }),
  without("successFenced", "R14", "S6", "a success with a stale token is refused", {
    ...strict,
    off: ["success-merged"],
  }),
  without("purgeUnknown", "R23", "S1", "an UNKNOWN row is purged", {
    ...strict,
    purges: true,
    off: ["purge-settled-only", "tombstone"],
  }),
  without("noTombstone", "R23", "S1", "a purged row leaves nothing", {
    ...strict,
    purges: true,
    off: ["tombstone"],
  }),
  without("purgeUnknown-tombstone", "R23", "L1", "an UNKNOWN row becomes a tombstone", {
    ...strict,
    purges: true,
    off: ["purge-settled-only"],
    liveness: true,
  }),
];

const looking: readonly Configuration[] = [
  without("flightIgnored", "R18", "S1", "F is left out of the time that absence takes to prove", {
    ...proved,
    sendWithinMs: 1,
    flightMs: 2,
    misread: bounded({ flightMs: 0 }),
  }),
  without("lagIgnored", "R18", "S1", "L is left out of it", {
    ...proved,
    lookUp: laggy,
    misread: bounded({ lookUpLagMs: 0 }),
  }),
  without("windowWithoutFlight", "R19", "S1", "F is left out of the window", {
    lookUp: null,
    misread: bounded({ flightMs: 0, sendWithinMs: 0 }),
    off: ["send-deadline"],
  }),
  without("strictResends", "R21", "S1", "a tool without a key sends again", {
    ...strict,
    misread: (terms) => ({
      ...terms,
      bounds: { ...terms.bounds, retentionMs: 5 },
      policy: {
        ...terms.policy,
        mode: "window",
        resendable: true,
        bounds: { ...terms.bounds, retentionMs: 5 },
      },
    }),
  }),
  without("unsafeKeyResends", "R20", "S1", "a key that is not saved after errors is sent again", {
    lookUp: null,
    provider: { errors: "after", afterError: "not-saved" },
    key: { afterError: "replays" },
  }),
  without("nonAtomicKeyResends", "R20", "S1", "a key that isn't atomic is sent again", {
    provider: { atomic: false, slow: true },
    key: { atomic: true },
  }),
  without("unknownRetention", "R19", "S1", "a retention that isn't known is taken for for ever", {
    provider: { retention: 3 },
    key: { retentionMs: forEver },
  }),
  without("reviewTooEarly", "R30", "S2", "“it did not happen” is accepted at once", {
    ...strict,
    lookUp: null,
    reviewers: 1,
    reviewDecisions: ["did-not-happen"],
    reviewersLookEarly: true,
    off: ["review-waits"],
  }),
  without("reviewWithoutVersion", "R30", "S2", "a decision isn't bound to what was looked at", {
    ...strict,
    workers: 4,
    lookUp: null,
    reviewers: 2,
    reviewDecisions: ["did-not-happen", "run-again"],
    off: ["review-version"],
  }),
];

const assumptions: readonly Configuration[] = [
  untrue("pauseBeforeWrite", "W", "S1", "a pause between the deadline's check and the write", {
    faults: { pauseAtWrite: true },
  }),
  untrue("pauseBeforeWrite-unkeyed", "W", "S1", "the same without a key", {
    ...proved,
    faults: { pauseAtWrite: true },
  }),
  untrue("unboundedFlight", "F", "S1", "requests arrive later than F", {
    ...proved,
    provider: { flight: forEver },
  }),
  untrue("unboundedFlight-keyed", "F", "S1", "requests arrive later than F, in the window", {
    lookUp: null,
    provider: { flight: forEver },
  }),
  untrue("lagBoundWrong", "L", "S1", "the look-up lags longer than L", {
    ...proved,
    lookUp: laggy,
    provider: { lag: forEver },
  }),
  untrue("retentionWrong", "R", "S1", "the key is forgotten sooner than R", {
    provider: { retention: 3 },
    key: { retentionMs: 6 },
  }),
  untrue("dbClockBack", "margin", "S1", "the clock steps back by more than the margin", {
    lookUp: null,
    faults: { clockBack: 2 },
  }),
  untrue("rowLoss", "R27", "S1", "an acknowledged row is lost", {
    ...strict,
    faults: { rowLoss: true },
  }),
  untrue("humanLooksEarly", "R30", "S2", "a person looks before all is quiet, and decides after", {
    ...strict,
    lookUp: null,
    reviewers: 1,
    reviewDecisions: ["did-not-happen"],
    reviewersLookEarly: true,
  }),
  untrue("strict-human", "F", "S2", "a person says no, and a flight without bound lands", {
    ...strict,
    lookUp: null,
    provider: { flight: forEver },
    reviewers: 1,
    reviewDecisions: ["did-not-happen"],
  }),
];

export const ruleConfigurations: readonly Configuration[] = [
  ...acting,
  ...settling,
  ...looking,
  ...assumptions,
];
