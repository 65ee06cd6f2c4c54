/**
 * PayPal's contracts. Retention differs from API to API, so each has one of its own.
 *
 * @module
 */
import { days, hours } from "../../../base/duration.ts";
import { type ProviderDeclaration, declareProvider } from "../shared/declare-provider.ts";
import type { ProviderContract } from "../shared/provider-contract.ts";

const common = {
  kind: "replay",
  sources: [
    { url: "https://developer.paypal.com/reference/guidelines/idempotency" },
    { url: "https://github.com/paypal/paypal-rest-api-specifications", asOf: "2024-02" },
  ],
  checkedOn: "2026-12-02",
  uncertain: ["key.scope", "key.mismatch", "key.atomic", "key.afterError"],
} as const satisfies Partial<ProviderDeclaration>;

const key = {
  transport: "header",
  field: "PayPal-Request-Id",
  scope: "account and API",
  inFlight: {
    code: "PREVIOUS_REQUEST_IN_PROGRESS",
    note: "processes the first and might fail the second",
  },
  replay: { note: "the latest status, not the old response" },
} as const;

const note = "Without the header PayPal duplicates the request.";

/** Orders v2. */
export const paypalOrders = declareProvider({
  ...common,
  name: "paypal-orders",
  title: "PayPal orders",
  covers: "orders v2: create, capture, authorize",
  key: { ...key, minLength: 1, maxLength: 108, retentionMs: hours(6) },
  lookUp: { by: "the order by its id; there is no search by key" },
  tag: { field: "purchase_units[].custom_id", maxLength: 127 },
  notes: [note, "72 hours on request."],
});

/** Captures and refunds, payments v2. */
export const paypalPayments = declareProvider({
  ...common,
  name: "paypal-payments",
  title: "PayPal captures and refunds",
  covers: "payments v2: captures, authorizations, refunds",
  key: { ...key, maxLength: 108, retentionMs: days(45) },
  lookUp: { by: "the refunds of the capture's order, matched by custom_id" },
  tag: { field: "custom_id", maxLength: 127, charset: "[A-Za-z0-9-_.,]" },
  uncertain: [...common.uncertain, "key.maxLength", "lookUp.lagMs"],
  notes: [
    note,
    "A capture that belongs to no order lists its refunds nowhere; the transaction report lags by up to 3 h.",
  ],
});

/** Payouts. */
export const paypalPayouts = declareProvider({
  ...common,
  name: "paypal-payouts",
  title: "PayPal payouts",
  covers: "payouts v1: batches",
  kind: "pointer",
  key: {
    transport: "body",
    field: "sender_batch_header.sender_batch_id",
    maxLength: 256,
    retentionMs: days(30),
    scope: "account",
    replay: { code: "USER_BUSINESS_ERROR", note: "refused, with a link to the first batch" },
    atomic: true,
    afterError: "re-executes",
  },
  tag: { field: "sender_batch_header.sender_batch_id", maxLength: 256 },
  uncertain: ["key.scope", "key.mismatch", "key.inFlight", "key.replay"],
  sources: [
    { url: "https://developer.paypal.com/api/payments.payouts-batch/v1/payouts-post" },
    ...common.sources,
  ],
  notes: [
    "A payment is completed only once for a sender_batch_id that is used within 30 days; after a 5xx the same one may be sent again.",
    "There is no look-up by sender_batch_id but the link in the refusal; the batch's items are compared.",
  ],
});

/** Subscriptions and catalogue. */
export const paypalSubscriptions = declareProvider({
  ...common,
  name: "paypal-subscriptions",
  title: "PayPal subscriptions and products",
  covers: "subscriptions v1 and catalogue products",
  key: { ...key, retentionMs: hours(72) },
  lookUp: { by: "the subscription by its id" },
  tag: { field: "custom_id", maxLength: 127 },
  notes: [note],
});

/** Vault and web profiles. */
export const paypalVault = declareProvider({
  ...common,
  name: "paypal-vault",
  title: "PayPal vault",
  covers: "vault v3 and web profiles",
  key: { ...key, retentionMs: hours(3) },
  notes: [note],
});

/** All of PayPal. */
export const paypalContracts: readonly ProviderContract[] = [
  paypalOrders,
  paypalPayments,
  paypalPayouts,
  paypalSubscriptions,
  paypalVault,
];
