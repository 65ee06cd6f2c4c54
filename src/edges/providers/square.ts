/**
 * Square: refunds of payments, over the official `square` package.
 *
 * How long Square keeps an `idempotency_key` is not published, so a refund is sent once. A refund has no
 * field for a reference: the operation's key stands at the end of its `reason`, which staff can see. After
 * a doubt the payment's `refund_ids` are read one by one
 * (https://developer.squareup.com/reference/square/objects/Payment).
 *
 * @module
 */
import type { Square, SquareClient } from "square";
import type { ErrorClass, FoundEffect, LookUpAnswer } from "../../guard/contract.ts";
import { square } from "./contracts/payments.ts";
import {
  type AdapterOptions,
  type AdapterParts,
  classifyFailed,
  difference,
  findTagged,
  isObject,
  tagName,
  unlessFailed,
} from "./shared/adapter.ts";
import { contractParts, lookUpFacts, refuseProvider } from "./shared/contract-parts.ts";
import { checkOwnMethods } from "./shared/own-methods.ts";
import { type SendGate, sendOnce } from "./shared/send-once.ts";

/** A refund of a payment at Square. The key is the adapter's, and takes 80 of the reason's characters. */
export type SquareRefundRequest = Omit<
  Square.RefundPaymentRequest,
  "idempotencyKey" | "paymentId" | "unlinked"
> & { readonly paymentId: string };

/** What is kept of a refund. */
export interface SquareRefund {
  readonly id: string;
  readonly status: string | null;
  /** In the currency's smallest unit. */
  readonly amountMinor: number;
  readonly currency: string | null;
}

type Refunds = SquareClient["refunds"];

/**
 * A tool that refunds a payment.
 *
 * @throws {NeverTwiceError} TOOL_INVALID when the client has no access token.
 */
export async function squareRefund<Args>(
  client: SquareClient,
  options: AdapterOptions<Args, SquareRefundRequest>,
): Promise<AdapterParts<Args, SquareRefund>> {
  const { request, ...bounds } = options;
  const inner = await checkedOptions(client);
  return {
    contract: {
      ...contractParts(square, bounds),
      classify: classifyFailed(classify),
      providerId: ({ id }) => id,
      lookUp: {
        ...lookUpFacts(square),
        find: ({ arguments: args, key, signal }) => findRefund(client, request(args), key, signal),
      },
    },
    execute: async (args, call) => {
      const { refund } = await sendOnce(call, (gate) => {
        const asked = request(args);
        return refundsOnce(client, inner, gate).refundPayment(
          { ...asked, reason: taggedReason(asked.reason, call.key), idempotencyKey: call.wireKey },
          { abortSignal: call.signal, maxRetries: 0 },
        );
      });
      if (typeof refund?.id !== "string") throw new Error("Square's answer holds no refund");
      return refundOf(unlessFailed(refund, statusOf(refund)));
    },
  };
}

/** What the SDK keeps of its options. */
interface InnerOptions {
  readonly fetch?: typeof fetch;
  readonly fetcher?: unknown;
  readonly authProvider?: { getAuthRequest(): Promise<unknown> };
}

async function checkedOptions(client: SquareClient): Promise<InnerOptions> {
  // oxlint-disable-next-line no-underscore-dangle -- The SDK's own name.
  const inner = (client?.refunds as unknown as { _options?: InnerOptions } | undefined)?._options;
  const reason = "it needs a SquareClient of the square package (46) with a token";
  if (inner?.authProvider === undefined) return refuseProvider(square.title, reason);
  // It takes the place of everything in which a send can be counted.
  if (inner.fetcher !== undefined)
    return refuseProvider(square.title, "a client with a `fetcher` can't be held to one send");
  checkOwnMethods(square.title, client.refunds, ["refundPayment"]);
  await inner.authProvider.getAuthRequest().catch(() => refuseProvider(square.title, reason));
  return inner;
}

/** The same resource with a gate in its fetch. A redirect would be a second send, so it is none. */
function refundsOnce({ refunds }: SquareClient, inner: InnerOptions, gate: SendGate): Refunds {
  const send = inner.fetch ?? fetch;
  const gated: typeof fetch = async (url, init) => {
    gate.pass();
    try {
      return await send(url, { ...init, redirect: "manual" });
    } catch (error) {
      gate.failed(error);
      throw error;
    }
  };
  return Object.create(refunds, {
    _options: { value: { ...inner, fetch: gated, maxRetries: 0 } },
  }) as Refunds;
}

function markerOf(key: string): string {
  return `${tagName}:${key}`;
}

/** @throws when the reason and the key together are longer than Square's 192 characters. */
function taggedReason(reason: string | null | undefined, key: string): string {
  const tagged = [reason ?? "", markerOf(key)].join(" ").trimStart();
  if (tagged.length <= 192) return tagged;
  throw new Error("the reason is longer than 112 characters, and the key doesn't fit behind it");
}

async function findRefund(
  client: SquareClient,
  { paymentId, amountMoney }: SquareRefundRequest,
  key: string,
  abortSignal: AbortSignal,
): Promise<LookUpAnswer<SquareRefund>> {
  const { payment } = await client.payments.get({ paymentId }, { abortSignal });
  if (payment?.id !== paymentId) throw new Error("Square's answer doesn't hold the payment");
  async function* pages(): AsyncGenerator<readonly Square.PaymentRefund[]> {
    const refunds: Square.PaymentRefund[] = [];
    for (const refundId of payment?.refundIds ?? []) {
      const { refund } = await client.refunds.get({ refundId }, { abortSignal });
      if (refund?.id !== refundId) throw new Error("Square's answer doesn't hold the refund");
      refunds.push(refund);
    }
    yield refunds;
  }
  return findTagged(pages(), {
    isOurs: ({ reason }) => reason?.split(" ").at(-1) === markerOf(key),
    effectOf: (refund) => ({
      status: statusOf(refund),
      result: refundOf(refund),
      providerId: refund.id,
      ...difference({
        paymentId: [paymentId, refund.paymentId],
        amount: [amountMoney.amount, refund.amountMoney.amount],
        currency: [amountMoney.currency, refund.amountMoney.currency],
      }),
    }),
  });
}

function statusOf({ status }: Square.PaymentRefund): FoundEffect<SquareRefund>["status"] {
  if (status === "COMPLETED") return "succeeded";
  return status === "FAILED" || status === "REJECTED" ? "failed" : "pending";
}

function refundOf({ id, status, amountMoney }: Square.PaymentRefund): SquareRefund {
  const { amount, currency } = amountMoney ?? {};
  return { id, status: status ?? null, amountMinor: Number(amount), currency: currency ?? null };
}

/**
 * By status and category (https://developer.squareup.com/reference/square/objects/ErrorCategory).
 * `REFUND_ERROR` only says that something went wrong with a refund.
 */
const errorClasses: Readonly<Record<string, ErrorClass>> = {
  "400 INVALID_REQUEST_ERROR": "refused",
  "401 AUTHENTICATION_ERROR": "not-executed",
  "403 AUTHENTICATION_ERROR": "not-executed",
  "404 INVALID_REQUEST_ERROR": "refused",
  "429 RATE_LIMIT_ERROR": "not-executed",
};

/** Refusals among the refund errors (https://developer.squareup.com/reference/square/enums/ErrorCode). */
const refusedCodes: ReadonlySet<unknown> = new Set([
  "PAYMENT_NOT_REFUNDABLE",
  "PAYMENT_NOT_REFUNDABLE_DUE_TO_DISPUTE",
  "REFUND_AMOUNT_INVALID",
]);

function classify(error: unknown): ErrorClass {
  const { statusCode, body } = (error ?? {}) as { statusCode?: number; body?: unknown };
  const { errors } = (body ?? {}) as { errors?: unknown };
  if (!Array.isArray(errors) || errors.length !== 1) return "unknown";
  const [first] = errors as readonly unknown[];
  if (!isObject(first)) return "unknown";
  // The key was used with something else, so that something may have landed.
  if (first["code"] === "IDEMPOTENCY_KEY_REUSED") return "unknown";
  if (statusCode === 400 && refusedCodes.has(first["code"])) return "refused";
  return errorClasses[`${statusCode} ${String(first["category"])}`] ?? "unknown";
}
