/**
 * What is explored. Sound configurations keep every invariant; each negative one leaves out one rule or
 * breaks one assumption, and has to be caught.
 */
import { articleConfigurations } from "./article-configurations.ts";
import { decisionConfigurations } from "./decision-configurations.ts";
import type { Invariant } from "./invariants.ts";
import { ruleConfigurations } from "./rule-configurations.ts";
import { type SettingParts, forEver } from "./setting.ts";

/** `rule`, `decision`: a rule is off in the model's statements and program, or in a pure function. */
export type Group = "sound" | "rule" | "decision" | "assumption" | "article";

export interface Configuration {
  readonly name: string;
  readonly group: Group;
  /** What is special about it; for a negative one, what is left out. */
  readonly about: string;
  /** What has to be broken; null for a sound one. */
  readonly breaks: Invariant | null;
  /** The rule that is left out, or what the sound one is about. */
  readonly rule: string;
  readonly setting: SettingParts;
}

function sound(name: string, rule: string, about: string, setting: SettingParts): Configuration {
  return { name, group: "sound", about, breaks: null, rule, setting };
}

const laggy = { lagMs: 1, authoritative: true } as const;
const proved = { mode: "proved-absence", key: null } as const;
const people = ["happened", "did-not-happen", "run-again", "look-again"] as const;
const noBounds = { flight: forEver, lag: forEver, lookUp: "laggy" } as const;

const keyed: readonly Configuration[] = [
  sound("keyed-R5", "R19", "a key remembered for 5 ticks, declines", {
    provider: { declines: true },
    liveness: true,
  }),
  sound("keyed-R5-N3", "R19", "the same with three workers", {
    workers: 3,
    provider: { declines: true },
  }),
  sound("keyed-R5-laggy", "R18", "the look-up lags", { lookUp: laggy, liveness: true }),
  sound("keyed-R5-laggy-N3", "R18", "the look-up lags, three workers", {
    workers: 3,
    lookUp: laggy,
    provider: { declines: true },
  }),
  sound("keyed-R5-nolookup-N3", "R19", "no look-up, declines", {
    workers: 3,
    lookUp: null,
    provider: { declines: true },
  }),
  sound("keyed-noexpiry-N3", "R19", "a key remembered for ever", {
    workers: 3,
    provider: { retention: forEver, declines: true },
  }),
  sound("keyed-lease0-N3", "R11", "leases that are over at once: safety doesn't rest on them", {
    workers: 3,
    leaseMs: 0,
  }),
  sound("keyed-unsavedDecline-N3", "R13", "declines are not saved for the key", {
    workers: 3,
    provider: { declines: true, savesDeclines: false },
  }),
  sound("keyed-500unsaved", "R20", "an error after the effect is not saved: no resend", {
    lookUp: laggy,
    provider: { errors: "after", afterError: "not-saved" },
    liveness: true,
  }),
  sound("keyed-500saved-N3", "R20", "an error after the effect is replayed", {
    workers: 3,
    provider: { errors: "after" },
  }),
  sound("keyed-500reexecuted", "R20", "after an error the key goes on where it stopped", {
    provider: { errors: "after", afterError: "re-executes" },
    liveness: true,
  }),
  sound("keyed-500before", "R20", "errors before any effect burn the key", {
    provider: { errors: "before", afterError: "burnt" },
    liveness: true,
  }),
  sound("keyed-nonatomicKey", "R20", "two requests under one key may both run: no resend", {
    provider: { atomic: false, slow: true },
    liveness: true,
  }),
  sound("keyed-inUse", "R13", "running takes time: the key is in use meanwhile", {
    provider: { slow: true },
    liveness: true,
  }),
  sound("keyed-newGeneration", "R21", "after proved absence a new provider key", {
    mode: "proved-absence",
    lookUp: laggy,
    provider: { declines: true },
    liveness: true,
  }),
  sound("keyed-newGeneration-N3", "R21", "the same with three workers", {
    workers: 3,
    mode: "proved-absence",
  }),
  sound("keyed-dbClockBack", "R19", "the database's clock steps back by the margin", {
    marginMs: 1,
    provider: { retention: 5 },
    faults: { clockBack: 1 },
    liveness: true,
  }),
];

const unkeyed: readonly Configuration[] = [
  sound("unkeyed-N3", "R21", "no key, proved absence", {
    workers: 3,
    ...proved,
    provider: { declines: true },
    liveness: true,
  }),
  sound("unkeyed-lease0-N3", "R11", "no key, leases that are over at once", {
    workers: 3,
    ...proved,
    leaseMs: 0,
    provider: { declines: true },
  }),
  sound("unkeyed-laggy-N3", "R18", "no key, a look-up that lags", {
    workers: 3,
    ...proved,
    lookUp: laggy,
    provider: { declines: true },
    liveness: true,
  }),
  sound("unkeyed-strict-N3", "R21", "no key, strict: one armed send ever", {
    workers: 3,
    mode: "strict",
    key: null,
    provider: { declines: true },
    liveness: true,
  }),
  sound("unkeyed-strict-N4", "R21", "the same with four workers", {
    workers: 4,
    mode: "strict",
    key: null,
  }),
  sound("natural-laggy-N3", "R13", "the provider says “already exists”", {
    workers: 3,
    mode: "proved-absence",
    lookUp: laggy,
    provider: { kind: "natural", declines: true },
  }),
  sound("natural-asKey", "R13", "a unique reference taken for a key: a resend “already exists”", {
    lookUp: laggy,
    key: { retentionMs: forEver },
    provider: { kind: "natural", retention: forEver },
    liveness: true,
  }),
];

const strict: readonly Configuration[] = [
  sound("strict-unkeyed-N3", "R21", "no timing assumption: flight, lag and pauses without bound", {
    workers: 3,
    mode: "strict",
    key: null,
    lookUp: { lagMs: 1, authoritative: false },
    provider: { ...noBounds, declines: true },
    faults: { pauseAtWrite: true },
  }),
  sound("strict-natural-N3", "R21", "the same with “already exists”", {
    workers: 3,
    mode: "strict",
    lookUp: { lagMs: 1, authoritative: false },
    provider: { kind: "natural", ...noBounds, declines: true },
    faults: { pauseAtWrite: true },
  }),
  sound("strict-keyed-noexpiry", "R19", "resends under a key that is never forgotten, no bounds", {
    lookUp: { lagMs: 1, authoritative: false },
    provider: { retention: forEver, ...noBounds, declines: true },
    faults: { pauseAtWrite: true },
  }),
  sound("strict-keyed-R5-oneSend", "R21", "strict with a key; the clock steps back", {
    mode: "strict",
    lookUp: null,
    provider: { flight: forEver, declines: true },
    faults: { pauseAtWrite: true, clockBack: 2 },
  }),
];

const events: readonly Configuration[] = [
  sound("everything", "R1–R30", "declines, errors, lag, lost answers, withdrawals, a person", {
    mode: "proved-absence",
    lookUp: laggy,
    provider: { declines: true, errors: "after", turnsAway: true },
    faults: { lostAnswers: true, storeCuts: true },
    withdraws: true,
    reviewers: 1,
    reviewDecisions: people,
    liveness: true,
  }),
  sound("pending", "R18", "the provider accepts first and decides later", {
    ...proved,
    provider: { pends: true },
    liveness: true,
  }),
  sound("unsure", "R18", "the look-up may give no answer", {
    ...proved,
    lookUp: laggy,
    provider: { unsure: true },
    liveness: true,
  }),
  sound("foreign", "R18", "the look-up may find another's effect", {
    ...proved,
    provider: { foreign: true },
    liveness: true,
  }),
  sound("closes", "R18", "the provider can prove that nothing will come", {
    lookUp: laggy,
    provider: { closes: true },
    liveness: true,
  }),
  sound("turned-away", "R13", "a rate limiter in front turns requests away", {
    provider: { turnsAway: true, declines: true, savesDeclines: false },
    liveness: true,
  }),
  sound("withdraws", "R13", "callers withdraw before the write", { ...proved, withdraws: true }),
  sound("lost-answers", "R8", "the answer to a claim is lost, and the claim made again", {
    faults: { lostAnswers: true },
    liveness: true,
  }),
  sound("store-cuts", "R15", "the store can't be told of a success", {
    faults: { storeCuts: true },
    liveness: true,
  }),
  sound("purge", "R23", "settled rows are purged and leave a tombstone", {
    ...proved,
    purges: true,
    liveness: true,
  }),
  sound("mismatch", "R3", "one intent with two payloads", {
    cast: [{ payload: 1 }, { payload: 2 }],
    liveness: true,
  }),
  sound("sweeper", "R22", "a sweeper comes along", {
    cast: [{ kind: "caller" }, { kind: "sweeper" }, { kind: "sweeper" }],
    lookUp: laggy,
    liveness: true,
  }),
  sound("renewal", "R11", "long calls renew their lease", { ...proved, renewLease: true }),
];

const reviews: readonly Configuration[] = [
  sound("keyed-human", "R30", "no look-up; a person decides", {
    lookUp: null,
    provider: { retention: 3, declines: true },
    reviewers: 1,
    reviewDecisions: people,
    liveness: true,
  }),
  sound("unkeyed-nolookup-human-N3", "R30", "no key, no look-up; a person decides", {
    workers: 3,
    mode: "strict",
    key: null,
    lookUp: null,
    reviewers: 1,
    reviewDecisions: people,
  }),
  sound("unkeyed-laggy-human-N3", "R30", "a look-up that proves nothing; a person decides", {
    workers: 3,
    mode: "strict",
    key: null,
    lookUp: { lagMs: 1, authoritative: false },
    reviewers: 1,
    reviewDecisions: ["happened", "did-not-happen"],
  }),
  sound("two-reviewers", "R30", "two people decide the same operation", {
    mode: "strict",
    key: null,
    lookUp: null,
    reviewers: 2,
    reviewDecisions: people,
  }),
];

/** In the order in which they are explored and printed. */
export const configurations: readonly Configuration[] = [
  ...keyed,
  ...unkeyed,
  ...strict,
  ...events,
  ...reviews,
  ...ruleConfigurations,
  ...decisionConfigurations,
  ...articleConfigurations,
];
