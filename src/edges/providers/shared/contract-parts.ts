/**
 * From a provider's contract to the parts of a guard's contract. What a source leaves in doubt counts
 * as the worst, and what isn't known is left out (R20).
 *
 * @module
 */
import { NeverTwiceError } from "../../../base/errors.ts";
import type { Contract, KeyContract, LookUpContract } from "../../../guard/contract.ts";
import { isResendSafe } from "../../../guard/contract.ts";
import { type WireKeyShape, wireKeyLengths, wireKeyOf } from "../../../intent/wire-key.ts";
import type { Mode } from "../../../ledger/decide.ts";
import type { FactName, ProviderContract, ProviderKey } from "./provider-contract.ts";

type BoundName =
  | "sendWithinMs"
  | "marginMs"
  | "leaseMs"
  | "renewLease"
  | "maxResultBytes"
  | "maxAttempts"
  | "giveUpAfterMs"
  | "account"
  | "endpoint";

/**
 * What no provider publishes, so that you have to say it: see {@link Contract} for each. `mode`
 * defaults to the farthest that the provider's contract allows, `window` or `strict`.
 */
export interface AdapterBounds extends Pick<Contract<never, never>, BoundName> {
  /** The longest that one call may take, in all. */
  readonly timeoutMs: number;
  /** F: the longest that a request can go on to take effect after it was written. */
  readonly flightMs: number;
  readonly mode?: Mode;
  /** Another shape of the key than the default; refused where the provider can't take it. */
  readonly keyShape?: WireKeyShape;
}

/** A guard's contract without what only an adapter can know: look-up, classification, ids. */
export type ContractParts = AdapterBounds & { readonly mode: Mode; readonly key?: KeyContract };

/** Refuses a tool because of its provider: TOOL_INVALID, before anything is recorded. */
export function refuseProvider(provider: string, reason: string): never {
  throw new NeverTwiceError("TOOL_INVALID", `A tool on ${provider} can't be made: ${reason}.`, {
    details: { provider },
  });
}

/**
 * Fills in a guard's contract.
 *
 * @throws {NeverTwiceError} TOOL_INVALID for a key shape that the provider can't take, and for a mode
 * that its contract doesn't allow.
 */
export function contractParts(provider: ProviderContract, bounds: AdapterBounds): ContractParts {
  const { keyShape, ...rest } = bounds;
  const key = keyContract(provider, keyShape);
  const { mode = modeOf(provider) } = bounds;
  if (mode === "window" && modeOf(provider) !== "window") {
    refuseProvider(provider.title, `mode \`window\` resends, and ${whyNoResend(provider)}`);
  }
  return { ...rest, mode, ...(key === undefined ? {} : { key }) };
}

/** The farthest that the facts allow: `window` where a resend is proved to be safe, else `strict`. */
export function modeOf(provider: ProviderContract): "window" | "strict" {
  const key = keyContract(provider);
  return key !== undefined && isResendSafe(key) ? "window" : "strict";
}

/**
 * The provider's key as the guard takes it; undefined where there is none.
 *
 * @throws {NeverTwiceError} TOOL_INVALID for a shape that the provider can't take.
 */
export function keyContract(
  provider: ProviderContract,
  shape = provider.key?.shape,
): KeyContract | undefined {
  const { key } = provider;
  if (key === null || shape === undefined) return undefined;
  checkShape(provider, key, shape);
  const sure = isSure(provider);
  return {
    shape,
    ...(key.uuidVersion === undefined ? {} : { uuidVersion: key.uuidVersion }),
    ...(key.retentionMs !== null && sure("key.retentionMs")
      ? { retentionMs: key.retentionMs }
      : {}),
    atomic: key.atomic && sure("key.atomic"),
    afterError: sure("key.afterError") ? key.afterError : "unknown",
    replaysDeclines: key.replaysDeclines && sure("key.replaysDeclines"),
  };
}

/** What the guard may lean on in a look-up. "Absent" never becomes proof by itself: that is opt-in. */
export function lookUpFacts(
  provider: ProviderContract,
): Pick<LookUpContract<never, never>, "lagMs"> {
  const lagMs = provider.lookUp?.lagMs ?? null;
  return lagMs === null || !isSure(provider)("lookUp.lagMs") ? {} : { lagMs };
}

function isSure(provider: ProviderContract): (fact: FactName) => boolean {
  return (fact) => !provider.uncertain.includes(fact);
}

function checkShape(provider: ProviderContract, key: ProviderKey, shape: WireKeyShape): void {
  const { title } = provider;
  if (!Object.hasOwn(wireKeyLengths, shape))
    refuseProvider(title, `\`keyShape\` must be one of ${Object.keys(wireKeyLengths).join(", ")}`);
  const length = wireKeyLengths[shape];
  const { minLength, maxLength, charset, field } = key;
  if (maxLength !== null && length > maxLength)
    refuseProvider(title, `${field} takes ${maxLength} characters, and ${shape} has ${length}`);
  if (minLength !== null && length < minLength)
    refuseProvider(title, `${field} needs ${minLength} characters, and ${shape} has ${length}`);
  if (charset !== null && !new RegExp(`^${charset}+$`).test(alphabetOf(shape)))
    refuseProvider(title, `${field} takes only ${charset}, and ${shape} has others`);
}

/** A text with every character that a wire key of this shape may have. */
function alphabetOf(shape: WireKeyShape): string {
  if (shape === "base64url") {
    return "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  }
  return `0123456789abcdef${wireKeyOf("0".repeat(64), { shape })}`;
}

function whyNoResend(provider: ProviderContract): string {
  const { key } = provider;
  if (key === null) return "the provider takes no key";
  const sure = isSure(provider);
  if (key.retentionMs === null || !sure("key.retentionMs"))
    return "how long the provider remembers a key is not known";
  if (!key.atomic || !sure("key.atomic"))
    return "it is not known that two requests under one key can't both run";
  return key.afterError === "not-saved"
    ? "after an error the provider runs the request again"
    : "what the provider does with a key after an error is not known";
}
