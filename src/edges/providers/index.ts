/**
 * `nevertwice/providers`: what providers promise, as data, and what an adapter is made of. The
 * adapters themselves are `nevertwice/providers/stripe` and the like.
 *
 * @module
 */
export { providerContracts } from "./contracts/index.ts";
export { checkedAgeMs, isStale, staleAfterMs } from "./shared/checked-age.ts";
export { type ProviderDeclaration, declareProvider } from "./shared/declare-provider.ts";
export type {
  FactName,
  ProviderContract,
  ProviderKey,
  ProviderKind,
  ProviderLookUp,
  ProviderSource,
  ProviderTag,
  Sign,
} from "./shared/provider-contract.ts";
export {
  type AdapterBounds,
  type ContractParts,
  contractParts,
  keyContract,
  lookUpFacts,
  modeOf,
  refuseProvider,
} from "./shared/contract-parts.ts";
export {
  type AdapterOptions,
  type AdapterParts,
  type TaggedSearch,
  EffectFailed,
  classifyFailed,
  difference,
  findTagged,
  tagName,
  unlessFailed,
} from "./shared/adapter.ts";
export { checkOwnMethods } from "./shared/own-methods.ts";
export { type Attempt, type SendGate, sendOnce } from "./shared/send-once.ts";
