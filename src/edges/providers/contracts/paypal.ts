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
  lookUp: { by: "the refund by its id; the transaction report lags by up to 3 h", lagMs: hours(3) },
  tag: { field: "custom_id", maxLength: 127, charset: "[A-Za-z0-9-_.,]" },
  uncertain: [...common.uncertain, "key.maxLength"],
  notes: [note],
});

/** Payouts. */
export const paypalPayouts = declareProvider({
  ...common,
  name: "paypal-payouts",
  title: "PayPal payouts",
  covers: "payouts v1: batches",
  kind: "pointer",
  key: { ...key, minLength: 1, maxLength: 1000, retentionMs: days(30) },
  lookUp: { by: "the payout to which the refusal of a reused sender_batch_id links" },
  tag: { field: "sender_batch_header.sender_batch_id", maxLength: 256 },
  notes: [note, "A sender_batch_id is refused again for 30 days, with a link to the first payout."],
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
