/**
 * Contracts of payment providers that take cards and the like.
 *
 * @module
 */
import { days, hours } from "../../../base/duration.ts";
import { declareProvider } from "../shared/declare-provider.ts";
import type { ProviderContract } from "../shared/provider-contract.ts";

const checkedOn = "2026-12-02";

/** Square payments and refunds. */
export const square = declareProvider({
  name: "square",
  title: "Square",
  covers: "payments and refunds; other endpoints take longer keys",
  kind: "replay",
  key: {
    transport: "body",
    field: "idempotency_key",
    maxLength: 45,
    scope: "endpoint",
    mismatch: { status: 400, code: "IDEMPOTENCY_KEY_REUSED" },
    replay: { status: 200, note: "the existing resource" },
  },
  lookUp: {
    by: "the payment's refund_ids, matched by reason; eventually consistent, several seconds",
  },
  tag: { field: "reason (refunds), reference_id (payments)", maxLength: 192 },
  uncertain: ["key.retentionMs", "key.scope", "key.inFlight", "key.replay", "lookUp.lagMs"],
  sources: [
    { url: "https://github.com/square/connect-api-specification", asOf: "2025-08" },
    { url: "https://developer.squareup.com/forums/t/28303" },
  ],
  checkedOn,
  notes: [
    "How long keys are kept is not published.",
    "POST /v2/payments/cancel cancels a payment by its idempotency key.",
    "reference_id has 40 characters: it takes the key as a UUID, not as 64 hex digits. Refunds have none.",
  ],
});

/** Adyen Checkout. */
export const adyen = declareProvider({
  name: "adyen",
  title: "Adyen",
  covers: "Checkout and other POSTs",
  kind: "replay",
  key: {
    transport: "header",
    field: "Idempotency-Key",
    maxLength: 64,
    retentionMs: days(7),
    scope: "company account, per regional endpoint",
    inFlight: { status: 409, code: "704", note: "perhaps 422" },
  },
  tag: { field: "reference", maxLength: 80 },
  uncertain: ["key.mismatch", "key.inFlight", "key.atomic", "key.afterError"],
  sources: [
    { url: "https://docs.adyen.com/development-resources/api-idempotency" },
    { url: "https://docs.adyen.com/development-resources/response-handling" },
    { url: "https://github.com/Adyen/adyen-openapi" },
  ],
  checkedOn,
  notes: [
    "At least 7 days; an older page said 31.",
    "There is no GET by reference: webhooks and reports carry merchantReference.",
    "transient-error: true in an answer asks for the same key again.",
    "A refund is received at first; a webhook tells what became of it.",
  ],
});

/** Braintree: no key. */
export const braintree = declareProvider({
  name: "braintree",
  title: "Braintree",
  covers: "transactions",
  kind: "look-up-only",
  lookUp: { by: "transaction search by order id" },
  tag: { field: "orderId", maxLength: 255 },
  uncertain: ["tag.maxLength", "lookUp.lagMs"],
  sources: [
    { url: "https://developer.paypal.com/braintree/docs/guides/transactions/duplicate-checking" },
  ],
  checkedOn,
  notes: [
    "The duplicate check (30 s by default, on amount, order id, payment method …) can be off: never lean on it.",
  ],
});

/** Mollie. */
export const mollie = declareProvider({
  name: "mollie",
  title: "Mollie",
  covers: "every POST: payments, refunds …",
  kind: "replay",
  key: {
    transport: "header",
    field: "Idempotency-Key",
    uuidVersion: 4,
    retentionMs: hours(1),
    scope: "the endpoint is compared",
    mismatch: { status: 400 },
    inFlight: { status: 409 },
    replay: { header: "Idempotent-Replayed: true" },
    atomic: true,
  },
  lookUp: { by: "list of a payment's refunds, matched by metadata" },
  tag: { field: "metadata", maxLength: 1024 },
  uncertain: ["key.maxLength", "key.afterError", "lookUp.lagMs", "tag.maxLength"],
  sources: [{ url: "https://github.com/mollie/api-documentation", asOf: "2024-03" }],
  checkedOn,
  notes: ["One hour is short: after a doubt mostly the look-up decides."],
});

/** Razorpay refunds. */
export const razorpayRefunds = declareProvider({
  name: "razorpay-refunds",
  title: "Razorpay refunds",
  covers: "refunds",
  kind: "replay",
  key: {
    transport: "header",
    field: "X-Refund-Idempotency",
    minLength: 10,
    charset: "[A-Za-z0-9_-]",
    scope: "API",
    mismatch: { code: "BAD_REQUEST_ERROR" },
    inFlight: { status: 409 },
    atomic: true,
    afterError: "replays",
    replaysDeclines: true,
  },
  lookUp: { by: "a payment's refunds, matched by receipt or notes" },
  tag: { field: "notes", maxLength: 256 },
  uncertain: ["key.retentionMs", "lookUp.lagMs"],
  sources: [{ url: "https://github.com/razorpay/markdown-docs" }],
  checkedOn,
  notes: ["A key that failed stays failed."],
});

/** Razorpay payouts. */
export const razorpayPayouts = declareProvider({
  name: "razorpay-payouts",
  title: "Razorpay payouts and transfers",
  covers: "payouts (the key is mandatory) and transfers (X-Transfer-Idempotency)",
  kind: "replay",
  key: {
    transport: "header",
    field: "X-Payout-Idempotency",
    minLength: 4,
    maxLength: 36,
    charset: "[A-Za-z0-9_ -]",
    scope: "API",
    mismatch: { code: "BAD_REQUEST_ERROR" },
    inFlight: { status: 409 },
    atomic: true,
    afterError: "replays",
    replaysDeclines: true,
  },
  lookUp: { by: "list of payouts, filtered by reference_id" },
  tag: { field: "reference_id", maxLength: 40 },
  uncertain: ["key.retentionMs", "lookUp.lagMs"],
  sources: [{ url: "https://github.com/razorpay/markdown-docs" }],
  checkedOn,
  notes: ["How long keys are kept is not stated: “until processed or failed”."],
});

/** Checkout.com. */
export const checkout = declareProvider({
  name: "checkout",
  title: "Checkout.com",
  covers: "payments, captures, refunds, voids",
  kind: "replay",
  key: {
    transport: "header",
    field: "Cko-Idempotency-Key",
    retentionMs: hours(24),
    inFlight: { status: 409, note: "wait at least 30 s" },
    atomic: true,
    afterError: "not-saved",
  },
  lookUp: { by: "GET /payments by reference" },
  tag: { field: "reference" },
  uncertain: ["key.mismatch", "lookUp.lagMs"],
  sources: [{ url: "https://www.checkout.com/docs", asOf: "2026-01" }],
  checkedOn,
  notes: ["Only 2xx is kept: after an error the same key runs the request again."],
});

/** Shopify's Admin API in GraphQL. */
export const shopify = declareProvider({
  name: "shopify",
  title: "Shopify Admin API",
  covers: "GraphQL mutations that take the @idempotent directive: refundCreate, inventory …",
  kind: "replay",
  key: {
    transport: "directive",
    field: "@idempotent(key:)",
    shape: "uuid",
    uuidVersion: 5,
    maxLength: 36,
    retentionMs: hours(24),
    mismatch: { status: 200, code: "IDEMPOTENCY_KEY_PARAMETER_MISMATCH" },
    inFlight: { status: 200, code: "IDEMPOTENCY_CONCURRENT_REQUEST" },
    replay: { note: "built from the state of today" },
    atomic: true,
    afterError: "burnt",
  },
  lookUp: { by: "the order's refunds, matched by the end of their note" },
  tag: { field: "note" },
  uncertain: ["key.retentionMs", "key.replay", "key.afterError", "lookUp.lagMs"],
  sources: [
    { url: "https://shopify.dev/docs/api/usage/implementing-idempotency" },
    { url: "https://shopify.dev/changelog", asOf: "2025-12" },
  ],
  checkedOn,
  notes: [
    "Mandatory for refundCreate and inventory mutations from API version 2026-04.",
    "The SDK drops `retries: 0` of a call.",
  ],
});

/** Payment providers. */
export const paymentContracts: readonly ProviderContract[] = [
  square,
  adyen,
  braintree,
  mollie,
  razorpayRefunds,
  razorpayPayouts,
  checkout,
  shopify,
];
