/**
 * Start-up checks: what would make the promise hollow is refused before the first call (R27).
 *
 * @module
 */
import { days, formatSpan, isSpan } from "../base/duration.ts";
import { NeverTwiceError } from "../base/errors.ts";
import type { StoreInspection } from "../ledger/store.ts";

/** How long a duplicate may come late. Spans in milliseconds. */
export interface Horizon {
  /** The longest that a workflow runs. Default 1 d. */
  readonly longestWorkflowMs?: number;
  /** The longest wait for an approval. Default 7 d. */
  readonly approvalWaitMs?: number;
  /** How long anybody retries or delivers again. Default 7 d. */
  readonly retryHorizonMs?: number;
}

/**
 * Refuses a retention that is shorter than the horizon: the duplicate would come after the answer is gone.
 *
 * @throws {NeverTwiceError} CONFIGURATION_INVALID naming both numbers.
 */
export function checkRetention(retentionMs: number, horizon: Horizon): void {
  const {
    longestWorkflowMs = days(1),
    approvalWaitMs = days(7),
    retryHorizonMs = days(7),
  } = horizon;
  const spans = { retentionMs, longestWorkflowMs, approvalWaitMs, retryHorizonMs };
  for (const [name, value] of Object.entries(spans)) {
    if (isSpan(value)) continue;
    throw new NeverTwiceError(
      "CONFIGURATION_INVALID",
      `\`${name}\` must be a number of at least zero, not ${String(value)}.`,
    );
  }
  const neededMs = longestWorkflowMs + approvalWaitMs + retryHorizonMs;
  if (retentionMs >= neededMs) return;
  throw new NeverTwiceError(
    "CONFIGURATION_INVALID",
    `Outcomes are kept for ${formatSpan(retentionMs)}, but a duplicate may come after ${formatSpan(neededMs)} ` +
      `(workflow ${formatSpan(longestWorkflowMs)}, approval ${formatSpan(approvalWaitMs)}, retries ${formatSpan(retryHorizonMs)}). Raise \`retentionMs\` to at least ${neededMs}.`,
    { details: { retentionMs, neededMs } },
  );
}

/**
 * Refuses a secret of keys that is empty.
 *
 * @throws {NeverTwiceError} CONFIGURATION_INVALID.
 */
export function checkKeySecret(keySecret: string | Uint8Array | undefined): void {
  if (keySecret?.length !== 0) return;
  throw new NeverTwiceError(
    "CONFIGURATION_INVALID",
    "`keySecret` is empty: then anybody can compute keys.",
  );
}

/**
 * Refuses a schema that this program doesn't fit, and settings under which an acknowledged claim can
 * be lost, unless each is accepted by name.
 *
 * @throws {NeverTwiceError} SCHEMA_OUTDATED, SCHEMA_TOO_NEW, STORE_UNSAFE.
 */
export function checkStore(inspection: StoreInspection, accept: readonly string[]): void {
  checkSchema(inspection);
  const refused = inspection.unsafe.filter((setting) => !accept.includes(setting));
  if (refused.length === 0) return;
  throw new NeverTwiceError(
    "STORE_UNSAFE",
    `With ${refused.join(", ")} the store can lose a claim that it acknowledged, and the effect would be doubled. ` +
      `Change the setting, or accept it by name: accept: ${JSON.stringify(refused)}.`,
    { details: { unsafe: refused } },
  );
}

/** The schema part of {@link checkStore}. */
export function checkSchema(inspection: StoreInspection): void {
  const { schemaVersion, programVersion, breakingVersion } = inspection;
  const details = { schemaVersion, programVersion };
  if (breakingVersion > programVersion) {
    throw new NeverTwiceError(
      "SCHEMA_TOO_NEW",
      `The database has schema ${schemaVersion}, and this program knows only ${programVersion}: a newer version of nevertwice has changed it. Update this program.`,
      { details },
    );
  }
  if (schemaVersion < programVersion) {
    throw new NeverTwiceError(
      "SCHEMA_OUTDATED",
      `The database has schema ${schemaVersion}, and this program needs ${programVersion}. Run \`nevertwice migrate\` (or \`await store.migrate()\`) once.`,
      { details },
    );
  }
}
