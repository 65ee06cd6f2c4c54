/**
 * Every provider's contract.
 *
 * @module
 */
import type { ProviderContract } from "../shared/provider-contract.ts";
import { awsContracts } from "./aws.ts";
import { bankingContracts } from "./banking.ts";
import { businessContracts } from "./business.ts";
import { cloudContracts } from "./cloud.ts";
import { paymentContracts } from "./payments.ts";
import { paypalContracts } from "./paypal.ts";
import { saasContracts } from "./saas.ts";
import { stripeV1, stripeV2 } from "./stripe.ts";

/** All contracts, sorted by name. */
export const providerContracts: readonly ProviderContract[] = Object.freeze(
  [
    stripeV1,
    stripeV2,
    ...paypalContracts,
    ...paymentContracts,
    ...bankingContracts,
    ...awsContracts,
    ...cloudContracts,
    ...saasContracts,
    ...businessContracts,
  ].toSorted((one, other) => (one.name < other.name ? -1 : 1)),
);
