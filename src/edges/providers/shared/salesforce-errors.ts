/**
 * What Salesforce's own answers prove.
 *
 * @module
 */
import type { ErrorClass } from "../../../guard/contract.ts";

/** The answer was a 401, which the SDK would hide behind a login and a second send. */
export class SessionExpired extends Error {}

/** A newer version is on the record, perhaps from another ledger. */
export class NewerRecord extends Error {
  override readonly name = "NewerRecord";

  constructor(version: number, newer: number) {
    super(`version ${newer} is on the record, and ${version} is older`);
  }
}

const refused: ReadonlySet<string> = new Set([
  "DUPLICATE_EXTERNAL_ID",
  "FIELD_CUSTOM_VALIDATION_EXCEPTION",
  "INVALID_CROSS_REFERENCE_KEY",
  "INVALID_FIELD",
  "INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST",
  "INVALID_TYPE",
  "JSON_PARSER_ERROR",
  "MULTIPLE_CHOICES",
  "NOT_FOUND",
  "REQUIRED_FIELD_MISSING",
  "STRING_TOO_LONG",
]);

/** Turned away, or rolled back: another try may do better. */
const notExecuted: ReadonlySet<string> = new Set([
  "API_DISABLED_FOR_ORG",
  "INSUFFICIENT_ACCESS_OR_READONLY",
  "INVALID_SESSION_ID",
  "REQUEST_LIMIT_EXCEEDED",
  "UNABLE_TO_LOCK_ROW",
]);

/** Salesforce's own code; what a proxy says has none (https://developer.salesforce.com, `errorcodes.htm`). */
export function codeOf(error: unknown): string {
  const { errorCode } = (error ?? {}) as { errorCode?: unknown };
  return typeof errorCode === "string" ? errorCode : "";
}

/** What an error of an upsert proves. */
export function classifySalesforce(error: unknown): ErrorClass {
  if (error instanceof NewerRecord) return "definitive";
  if (error instanceof SessionExpired) return "not-executed";
  if (refused.has(codeOf(error))) return "refused";
  return notExecuted.has(codeOf(error)) ? "not-executed" : "unknown";
}
