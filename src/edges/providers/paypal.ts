/**
 * PayPal: refunds of captures, over the client of the official `@paypal/paypal-server-sdk` package.
 *
 * The `PayPal-Request-Id` is kept for 45 days, but what becomes of two requests at once is left in doubt
 * (https://developer.paypal.com/reference/guidelines/idempotency), so a refund is sent once; after a doubt
 * the refunds of the capture's order are read, and told by `custom_id`.
 *
 * @module
 */
import type { Client } from "@paypal/paypal-server-sdk";
import type { FoundEffect, LookUpAnswer } from "../../guard/contract.ts";
import { paypalPayments } from "./contracts/paypal.ts";
import {
  type AdapterOptions,
  type AdapterParts,
  classifyFailed,
  difference,
  findTagged,
  unlessFailed,
} from "./shared/adapter.ts";
import { contractParts, lookUpFacts } from "./shared/contract-parts.ts";
import { type PaypalApi, classifyPaypal, paypalApi } from "./shared/paypal-client.ts";
import { sendOnce } from "./shared/send-once.ts";

interface Money {
  readonly value: string;
  readonly currency_code: string;
}

/** A refund, in the names of the REST API. Without an amount it is a full one; `custom_id` is the adapter's. */
export interface PaypalRefundRequest {
  readonly captureId: string;
  readonly amount?: Money;
  readonly invoice_id?: string;
  readonly note_to_payer?: string;
  readonly payment_instruction?: object;
}

/** What is kept of a refund. */
export interface PaypalRefund {
  readonly id: string;
  readonly status: string | null;
  readonly amount: string | null;
  readonly currency: string | null;
}

/** A refund as PayPal shows it. */
interface ShownRefund {
  readonly id?: string;
  readonly status?: string;
  readonly custom_id?: string;
  readonly invoice_id?: string;
  readonly amount?: Money;
}

/** The capture as its order shows it, beside its refunds. */
interface ShownOrder {
  readonly purchase_units?: readonly {
    readonly payments?: {
      readonly captures?: readonly { readonly id?: string }[];
      readonly refunds?: readonly ShownRefund[];
    };
  }[];
}

/**
 * A tool that refunds a capture. Captures that belong to no order of the Orders API have no list of
 * refunds: after a doubt about one of them a person decides.
 *
 * @throws {NeverTwiceError} TOOL_INVALID when the client has no credentials.
 */
export async function paypalRefund<Args>(
  client: Client,
  options: AdapterOptions<Args, PaypalRefundRequest>,
): Promise<AdapterParts<Args, PaypalRefund>> {
  const { request, ...bounds } = options;
  const api = paypalApi(paypalPayments.title, client);
  return {
    contract: {
      ...contractParts(paypalPayments, bounds),
      classify: classifyFailed(classifyPaypal),
      providerId: ({ id }) => id,
      lookUp: {
        ...lookUpFacts(paypalPayments),
        find: ({ arguments: args, key, signal }) => findRefund(api, request(args), key, signal),
      },
    },
    execute: async (args, call) => {
      const refund: ShownRefund = await sendOnce(call, (gate) => {
        const { captureId, ...asked } = request(args);
        return api({
          method: "POST",
          path: `/v2/payments/captures/${encodeURIComponent(captureId)}/refund`,
          headers: { "PayPal-Request-Id": call.wireKey, Prefer: "return=representation" },
          body: { ...asked, custom_id: call.key },
          signal: call.signal,
          gate,
        });
      });
      if (typeof refund.id !== "string") throw new Error("PayPal's answer holds no refund");
      return refundOf(unlessFailed(refund, statusOf(refund)));
    },
  };
}

async function findRefund(
  api: PaypalApi,
  asked: PaypalRefundRequest,
  key: string,
  signal: AbortSignal,
): Promise<LookUpAnswer<PaypalRefund>> {
  const { captureId } = asked;
  const path = `/v2/payments/captures/${encodeURIComponent(captureId)}`;
  const capture = await api({ method: "GET", path, signal });
  const { related_ids } = (capture["supplementary_data"] ?? {}) as {
    related_ids?: { order_id?: string };
  };
  const orderId = related_ids?.order_id;
  if (orderId === undefined)
    return {
      answer: "unsure",
      reason: "the capture belongs to no order, so nothing lists refunds",
    };
  const orderPath = `/v2/checkout/orders/${encodeURIComponent(orderId)}`;
  const order: ShownOrder = await api({ method: "GET", path: orderPath, signal });
  const payments = (order.purchase_units ?? []).map((unit) => unit.payments);
  // An order that doesn't show its captures doesn't show its refunds either.
  if (!payments.some((shown) => shown?.captures?.some(({ id }) => id === captureId)))
    return { answer: "unsure", reason: "the order doesn't show the capture" };
  const refunds = payments.flatMap((shown) => shown?.refunds ?? []);
  return findTagged(onePage(refunds), {
    isOurs: ({ custom_id }) => custom_id === key,
    effectOf: (refund) => ({
      status: statusOf(refund),
      result: refundOf(refund),
      ...(refund.id === undefined ? {} : { providerId: refund.id }),
      ...difference({
        amount: [numberOf(asked.amount?.value), numberOf(refund.amount?.value)],
        currency: [asked.amount?.currency_code, refund.amount?.currency_code],
        invoice_id: [asked.invoice_id, refund.invoice_id],
      }),
    }),
  });
}

async function* onePage<Item>(items: readonly Item[]): AsyncGenerator<readonly Item[]> {
  yield items;
}

function numberOf(value: string | undefined): number | undefined {
  return value === undefined ? undefined : Number(value);
}

function statusOf({ status }: ShownRefund): FoundEffect<PaypalRefund>["status"] {
  if (status === "COMPLETED") return "succeeded";
  return status === "FAILED" || status === "CANCELLED" ? "failed" : "pending";
}

function refundOf({ id = "", status, amount }: ShownRefund): PaypalRefund {
  const { value = null, currency_code = null } = amount ?? {};
  return { id, status: status ?? null, amount: value, currency: currency_code };
}
