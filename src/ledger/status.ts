/**
 * The five statuses of an operation.
 *
 * @module
 */

/** Every status, in the order in which an operation may pass through them. */
export const statuses = ["IN_PROGRESS", "UNKNOWN", "NEEDS_REVIEW", "DONE", "FAILED"] as const;

/**
 * - `IN_PROGRESS`: an acquisition owns it until its lease ends.
 * - `UNKNOWN`: a request may have been sent; whether the effect exists isn't known.
 * - `NEEDS_REVIEW`: a person has to decide.
 * - `DONE`: the effect exists. - `FAILED`: it does not, and never will.
 */
export type Status = (typeof statuses)[number];

/** DONE and FAILED never change, but by an audited incident (R14). */
export function isTerminal(status: Status): boolean {
  return status === "DONE" || status === "FAILED";
}
