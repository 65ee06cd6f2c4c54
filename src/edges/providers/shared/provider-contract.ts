/**
 * The shape of a provider's contract as data: what its documents say about keys, look-ups and tags,
 * where they say it, and when somebody read it. Nothing here acts; `contract-parts.ts` turns it into
 * the parts of a guard's contract.
 *
 * @module
 */
import type { WireKeyShape } from "../../../intent/wire-key.ts";
import type { AfterError } from "../../../guard/contract.ts";

/**
 * What a second request meets, at best:
 *
 * - `replay`: the stored answer of the first;
 * - `pointer`: a conflict that names the first resource;
 * - `natural-key`: the resource's own name, or an upsert, so that there is nothing to double;
 * - `look-up-only`: nothing; but the first resource can be found by a tag;
 * - `nothing`: no key and nothing to find it by, so that a person decides.
 */
export type ProviderKind = "replay" | "pointer" | "natural-key" | "look-up-only" | "nothing";

/** How an answer can be told. Absent members are not documented. */
export interface Sign {
  readonly status?: number;
  /** The provider's own code or error type. */
  readonly code?: string;
  /** A header, as `name: value`. */
  readonly header?: string;
  /** What it looks like beyond that, in a few words. */
  readonly note?: string;
}

/** Where the key travels, and what becomes of it. Null means: not known. */
export interface ProviderKey {
  /** `name` is a resource's own name or id that the caller chooses. */
  readonly transport: "header" | "body" | "argument" | "directive" | "name";
  readonly field: string;
  /** The shape that an adapter sends by default. */
  readonly shape: WireKeyShape;
  readonly uuidVersion?: 4 | 5 | 8;
  readonly minLength: number | null;
  readonly maxLength: number | null;
  /** One character of it, as a regular expression's class. */
  readonly charset: string | null;
  /** How long it is remembered at least, from its first arrival. */
  readonly retentionMs: number | null;
  /** Within what it is unique, e.g. `account and mode`. */
  readonly scope: string | null;
  /** The same key with another request. */
  readonly mismatch: Sign | null;
  /** The same key while the first request runs. */
  readonly inFlight: Sign | null;
  /** How a repeated answer is marked. */
  readonly replay: Sign | null;
  /** Two requests in flight under one key can't both run. */
  readonly atomic: boolean;
  /** What the key keeps of an error. */
  readonly afterError: AfterError;
  /** A declined key answers a resend with the same decline. */
  readonly replaysDeclines: boolean;
}

/** How the resource can be found again. */
export interface ProviderLookUp {
  /** The call and what it is matched by. */
  readonly by: string;
  /** How long a new resource may stay invisible to it. Null: not known, so "absent" proves nothing. */
  readonly lagMs: number | null;
}

/** Where the operation's key can be left on the resource. */
export interface ProviderTag {
  readonly field: string;
  readonly maxLength: number | null;
  readonly charset: string | null;
}

/** A fact that the sources leave in doubt: it is shown, and never leaned on. */
export type FactName =
  | `key.${"field" | "minLength" | "maxLength" | "charset" | "retentionMs" | "scope"}`
  | `key.${"mismatch" | "inFlight" | "replay" | "atomic" | "afterError" | "replaysDeclines"}`
  | "lookUp.by"
  | "lookUp.lagMs"
  | "tag.field"
  | "tag.maxLength";

/** A page or a specification. */
export interface ProviderSource {
  readonly url: string;
  /** The state that was read, `YYYY-MM`, where it is older than the day of reading. */
  readonly asOf?: string;
}

/** One provider's contract for one group of calls. */
export interface ProviderContract {
  /** In kebab-case, unique: what `nevertwice providers show` takes. */
  readonly name: string;
  readonly title: string;
  /** The calls that it is about. */
  readonly covers: string;
  readonly kind: ProviderKind;
  /** Null: the provider takes none. */
  readonly key: ProviderKey | null;
  readonly lookUp: ProviderLookUp | null;
  readonly tag: ProviderTag | null;
  /** The official SDK makes a key of its own for each call where none is given. */
  readonly sdkMintsKey: boolean;
  readonly uncertain: readonly FactName[];
  readonly sources: readonly [ProviderSource, ...ProviderSource[]];
  /** The day on which the sources were read, `YYYY-MM-DD`. */
  readonly checkedOn: string;
  /** What a user has to know beside the facts. */
  readonly notes: readonly string[];
}
