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

/**
 * As `StatusCode` and `ExceptionCode` of the WSDL have them
 * (https://developer.salesforce.com/docs/platform/api/guide/sforce-api-calls-concepts-core-data-objects.html).
 */
const refused: ReadonlySet<string> = new Set([
  "DUPLICATE_EXTERNAL_ID",
  "FIELD_CUSTOM_VALIDATION_EXCEPTION",
  "INVALID_CROSS_REFERENCE_KEY",
  "INVALID_FIELD",
  "INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST",
  "INVALID_TYPE",
  "MULTIPLE_CHOICES",
  "NOT_FOUND",
  "REQUIRED_FIELD_MISSING",
  "STRING_TOO_LONG",
]);

/** Access, limits and locks: turned away, or rolled back. */
const notExecuted: ReadonlySet<string> = new Set([
  "API_CURRENTLY_DISABLED",
  "API_DISABLED_FOR_ORG",
  "INSUFFICIENT_ACCESS_ON_CROSS_REFERENCE_ENTITY",
  "INSUFFICIENT_ACCESS_OR_READONLY",
  "INVALID_SESSION_ID",
  "REQUEST_LIMIT_EXCEEDED",
  "STORAGE_LIMIT_EXCEEDED",
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
