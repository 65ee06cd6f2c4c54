/**
 * `nevertwice/testing`: what tests of guarded tools need. The fake provider is a real HTTP server
 * whose append-only ledger says how many effects there really are.
 *
 * @module
 */
export * from "./fake-provider/index.ts";
export * from "./store-contract/index.ts";
