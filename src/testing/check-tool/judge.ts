/**
 * Verdicts on what was seen. Pure: counts and answers go in, a finding comes out.
 *
 * @module
 */
import { errorText } from "../../base/errors.ts";
import type { GuardedParts } from "../../guard/tool.ts";
import type { Told } from "./bench.ts";
import type { Finding } from "./report.ts";

/** What a fault check saw. */
export interface Seen {
  readonly effects: number;
  readonly expected: readonly [least: number, most: number];
  readonly told: readonly Told[];
  /** Requests that were begun. */
  readonly sends: number;
  /** More that has to be so. The first that isn't is what was found. */
  readonly also?: readonly Requirement[];
}

/** Something that has to be so. */
export interface Requirement {
  readonly holds: boolean;
  readonly found: string;
  readonly advice: string;
}

/** Exactly one effect. */
export const exactlyOne = [1, 1] as const;

/** Judges a fault check. What is worse comes first: doubled, lost, wrongly told, anything else. */
export function judge(parts: GuardedParts, seen: Seen): Finding {
  const { effects, expected, told } = seen;
  const codes = told.map((one) => one.told);
  const broken = requirements(parts, seen).find(({ holds }) => !holds);
  return {
    verdict: broken === undefined ? "pass" : "fail",
    effects,
    expectedEffects: expected,
    told: codes,
    found: broken?.found ?? "as it should be",
    advice: broken?.advice ?? null,
  };
}

function requirements(parts: GuardedParts, seen: Seen): Requirement[] {
  const { effects, expected, told, also = [] } = seen;
  const codes = new Set(told.map((one) => one.told));
  const failed = told.find((one) => one.told === "OPERATION_FAILED");
  // What a check knows of its own fault explains a doubled effect better than a general rule.
  const [most] = also.filter(({ holds }) => !holds);
  return [
    {
      holds: effects <= expected[1],
      found: `${effects} effects: the intent was doubled`,
      advice: most?.advice ?? doubledAdvice(parts, seen),
    },
    {
      holds: failed === undefined || effects === 0,
      found: "the caller was told that it failed for good, but the effect exists",
      advice: `let \`contract.classify\` return "unknown" for this error (${causeOf(failed)}): it proves nothing about the effect`,
    },
    {
      holds: effects > 0 || !(codes.has("EXECUTED") || codes.has("REPLAYED")),
      found: "the caller was told that it is done, but there is no effect",
      advice:
        "`execute` must return only once the provider has confirmed, and `lookUp.find` must find this intent's own effect alone",
    },
    {
      holds: effects >= expected[0],
      found: `${effects} effects: the effect was lost`,
      advice: `the last call was told: ${lastText(told)}`,
    },
    ...also,
  ];
}

/** Why an effect may have been doubled, by what the contract allows. */
function doubledAdvice({ terms }: GuardedParts, { effects, sends }: Seen): string {
  if (effects > sends) {
    return `${sends} request(s) made ${effects} effects: switch off the retries of the SDK or HTTP client inside \`execute\``;
  }
  switch (terms.policy.mode) {
    case "window":
      return "a resend under the same wire key took effect again: see what the key-… checks say about `contract.key`; send `call.wireKey` on every attempt";
    case "proved-absence":
      return "the look-up said absent though the effect existed: raise `lookUp.lagMs`, or take back `lookUp.authoritative`; see look-up-finds";
    case "strict":
      return 'the intent differs between the calls, or `execute` makes more than one effect: make `intent` of the same trusted ids, with `scope: "business"`';
  }
}

function causeOf(told: Told | undefined): string {
  const details = (told?.error as { details?: { error?: { message?: unknown } } } | undefined)
    ?.details;
  const message = details?.error?.message;
  return typeof message === "string" ? message : "see the stored error";
}

function lastText(told: readonly Told[]): string {
  const last = told.at(-1);
  return last === undefined
    ? "nothing"
    : last.error === undefined
      ? last.told
      : errorText(last.error);
}

/** A check that can't be done, and why. */
export function notCheckable(reason: string): Finding {
  return {
    verdict: "not-checkable",
    effects: null,
    expectedEffects: null,
    told: [],
    found: reason,
    advice: null,
  };
}

/** What a claim check measured. */
export interface Measured {
  readonly claimed: boolean;
  readonly holds: boolean;
  readonly effects?: number;
  /** Expected where claimed. Default 1. */
  readonly least?: number;
  readonly most?: number;
  /** What was seen, as half a sentence. */
  readonly seen: string;
  /** What to change when it is claimed and not so. */
  readonly correction: string;
  /** What may be declared when it is not claimed and holds; null for nothing. */
  readonly declaration: string | null;
}

/** Judges a claim: claimed or not, so or not. */
export function judgeClaim(measured: Measured): Finding {
  const { claimed, holds, effects, least = 1, most = 1, seen } = measured;
  const { correction, declaration } = measured;
  const counted = {
    effects: effects ?? null,
    // Where nothing is claimed, no count is wrong.
    expectedEffects: effects === undefined || !claimed ? null : ([least, most] as const),
    told: [],
  };
  if (claimed && holds)
    return { verdict: "pass", ...counted, found: `claimed and measured: ${seen}`, advice: null };
  if (claimed)
    return {
      verdict: "fail",
      ...counted,
      found: `claimed but not so: ${seen}`,
      advice: correction,
    };
  if (!holds)
    return { verdict: "pass", ...counted, found: `not claimed, and not so: ${seen}`, advice: null };
  const verdict = declaration === null ? "pass" : "advice";
  return {
    verdict,
    ...counted,
    found: `not claimed though it holds: ${seen}`,
    advice: declaration,
  };
}
