/**
 * Adyen: refunds, captures and cancellations of payments, over the official `@adyen/api-library` package.
 *
 * Adyen keeps a key for at least 7 days (https://docs.adyen.com/development-resources/api-idempotency), but
 * what it keeps of an error is not published, so a modification is sent once. Nothing looks one up by its
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
import { checkOwnMethods } from "./shared/own-methods.ts";
import { type SendGate, sendOnce } from "./shared/send-once.ts";

type Modifications = CheckoutAPI["ModificationsApi"];
type Refund = Types.checkout.PaymentRefundRequest;
type Capture = Types.checkout.PaymentCaptureRequest;
type Cancel = Types.checkout.PaymentCancelRequest;

/** Which payment, by its `pspReference`. */
interface Payment {
  readonly paymentPspReference: string;
}

/** In the currency's smallest unit. */
interface Amounted {
  readonly amount: { readonly currency: string; readonly value: number };
}

/** A refund of a payment. The reference is the adapter's. */
export type AdyenRefundRequest = Omit<Refund, "reference" | "amount"> & Payment & Amounted;

/** A capture of an authorised payment. The reference is the adapter's. */
export type AdyenCaptureRequest = Omit<Capture, "reference" | "amount"> & Payment & Amounted;

/** A cancellation of an authorised payment. The reference is the adapter's. */
export type AdyenCancelRequest = Omit<Cancel, "reference"> & Payment;

/** What is kept of a modification. Adyen has received it: its webhook tells what became of it. */
export interface AdyenModification {
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
): Promise<AdapterParts<Args, AdyenModification>> {
  return modification(checkout, options, (once, payment, body: Refund, how) =>
    once.refundCapturedPayment(payment, body, how),
  );
}

/**
 * A tool that captures an authorised payment. It is done when Adyen has received the capture.
 *
 * @throws {NeverTwiceError} TOOL_INVALID when the client has no credentials.
 */
export async function adyenCapture<Args>(
  checkout: CheckoutAPI,
  options: AdapterOptions<Args, AdyenCaptureRequest>,
): Promise<AdapterParts<Args, AdyenModification>> {
  return modification(checkout, options, (once, payment, body: Capture, how) =>
    once.captureAuthorisedPayment(payment, body, how),
  );
}

/**
 * A tool that cancels an authorised payment. It is done when Adyen has received the cancellation.
 *
 * @throws {NeverTwiceError} TOOL_INVALID when the client has no credentials.
 */
export async function adyenCancel<Args>(
  checkout: CheckoutAPI,
  options: AdapterOptions<Args, AdyenCancelRequest>,
): Promise<AdapterParts<Args, AdyenModification>> {
  return modification(checkout, options, (once, payment, body: Cancel, how) =>
    once.cancelAuthorisedPaymentByPspReference(payment, body, how),
  );
}

/** One call of the SDK. */
type Modify<Body> = (
  once: Modifications,
  payment: string,
  body: Body,
  how: { readonly idempotencyKey: string; readonly signal: AbortSignal },
) => Promise<{ pspReference?: unknown; status: string; reference?: string }>;

function modification<Args, Body>(
  checkout: CheckoutAPI,
  options: AdapterOptions<Args, Payment>,
  modify: Modify<Body>,
): AdapterParts<Args, AdyenModification> {
  const { request, ...bounds } = options;
  checkCheckout(checkout);
  return {
    contract: {
      ...contractParts(adyen, bounds),
      classify,
      providerId: ({ pspReference }) => pspReference,
    },
    execute: async (args, call) => {
      const { pspReference, status, reference } = await sendOnce(call, (gate) => {
        const { paymentPspReference, ...asked } = request(args);
        const body = { ...asked, reference: call.key } as Body;
        const how = { idempotencyKey: call.wireKey, signal: call.signal };
        return modify(modificationsOnce(checkout, gate), paymentPspReference, body, how);
      });
      if (typeof pspReference !== "string" || reference !== call.key)
        throw new Error("Adyen's answer doesn't hold the modification");
      return { pspReference, status };
    },
  };
}

function checkCheckout(checkout: CheckoutAPI): void {
  checkOwnMethods(adyen.title, checkout, ["ModificationsApi"]);
  checkOwnMethods(adyen.title, checkout?.ModificationsApi, [
    "refundCapturedPayment",
    "captureAuthorisedPayment",
    "cancelAuthorisedPaymentByPspReference",
  ]);
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
 * By status (https://docs.adyen.com/development-resources/response-handling: a 422 is a request that "is
 * well-formed, but semantically incorrect") and error type
 * (https://docs.adyen.com/development-resources/error-codes).
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
