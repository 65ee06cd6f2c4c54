/**
 * Stripe: refunds, payment intents and transfers (API v1), over the official `stripe` package.
 *
 * Stripe keeps the first answer of a key for at least 24 hours, errors of an execution included, so a
 * resend can't double anything; a saved 500 stays a 500, and then the list of resources decides
 * (https://docs.stripe.com/api/idempotent_requests). The operation's key is in `metadata` from the
 * first attempt on, since Stripe compares parameters.
 *
 * @module
 */
import type Stripe from "stripe";
import { type AdapterParts, difference } from "./shared/adapter.ts";
import { type StripeOptions, idOf, stripeTool } from "./shared/stripe-tool.ts";

export type { StripeOptions } from "./shared/stripe-tool.ts";

/** What is kept of a refund. */
export interface StripeRefund {
  readonly id: string;
  readonly status: string | null;
  readonly amount: number;
  readonly currency: string;
  readonly paymentIntent: string | null;
  readonly charge: string | null;
}

/**
 * A tool that refunds a charge or payment intent. Stripe has no search for refunds, so `request` must
 * name `payment_intent` or `charge`: by it they are listed.
 *
 * @throws {NeverTwiceError} TOOL_INVALID when the instance can't be used as it is.
 *
 * @example
 * const refund = defineTool({
 *   name: "issue_refund",
 *   kind: "non-idempotent",
 *   arguments: z.object({ paymentIntent: z.string(), amountMinor: z.int(), reason: z.string() }),
 *   intent: ({ args, trusted }) => `refund:${args.paymentIntent}:ticket-${trusted.ticketId}`,
 *   businessArguments: ["paymentIntent", "amountMinor"],
 *   ...(await stripeRefund(stripe, {
 *     request: (args: { paymentIntent: string; amountMinor: number }) => ({
 *       payment_intent: args.paymentIntent,
 *       amount: args.amountMinor,
 *     }),
 *     timeoutMs: 30_000,
 *     flightMs: 120_000,
 *   })),
 * });
 */
export async function stripeRefund<Args>(
  stripe: Stripe,
  options: StripeOptions<Args, Stripe.RefundCreateParams>,
): Promise<AdapterParts<Args, StripeRefund>> {
  return stripeTool(stripe, options, {
    create: (params, how) => stripe.refunds.create(params, how),
    list: ({ payment_intent, charge }, page, how) => {
      if (payment_intent === undefined && charge === undefined)
        throw new Error("a refund is found by its payment intent or charge, and neither is given");
      const by = payment_intent === undefined ? { charge } : { payment_intent };
      return stripe.refunds.list({ ...by, ...page } as Stripe.RefundListParams, how);
    },
    resultOf: ({ id, status, amount, currency, payment_intent, charge }) => ({
      id,
      status,
      amount,
      currency,
      paymentIntent: idOf(payment_intent),
      charge: idOf(charge),
    }),
    statusOf: ({ status }) => {
      if (status === "succeeded") return "succeeded";
      return status === "failed" || status === "canceled" ? "failed" : "pending";
    },
    differenceOf: (asked, found) =>
      difference({
        amount: [asked.amount, found.amount],
        payment_intent: [asked.payment_intent, idOf(found.payment_intent)],
        charge: [asked.charge, idOf(found.charge)],
      }),
  });
}

/** What is kept of a payment intent. Its client secret is not: retrieve it when you need it. */
export interface StripePaymentIntent {
  readonly id: string;
  readonly status: string;
  readonly amount: number;
  readonly currency: string;
  readonly customer: string | null;
  readonly latestCharge: string | null;
}

/**
 * A tool that creates a payment intent, and confirms it where `request` says so. With a `customer` the
 * look-up reads that customer's list only; without one it reads the account's newest 2,000.
 *
 * @throws {NeverTwiceError} TOOL_INVALID when the instance can't be used as it is.
 */
export async function stripePaymentIntent<Args>(
  stripe: Stripe,
  options: StripeOptions<Args, Stripe.PaymentIntentCreateParams>,
): Promise<AdapterParts<Args, StripePaymentIntent>> {
  return stripeTool(stripe, options, {
    create: (params, how) => stripe.paymentIntents.create(params, how),
    list: ({ customer }, page, how) =>
      stripe.paymentIntents.list({ ...(customer === undefined ? {} : { customer }), ...page }, how),
    resultOf: ({ id, status, amount, currency, customer, latest_charge }) => ({
      id,
      status,
      amount,
      currency,
      customer: idOf(customer),
      latestCharge: idOf(latest_charge),
    }),
    statusOf: ({ status, last_payment_error }) => {
      if (status === "processing") return "pending";
      const declined = status === "requires_payment_method" && last_payment_error !== null;
      return status === "canceled" || declined ? "failed" : "succeeded";
    },
    differenceOf: (asked, found) =>
      difference({
        amount: [asked.amount, found.amount],
        currency: [asked.currency.toLowerCase(), found.currency],
        customer: [asked.customer, idOf(found.customer)],
      }),
  });
}

/** What is kept of a transfer. */
export interface StripeTransfer {
  readonly id: string;
  readonly amount: number;
  readonly currency: string;
  readonly destination: string | null;
  readonly transferGroup: string | null;
}

/**
 * A tool that transfers to a connected account. The look-up lists by `destination`.
 *
 * @throws {NeverTwiceError} TOOL_INVALID when the instance can't be used as it is.
 */
export async function stripeTransfer<Args>(
  stripe: Stripe,
  options: StripeOptions<Args, Stripe.TransferCreateParams>,
): Promise<AdapterParts<Args, StripeTransfer>> {
  return stripeTool(stripe, options, {
    create: (params, how) => stripe.transfers.create(params, how),
    list: ({ destination }, page, how) => stripe.transfers.list({ destination, ...page }, how),
    resultOf: ({ id, amount, currency, destination, transfer_group }) => ({
      id,
      amount,
      currency,
      destination: idOf(destination),
      transferGroup: transfer_group,
    }),
    statusOf: () => "succeeded",
    differenceOf: (asked, found) =>
      difference({
        amount: [asked.amount, found.amount],
        currency: [asked.currency.toLowerCase(), found.currency],
        destination: [asked.destination, idOf(found.destination)],
      }),
  });
}
