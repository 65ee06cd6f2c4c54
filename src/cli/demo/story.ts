/**
 * The story's facts, and what the stand-in for a model says. Only the faults and these words are
 * scripted; every answer comes from a real process.
 *
 * @module
 */

/** What the agent decides. Only ids and money matter to the business; the reason is free text. */
export interface Decision {
  readonly orderId: string;
  readonly amountMinor: number;
  readonly currency: string;
  readonly reason: string;
}

export const tenant = "acme";
export const ticketId = "5521";
export const orderId = "8812";
export const amountMinor = 48_000;
export const currency = "EUR";

/** A model that reads the same text twice finds other words. */
const readings = ["Parcel arrived broken", "The item was damaged on arrival"] as const;

/** The agent reads the complaint, for the first or for the second time. */
export function decide(reading: 1 | 2): Decision {
  return { orderId, amountMinor, currency, reason: readings[reading - 1] ?? readings[0] };
}

/** `€480.00`. */
export function money(minor: number): string {
  return new Intl.NumberFormat("en-IE", { style: "currency", currency }).format(minor / 100);
}
