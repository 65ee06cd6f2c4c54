/**
 * Negative runs: the product's pure functions replaced by wrong ones, to show that the model would notice
 * such a fault in `src/ledger`. Where a statement of the store holds the same condition once more, that
 * one is off too; alone it would have caught the fault.
 */
import { decide, decideNext } from "../../src/ledger/decide.ts";
import { resendSpanMs } from "../../src/ledger/window.ts";
import type { Configuration } from "./configurations.ts";
import type { Invariant } from "./invariants.ts";
import { type Rules, realRules } from "./rules.ts";
import type { SettingParts } from "./setting.ts";

function mutant(
  name: string,
  rule: string,
  breaks: Invariant,
  about: string,
  rules: Partial<Rules>,
  setting: SettingParts,
): Configuration {
  const parts = { ...setting, rules: { ...realRules, ...rules } };
  return { name: `mutant-${name}`, group: "decision", about, breaks, rule, setting: parts };
}

const laggy = { lagMs: 1, authoritative: true } as const;
const proved = { mode: "proved-absence", key: null } as const;
const strict = { mode: "strict", key: null } as const;

const deciding: readonly Configuration[] = [
  mutant(
    "payloadNotCompared",
    "R3",
    "S3",
    "`decide` doesn't compare the payload",
    {
      decide: (record, call) => decide(record, { ...call, fingerprint: record.fingerprint }),
    },
    { cast: [{ payload: 1 }, { payload: 2 }] },
  ),
  mutant(
    "ownPayloadSent",
    "R17",
    "S8",
    "neither `decide` nor the send minds the stored payload",
    {
      decide: (record, call) => decide(record, { ...call, fingerprint: record.fingerprint }),
    },
    { cast: [{ payload: 1 }, { payload: 2 }], off: ["stored-arguments"] },
  ),
  mutant(
    "anyClaimIsOurs",
    "R8",
    "S1",
    "`decide` doesn't compare the acquisition",
    {
      decide: (record, call) => decide(record, { ...call, acquisitionId: record.acquisitionId }),
    },
    { ...strict },
  ),
  mutant(
    "unknownWaits",
    "L3",
    "L1",
    "`decide` takes UNKNOWN for somebody's work",
    {
      decide: (record, call) =>
        record.status === "UNKNOWN"
          ? { kind: "in-progress", leaseLeftMs: 1 }
          : decide(record, call),
    },
    { liveness: true },
  ),
  mutant(
    "purgedRunsAgain",
    "R23",
    "L1",
    "`decide` takes a tombstone for an open row",
    {
      decide: (record, call) =>
        record.purgedAtMs === null ? decide(record, call) : { kind: "take-over" },
    },
    { ...strict, purges: true, liveness: true },
  ),
];

const decidingNext: readonly Configuration[] = [
  mutant(
    "absentAtOnce",
    "R18",
    "S1",
    "`decideNext` trusts “absent” before all is quiet",
    {
      decideNext: (record, finding, policy, times) =>
        decideNext(record, finding, policy, { ...times, startedAtMs: 1e6 }),
    },
    { ...proved, off: ["arm-checks-absence"] },
  ),
  mutant(
    "absentWithoutProof",
    "R21",
    "S1",
    "`decideNext` takes any “absent” for proof",
    {
      decideNext: (record, finding, policy, times) =>
        decideNext(record, finding, { ...policy, authoritative: true }, times),
    },
    { ...proved, lookUp: { lagMs: 1, authoritative: false }, provider: { lag: 5 } },
  ),
  mutant(
    "noLook",
    "R18",
    "S1",
    "`decideNext` never thinks that anything was sent",
    {
      decideNext: (record, finding, policy, times) =>
        decideNext({ ...record, attemptsInGeneration: 0 }, finding, policy, times),
    },
    { ...proved, off: ["arm-checks-window"] },
  ),
  mutant(
    "pendingIsDone",
    "R18",
    "S3",
    "`decideNext` takes pending for done",
    {
      decideNext: (record, finding, policy, times) =>
        finding.kind === "pending"
          ? { kind: "complete" }
          : decideNext(record, finding, policy, times),
    },
    { ...proved, provider: { pends: true } },
  ),
  mutant(
    "contradictionIsDone",
    "R18",
    "S3",
    "`decideNext` takes another's effect for ours",
    {
      decideNext: (record, finding, policy, times) =>
        finding.kind === "contradiction"
          ? { kind: "complete" }
          : decideNext(record, finding, policy, times),
    },
    { ...proved, provider: { foreign: true } },
  ),
  mutant(
    "unsureIsAbsent",
    "R18",
    "S1",
    "`decideNext` takes “unsure” for “absent”",
    {
      decideNext: (record, finding, policy, times) =>
        decideNext(
          record,
          finding.kind === "unsure" ? { kind: "absent", final: false } : finding,
          policy,
          times,
        ),
    },
    { ...proved, provider: { unsure: true } },
  ),
  mutant(
    "closedTooEarly",
    "R18",
    "S2",
    "`decideNext` fails on “absent” without more",
    {
      decideNext: (record, finding, policy, times) =>
        finding.kind === "absent" ? { kind: "fail" } : decideNext(record, finding, policy, times),
    },
    { ...strict, lookUp: { lagMs: 1, authoritative: false }, provider: { lag: 5 } },
  ),
  mutant(
    "neverAsks",
    "L1",
    "L1",
    "`decideNext` waits where a person is to be asked",
    {
      decideNext: (record, finding, policy, times) => {
        const next = decideNext(record, finding, policy, times);
        return next.kind === "review" ? { kind: "wait", untilMs: 0, reason: "patience" } : next;
      },
    },
    { ...strict, liveness: true },
  ),
  mutant(
    "asksForNothing",
    "L2",
    "L2",
    "`decideNext` asks a person though nothing was sent",
    {
      decideNext: (record, finding, policy, times) => {
        const next = decideNext(record, finding, policy, times);
        return next.kind === "arm" ? { kind: "review", reason: "caution" } : next;
      },
    },
    { ...strict },
  ),
];

const windows: readonly Configuration[] = [
  mutant(
    "nothingSettles",
    "R18",
    "S1",
    "`quietSpanMs` is zero, in arm and in `decideNext`",
    {
      quietSpanMs: () => 0,
      decideNext: (record, finding, policy, times) => {
        const bounds = { ...policy.bounds, sendWithinMs: 0, flightMs: 0 };
        return decideNext(record, finding, { ...policy, bounds }, times);
      },
    },
    { ...proved },
  ),
  mutant(
    "wholeRetention",
    "R19",
    "S1",
    "`resendSpanMs` leaves out flight, send and margin",
    {
      resendSpanMs: (bounds) => resendSpanMs({ ...bounds, flightMs: 0, sendWithinMs: 0 }),
      decideNext: (record, finding, policy, times) => {
        const bounds = { ...policy.bounds, flightMs: 0, sendWithinMs: 0 };
        return decideNext(record, finding, { ...policy, bounds }, times);
      },
    },
    { lookUp: null },
  ),
  mutant(
    "alwaysInTime",
    "R10",
    "S1",
    "`maySendNow` is always true",
    {
      maySendNow: () => true,
    },
    { ...proved, lookUp: laggy },
  ),
];

export const decisionConfigurations: readonly Configuration[] = [
  ...deciding,
  ...decidingNext,
  ...windows,
];
