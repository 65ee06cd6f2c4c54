/**
 * Adyen: refunds of captured payments, over the official `@adyen/api-library` package.
 *
 * Adyen keeps a key for at least 7 days (https://docs.adyen.com/development-resources/api-idempotency), but
 * what it keeps of an error is not published, so a refund is sent once. Nothing looks a refund up by its
 * reference: after a doubt a person decides, with the webhook or report that carries the reference, which
 * is the operation's key.
 *
 * @module
 */
import type { CheckoutAPI, Types } from "@adyen/api-library";
import type { ErrorClass } from "../../guard/contract.ts";
import { adyen } from "./contracts/payments.ts";
import { type AdapterOptions, type AdapterParts, isObject } from "./shared/adapter.ts";
import { contractParts, refuseProvider } from "./shared/contract-parts.ts";
import { type SendGate, sendOnce } from "./shared/send-once.ts";

type Refund = Types.checkout.PaymentRefundRequest;
type Modifications = CheckoutAPI["ModificationsApi"];

/** A refund of a payment. The reference is the adapter's. */
export type AdyenRefundRequest = Omit<Refund, "reference" | "amount"> & {
  /** The `pspReference` of the payment. */
  readonly paymentPspReference: string;
  /** In the currency's smallest unit. */
  readonly amount: { readonly currency: string; readonly value: number };
};

/** What is kept of a refund. Adyen has received it: its webhook tells what became of it. */
export interface AdyenRefund {
  readonly pspReference: string;
  readonly status: string;
}

/**
 * A tool that refunds a captured payment. It is done when Adyen has received the refund.
 *
 * @throws {NeverTwiceError} TOOL_INVALID when the client has no credentials.
 */
export async function adyenRefund<Args>(
  checkout: CheckoutAPI,
  options: AdapterOptions<Args, AdyenRefundRequest>,
): Promise<AdapterParts<Args, AdyenRefund>> {
  const { request, ...bounds } = options;
  checkCredentials(checkout);
  return {
    contract: {
      ...contractParts(adyen, bounds),
      classify,
      providerId: ({ pspReference }) => pspReference,
    },
    execute: async (args, call) => {
      const { pspReference, status, reference } = await sendOnce(call, (gate) => {
        const { paymentPspReference, ...asked } = request(args);
        // oxlint-disable-next-line typescript/no-unsafe-class-instance-assignment -- Only data to the SDK.
        const refund = { ...asked, reference: call.key } as Refund;
        return modificationsOnce(checkout, gate).refundCapturedPayment(
          paymentPspReference,
          refund,
          { idempotencyKey: call.wireKey, signal: call.signal },
        );
      });
      if (typeof pspReference !== "string" || reference !== call.key)
        throw new Error("Adyen's answer doesn't hold the refund");
      return { pspReference, status };
    },
  };
}

function checkCredentials(checkout: CheckoutAPI): void {
  const config = checkout?.client?.config;
  const isSet = (value: string | undefined): boolean => value !== undefined && value !== "";
  if (isSet(config?.apiKey) || (isSet(config?.username) && isSet(config?.password))) return;
  refuseProvider(adyen.title, "it needs a CheckoutAPI of @adyen/api-library with an API key");
}

/** The same service with a gate before its transport. A redirect would be a second send, so it is none. */
function modificationsOnce(
  { client, ModificationsApi }: CheckoutAPI,
  gate: SendGate,
): Modifications {
  const { config, httpClient } = client;
  const gated: typeof httpClient = {
    request: (endpoint, json, configured, needsKey, how) => {
      gate.pass();
      return httpClient.request(endpoint, json, configured, needsKey, how);
    },
  };
  const once: object = Object.create(client, {
    config: { value: Object.create(config, { enable308Redirect: { value: false } }) as object },
    httpClient: { value: gated },
  });
  return Object.create(ModificationsApi, { client: { value: once } }) as Modifications;
}

/**
 * By status and error type (https://docs.adyen.com/development-resources/response-handling and
 * https://docs.adyen.com/development-resources/error-codes).
 */
const errorClasses: Readonly<Record<string, ErrorClass>> = {
  "400 validation": "refused",
  "401 security": "not-executed",
  "403 security": "not-executed",
  "422 validation": "refused",
};

/** "Request already processed or in progress": it tells of an earlier request. */
const keyInUse = "704";

/** Only Adyen's own words count: a proxy's answer has neither code nor type. */
function classify(error: unknown): ErrorClass {
  const { apiError } = (error ?? {}) as { apiError?: unknown };
  if (!isObject(apiError)) return "unknown";
  const { status, errorCode, errorType } = apiError;
  if (typeof errorCode !== "string" || errorCode === keyInUse) return "unknown";
  return errorClasses[`${String(status)} ${String(errorType)}`] ?? "unknown";
}
