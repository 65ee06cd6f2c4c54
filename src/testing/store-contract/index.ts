/**
 * The store contract: what every implementation of the `Store` port must do, as cases that need no
 * test runner.
 *
 * @module
 */
import { arming } from "./arming.ts";
import type { StoreCase } from "./case.ts";
import { claiming } from "./claiming.ts";
import { finding } from "./finding.ts";
import { completions, journal } from "./journal.ts";
import type { StoreKit } from "./kit.ts";
import { lateLooks } from "./late-looks.ts";
import { owning } from "./owning.ts";
import { results } from "./results.ts";
import { retention } from "./retention.ts";
import { reviewing } from "./reviewing.ts";
import { type StoreContractOptions, type StoreContractReport, runCases } from "./run.ts";
import { settling } from "./settling.ts";
import { superseding } from "./superseding.ts";
import { takingOver } from "./taking-over.ts";
import { tenants } from "./tenants.ts";
import { times } from "./times.ts";

export type { StoreCase } from "./case.ts";
export type { StoreClock, StoreKit } from "./kit.ts";
export type { StoreCaseResult, StoreContractOptions, StoreContractReport } from "./run.ts";

/** Every case, by subject. Names are unique. */
export const storeContract: readonly StoreCase[] = [
  ...claiming,
  ...takingOver,
  ...owning,
  ...arming,
  ...settling,
  ...results,
  ...times,
  ...journal,
  ...completions,
  ...retention,
  ...tenants,
  ...reviewing,
  ...superseding,
  ...finding,
];

/** The cases of `Store.lateLooks`, for stores that have this optional part of the port. */
export const lateLooksContract: readonly StoreCase[] = lateLooks;

/**
 * Runs the store contract without a test runner: one case after the other, each on a fresh kit. A
 * case that needs a clock is reported as skipped where the kit has none, and so are the cases of late looks where
 * the store has none. Never throws for a store
 * that breaks the contract: look at `failed` and `skipped`.
 *
 * @throws {NeverTwiceError} CONFIGURATION_INVALID when `only` picks no case.
 *
 * @example
 * const report = await runStoreContract(() => ({ open: async () => new MyStore(freshDatabase()) }));
 * for (const result of report.results) if (result.outcome === "failed") console.error(result.error);
 */
export function runStoreContract(
  createKit: () => StoreKit | Promise<StoreKit>,
  options: StoreContractOptions = {},
): Promise<StoreContractReport> {
  return runCases([...storeContract, ...lateLooksContract], createKit, options);
}
