/**
 * The fake provider: a real HTTP server with an append-only ledger that judges every test.
 *
 *   records         what is recorded: arrivals, look-ups, ledger rows
 *   behaviour       what kind of provider it is          (keys, retention, lag …)
 *   faults          what goes wrong with one request     (dropped reply, gate, 500 …)
 *   key-table       the provider's memory of idempotency keys
 *   provider-rules  the state machine over all of these: no HTTP, no timer, no clock
 *   server, routes  drive the rules with sockets, `virtual-clock` and `gates`
 *   process, spawn  the same as a process of its own, with a `ledger-file`
 *   client          the provider's "official SDK", over `exchange`
 */
export { startFakeProvider, type FakeProvider, type FakeProviderOptions } from "./server.ts";
export { spawnFakeProvider, type RemoteProvider, type SpawnOptions } from "./spawn.ts";
export { createRemoteControl } from "./remote-control.ts";
export type { ProviderControl, RemoteControl } from "./control.ts";
export {
  createProviderClient,
  type CallOptions,
  type CreateEffect,
  type FindEffects,
  type ProviderClient,
  type ProviderClientOptions,
  type ProviderEffect,
} from "./client.ts";
export { CLIENT_CODES, ProviderError, type ProviderErrorDetails } from "./exchange.ts";
export { IDEAL_BEHAVIOUR, type ProviderBehaviour, type ResolvedBehaviour } from "./behaviour.ts";
export type { FaultStep } from "./faults.ts";
export {
  ProviderRules,
  type Pause,
  type ProviderJournal,
  type ProviderRulesOptions,
  type RequestStory,
} from "./provider-rules.ts";
export type {
  Arrival,
  CreateRequest,
  LedgerRow,
  LookUpArrival,
  LookUpQuery,
  ProviderCounters,
} from "./records.ts";
export type { Answer, Reply } from "./answer.ts";
export type { SavedKey } from "./key-table.ts";
export type { JsonObject, JsonValue } from "./json.ts";
