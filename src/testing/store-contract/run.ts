/**
 * The store contract without a test runner.
 *
 * @module
 */
import { formatSpan } from "../../base/duration.ts";
import { NeverTwiceError } from "../../base/errors.ts";
import { startTimer, systemRuntime } from "../../base/runtime.ts";
import type { StoreCase } from "./case.ts";
import type { StoreKit } from "./kit.ts";

/** Options of {@link runCases}. */
export interface StoreContractOptions {
  /** Which cases to run. Default: all. */
  readonly only?: (storeCase: StoreCase) => boolean;
  /** How long one case may take, in milliseconds. Default 60 000. */
  readonly timeoutMs?: number;
}

/** What became of one case. */
export type StoreCaseResult = Pick<StoreCase, "name" | "rule" | "fault"> &
  (
    | { readonly outcome: "passed" }
    | { readonly outcome: "failed"; readonly error: unknown }
    | { readonly outcome: "skipped"; readonly reason: string }
  );

/**
 * What became of all. A store keeps the contract when nothing failed and nothing was skipped, but for the late
 * looks of a store that has none.
 */
export interface StoreContractReport {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** In the order of the cases. */
  readonly results: readonly StoreCaseResult[];
}

/**
 * Runs the cases one after the other, each on a fresh kit, and closes the kit.
 *
 * @throws {NeverTwiceError} CONFIGURATION_INVALID when `only` picks no case: nothing would be proved.
 */
export async function runCases(
  cases: readonly StoreCase[],
  createKit: () => StoreKit | Promise<StoreKit>,
  { only = () => true, timeoutMs = 60_000 }: StoreContractOptions,
): Promise<StoreContractReport> {
  const picked = cases.filter((storeCase) => only(storeCase));
  if (picked.length === 0) {
    throw new NeverTwiceError(
      "CONFIGURATION_INVALID",
      "`only` picks none of the store contract's cases. Let it be true for at least one.",
    );
  }
  const results: StoreCaseResult[] = [];
  for (const storeCase of picked) results.push(await runCase(storeCase, createKit, timeoutMs));
  const count = (outcome: StoreCaseResult["outcome"]): number =>
    results.filter((result) => result.outcome === outcome).length;
  return { passed: count("passed"), failed: count("failed"), skipped: count("skipped"), results };
}

async function runCase(
  storeCase: StoreCase,
  createKit: () => StoreKit | Promise<StoreKit>,
  timeoutMs: number,
): Promise<StoreCaseResult> {
  const { name, rule, fault } = storeCase;
  try {
    const kit = await createKit();
    try {
      if (storeCase.needsClock && kit.clock === undefined) {
        const reason = "it moves the database's clock, and the kit has no `clock`";
        return { name, rule, fault, outcome: "skipped", reason };
      }
      if (storeCase.needsLateLooks && (await kit.open()).lateLooks === undefined) {
        const reason = "it is about late looks, and the store has no `lateLooks`";
        return { name, rule, fault, outcome: "skipped", reason };
      }
      await withinLimit(storeCase, kit, timeoutMs);
    } finally {
      await kit.close?.();
    }
    return { name, rule, fault, outcome: "passed" };
  } catch (error) {
    return { name, rule, fault, outcome: "failed", error };
  }
}

async function withinLimit(storeCase: StoreCase, kit: StoreKit, timeoutMs: number): Promise<void> {
  const timer = startTimer(systemRuntime, timeoutMs);
  const tooLate = timer.rung.then(() => {
    throw new Error(
      `"${storeCase.name}" (${storeCase.rule}): did not end within ${formatSpan(timeoutMs)}.`,
    );
  });
  try {
    await Promise.race([storeCase.run(kit), tooLate]);
  } finally {
    timer.stop();
  }
}
