/** The article's own pseudo code, against one provider after another. */
import type { Configuration } from "./configurations.ts";
import type { Invariant } from "./invariants.ts";
import { type SettingParts, forEver } from "./setting.ts";

function article(
  name: string,
  rule: string,
  breaks: Invariant,
  about: string,
  setting: SettingParts,
): Configuration {
  const parts = { program: "article", ...setting } as const;
  return { name: `article-${name}`, group: "article", about, breaks, rule, setting: parts };
}

const flight = forEver;
const laggy = { lagMs: 1, authoritative: true } as const;
const unkeyed = { mode: "strict", key: null } as const;
const people = ["happened", "did-not-happen"] as const;

export const articleConfigurations: readonly Configuration[] = [
  article("keyed-noexpiry", "R14", "S6", "the key is never forgotten: a result gets lost", {
    provider: { retention: forEver, flight, declines: true },
  }),
  article("keyed-R3", "R19", "S1", "the key is forgotten after 3 ticks", {
    provider: { retention: 3, flight },
  }),
  article("keyed-R3-boundedFlight", "R10", "S1", "the same, requests arrive in time", {
    provider: { retention: 3 },
  }),
  article("keyed-R3-laggy", "R18", "S1", "the look-up lags", {
    lookUp: laggy,
    provider: { retention: 3, flight, lag: forEver },
  }),
  article("keyed-R3-nolookup", "R19", "S1", "no look-up", {
    lookUp: null,
    provider: { retention: 3, flight },
  }),
  article("keyed-tokenCAS", "R12", "S5", "the take-over compares the token alone", {
    provider: { retention: forEver, flight, declines: true },
    off: ["take-over-checks"],
  }),
  article("keyed-unsavedDecline", "R13", "S2", "declines are not saved", {
    provider: { retention: forEver, flight, declines: true, savesDeclines: false },
  }),
  article("keyed-500unsaved", "R20", "S1", "an error after the effect is not saved", {
    lookUp: laggy,
    provider: {
      retention: forEver,
      flight,
      lag: forEver,
      errors: "after",
      afterError: "not-saved",
    },
  }),
  article("keyed-500saved", "R19", "S1", "an error after the effect is replayed, no look-up", {
    lookUp: null,
    provider: { retention: 3, flight, errors: "after" },
  }),
  article("keyed-nonatomicKey", "R20", "S1", "two requests under one key may both run", {
    provider: { retention: forEver, flight, atomic: false, slow: true },
  }),
  article("keyed-skewBack", "R9", "S1", "a worker's clock is two ticks behind", {
    provider: { retention: 3 },
    faults: { skews: [0, -2] },
    off: ["database-clock"],
  }),
  article("keyed-dbClockBack", "R19", "S1", "the database's clock steps back", {
    provider: { retention: 3 },
    faults: { clockBack: 2 },
  }),
  article("keyed-rowLoss", "R27", "S1", "the row is lost", {
    provider: { retention: 3, flight },
    faults: { rowLoss: true },
  }),
  article("keyed-rowLoss-aba", "R9", "S5", "the row is lost, and its tokens start anew", {
    provider: { retention: forEver, flight, declines: true, savesDeclines: false },
    faults: { rowLoss: true },
    off: ["global-tokens"],
  }),
  article("unkeyed", "R14", "S6", "no key: a result gets lost", {
    ...unkeyed,
    provider: { flight, declines: true },
  }),
  article("unkeyed-human", "R30", "S2", "no key; a person says no too early", {
    ...unkeyed,
    provider: { flight },
    reviewers: 1,
    reviewDecisions: people,
    reviewersLookEarly: true,
    off: ["review-waits"],
  }),
  article("unkeyed-rowLoss", "R27", "S1", "no key, and the row is lost", {
    ...unkeyed,
    provider: { flight },
    faults: { rowLoss: true },
  }),
  article("unkeyed-resend", "R21", "S1", "no key, and it sends again", {
    mode: "window",
    key: null,
    provider: { flight },
  }),
  article("unkeyed-resend-laggy", "R18", "S1", "the same with a look-up that lags", {
    mode: "window",
    key: null,
    lookUp: laggy,
    provider: { flight, lag: forEver },
  }),
  article("natural-resend", "R13", "S2", "“already exists” is taken for a refusal", {
    lookUp: laggy,
    provider: { kind: "natural", flight, lag: forEver },
  }),
];
