/**
 * Writes a contract down briefly: what isn't said is not known, and counts as the worst.
 *
 * @module
 */
import type { ProviderContract, ProviderKey } from "./provider-contract.ts";

type RequiredKeyPart = "transport" | "field";

/** A contract of which only what the sources say is written down. */
export interface ProviderDeclaration extends Pick<
  ProviderContract,
  "name" | "title" | "covers" | "kind" | "sources" | "checkedOn"
> {
  readonly key?: Pick<ProviderKey, RequiredKeyPart> & Partial<ProviderKey>;
  readonly lookUp?: { readonly by: string; readonly lagMs?: number };
  readonly tag?: { readonly field: string; readonly maxLength?: number; readonly charset?: string };
  readonly sdkMintsKey?: true;
  readonly uncertain?: ProviderContract["uncertain"];
  readonly notes?: readonly string[];
}

/** Nothing is known of a key but that there is one. A UUID fits every provider that takes a key. */
const unknownKey: Omit<ProviderKey, RequiredKeyPart> = {
  shape: "uuid",
  minLength: null,
  maxLength: null,
  charset: null,
  retentionMs: null,
  scope: null,
  mismatch: null,
  inFlight: null,
  replay: null,
  atomic: false,
  afterError: "unknown",
  replaysDeclines: false,
};

/** Fills in what the declaration leaves out. */
export function declareProvider(declared: ProviderDeclaration): ProviderContract {
  const { key, lookUp, tag, sdkMintsKey = false, uncertain = [], notes = [], ...rest } = declared;
  return Object.freeze({
    ...rest,
    key: key === undefined ? null : { ...unknownKey, ...key },
    lookUp: lookUp === undefined ? null : { lagMs: null, ...lookUp },
    tag: tag === undefined ? null : { maxLength: null, charset: null, ...tag },
    sdkMintsKey,
    uncertain,
    notes,
  });
}
