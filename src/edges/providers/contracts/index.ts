/**
 * Every provider's contract.
 *
 * @module
 */
import type { ProviderContract } from "../shared/provider-contract.ts";
import { stripeV1, stripeV2 } from "./stripe.ts";

/** All contracts, sorted by name. */
export const providerContracts: readonly ProviderContract[] = Object.freeze(
  [stripeV1, stripeV2].toSorted((one, other) => (one.name < other.name ? -1 : 1)),
);
