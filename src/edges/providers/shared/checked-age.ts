/**
 * Contracts grow stale: providers change what they promise, and nobody is told.
 *
 * @module
 */
import { days } from "../../../base/duration.ts";
import type { ProviderContract } from "./provider-contract.ts";

/** A contract that was read longer ago should be read again: half a year. */
export const staleAfterMs = days(180);

/** How long ago the contract's sources were read, at least zero. */
export function checkedAgeMs({ checkedOn }: ProviderContract, nowMs: number): number {
  return Math.max(0, nowMs - Date.parse(`${checkedOn}T00:00:00Z`));
}

/** True for a contract that should be read again. */
export function isStale(provider: ProviderContract, nowMs: number): boolean {
  return checkedAgeMs(provider, nowMs) > staleAfterMs;
}
