/**
 * What a downstream promises. Each capability is a separate fact and defaults to the worst (R20);
 * what is not declared is not leaned on.
 *
 * @module
 */
import type { JsonObject } from "../base/plain-json.ts";
import { type WireKeyShape, wireKeyOf } from "../intent/wire-key.ts";
import type { Mode, ReconcilePolicy } from "../ledger/decide.ts";
import { type Bounds, shortestLeaseMs } from "../ledger/window.ts";

/**
 * What the provider does with a key whose first request ended in an error after the effect:
 * `replays` the stored error (Stripe v1), `re-executes` safely (Stripe v2), answers that the key is
 * `burnt`, did `not-save` anything so that a resend runs again (Checkout.com), or `unknown`.
 */
export type AfterError = "replays" | "re-executes" | "burnt" | "not-saved" | "unknown";

/** How a provider treats the keys that it takes. */
export interface KeyContract {
  readonly shape: WireKeyShape;
  readonly uuidVersion?: 4 | 5 | 8;
  /** R: how long the key is remembered from its first arrival. Absent: unknown, so no resend. */
  readonly retentionMs?: number;
  /** Two requests in flight under one key can't both run. Default false. */
  readonly atomic?: boolean;
  /** Default `unknown`, which forbids a resend. */
  readonly afterError?: AfterError;
  /** A declined key answers a resend with the same decline. Default false. */
  readonly replaysDeclines?: boolean;
}

/** One effect that a look-up found. */
export interface FoundEffect<Result> {
  /** The provider's status of it: pending is not done. */
  readonly status: "succeeded" | "pending" | "failed";
  /** In the same shape as the result of `execute`. */
  readonly result: Result;
  readonly providerId?: string;
  /** Business arguments as the provider has them; one that differs from ours goes to a person. */
  readonly arguments?: JsonObject;
  /** Where it differs from what was asked, in words, if the look-up can tell: goes to a person. */
  readonly differsIn?: string;
}

/**
 * The three answers of a look-up. `absent` means that the provider shows nothing now; `final` that
 * the request can never take effect any more. Throwing or timing out is `unsure`.
 */
export type LookUpAnswer<Result> =
  | { readonly answer: "found"; readonly effects: readonly FoundEffect<Result>[] }
  | { readonly answer: "absent"; readonly final?: boolean }
  | { readonly answer: "unsure"; readonly reason?: string };

/** What a look-up may search by. */
export interface LookUpQuestion<Args> {
  readonly tenant: string;
  readonly key: string;
  /** Every wire key under which something may have been sent, newest first. */
  readonly wireKeys: readonly string[];
  readonly arguments: Args;
  readonly signal: AbortSignal;
}

/** How the provider can be asked what happened. */
export interface LookUpContract<Args, Result> {
  readonly find: (
    question: LookUpQuestion<Args>,
  ) => Promise<LookUpAnswer<Result>> | LookUpAnswer<Result>;
  /** L: how long an effect may stay invisible. Absent: unknown, so "absent" never proves anything. */
  readonly lagMs?: number;
  /** "absent" after everything has settled is proof. Default false; needs `lagMs`. */
  readonly authoritative?: boolean;
  /** Default: the call's `timeoutMs`. */
  readonly timeoutMs?: number;
}

/**
 * What an error of `execute` proves: `definitive`, the provider refused this operation and it will
 * never take effect; `refused`, the same of this one request, of which the provider keeps nothing
 * under the key (a parameter that doesn't validate), so that an earlier attempt may still land;
 * `not-executed`, the provider says that it did not run this one request, for a reason that may pass
 * while the request stays as it is (a rate limit, a quota, missing capacity, a balance, a permission,
 * credentials), so that the same call may do better; `unknown`, everything else, the default. What the
 * provider keeps under the key is never `not-executed`: a repeat would get it again.
 */
export type ErrorClass = "definitive" | "refused" | "not-executed" | "unknown";

/** The downstream contract of a non-idempotent tool. Spans in milliseconds. */
export interface Contract<Args, Result> {
  /** How far to go when an outcome is in doubt (R21). Default `strict`: one armed send ever. */
  readonly mode?: Mode;
  /** Absent: the provider takes no key. */
  readonly key?: KeyContract;
  /** The longest that one call may take, in all. */
  readonly timeoutMs: number;
  /** F: the longest that a request can go on to take effect after it was written. */
  readonly flightMs: number;
  /** W: the longest from arm to socket write. Default 2 s. */
  readonly sendWithinMs?: number;
  /** Clock steps and slack. Default 5 s. */
  readonly marginMs?: number;
  /** Default `timeoutMs` + 5 s. At least `timeoutMs` + 1 s, unless `renewLease` (R11). */
  readonly leaseMs?: number;
  /** Renew the lease while the call runs; then `leaseMs` may be shorter than `timeoutMs`. */
  readonly renewLease?: boolean;
  readonly lookUp?: LookUpContract<Args, Result>;
  /** Default: everything is `unknown`. */
  classify?(error: unknown): ErrorClass;
  /** The provider's own id of the effect: tells one effect from two (R14). */
  providerId?(result: Result): string | undefined;
  /** The provider's account, where keys or effects are scoped by it; part of the fingerprint. */
  readonly account?: string;
  /** The endpoint or API version, where keys are scoped by it; part of the fingerprint. */
  readonly endpoint?: string;
  /** A larger result is not stored. Default 256 KiB. */
  readonly maxResultBytes?: number;
  /** Armed sends in all before a person is asked. Default 5. */
  readonly maxAttempts?: number;
  /** How long an unsure look-up is asked again before a person is. Default 1 h. */
  readonly giveUpAfterMs?: number;
}

/** A contract with its defaults filled in. */
export interface Terms {
  readonly bounds: Bounds;
  readonly policy: ReconcilePolicy;
  readonly timeoutMs: number;
  readonly leaseMs: number;
  readonly lookUpTimeoutMs: number;
  readonly renewLease: boolean;
  readonly maxResultBytes: number;
  wireKeyOf(key: string, generation: number): string;
}

/** Fills in the defaults: the worst that the contract doesn't rule out. */
export function termsOf(contract: Contract<never, never>): Terms {
  const { key, lookUp, timeoutMs, mode = "strict" } = contract;
  const bounds: Bounds = {
    sendWithinMs: contract.sendWithinMs ?? 2000,
    flightMs: contract.flightMs,
    lookUpLagMs: lookUp?.lagMs,
    retentionMs: key?.retentionMs,
    marginMs: contract.marginMs ?? 5000,
  };
  return {
    bounds,
    policy: {
      mode,
      bounds,
      resendable: key !== undefined && isResendSafe(key),
      replaysDeclines: key?.replaysDeclines === true,
      authoritative: lookUp?.authoritative === true && lookUp.lagMs !== undefined,
      hasLookUp: lookUp !== undefined,
      maxAttempts: contract.maxAttempts ?? 5,
      giveUpAfterMs: contract.giveUpAfterMs ?? 3_600_000,
    },
    timeoutMs,
    leaseMs: contract.leaseMs ?? shortestLeaseMs(timeoutMs) + 4000,
    lookUpTimeoutMs: lookUp?.timeoutMs ?? timeoutMs,
    renewLease: contract.renewLease === true,
    maxResultBytes: contract.maxResultBytes ?? 256 * 1024,
    wireKeyOf: (of, generation) =>
      wireKeyOf(of, {
        shape: key?.shape ?? "hex",
        uuidVersion: key?.uuidVersion,
        generation,
        account: contract.account,
      }),
  };
}

/** True when a second request under the same key can't make a second effect while it is remembered (R19). */
export function isResendSafe(key: KeyContract): boolean {
  const afterError = key.afterError ?? "unknown";
  return (
    key.atomic === true &&
    key.retentionMs !== undefined &&
    (afterError === "replays" || afterError === "re-executes" || afterError === "burnt")
  );
}
