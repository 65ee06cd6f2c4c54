/**
 * Contracts of providers that move money between accounts, and of brokers.
 *
 * @module
 */
import { days, hours, minutes } from "../../../base/duration.ts";
import { declareProvider } from "../shared/declare-provider.ts";
import type { ProviderContract } from "../shared/provider-contract.ts";

const checkedOn = "2026-12-02";

/** GoCardless. */
export const gocardless = declareProvider({
  name: "gocardless",
  title: "GoCardless",
  covers: "every create: payments, refunds, mandates …",
  kind: "pointer",
  key: {
    transport: "header",
    field: "Idempotency-Key",
    maxLength: 128,
    mismatch: { status: 409, code: "idempotent_creation_conflict" },
    replay: {
      status: 409,
      code: "idempotent_creation_conflict",
      note: "links.conflicting_resource_id names the first resource",
    },
  },
  lookUp: { by: "the resource that the conflict names; refunds by payment" },
  tag: { field: "metadata", maxLength: 500 },
  sdkMintsKey: true,
  uncertain: ["key.maxLength", "key.retentionMs", "key.mismatch", "key.inFlight", "lookUp.lagMs"],
  sources: [{ url: "https://github.com/gocardless/gocardless-nodejs" }],
  checkedOn,
  notes: ["Three metadata pairs in all: one of them is ours."],
});

/** Modern Treasury. */
export const modernTreasury = declareProvider({
  name: "modern-treasury",
  title: "Modern Treasury",
  covers: "every POST: payment orders …",
  kind: "replay",
  key: {
    transport: "header",
    field: "Idempotency-Key",
    retentionMs: hours(24),
    scope: "API key, whatever the route",
    mismatch: { note: "not checked as documented: the first result, even of another route" },
    inFlight: { status: 409 },
    atomic: true,
    afterError: "not-saved",
  },
  lookUp: { by: "list of payment orders by external_id, metadata or reference_number" },
  tag: { field: "external_id" },
  sdkMintsKey: true,
  uncertain: ["lookUp.lagMs"],
  sources: [{ url: "https://docs.moderntreasury.com/reference/idempotent-requests" }],
  checkedOn,
  notes: [
    "Compare the answer with what was asked: a replay isn't checked against the request.",
    "A new API key forgets every idempotency key.",
  ],
});

/** Plaid Transfer: authorization and refund. */
export const plaidTransfer = declareProvider({
  name: "plaid-transfer",
  title: "Plaid Transfer",
  covers: "transfer/authorization/create, transfer/refund/create",
  kind: "replay",
  key: {
    transport: "body",
    field: "idempotency_key",
    maxLength: 50,
    retentionMs: hours(48),
  },
  lookUp: { by: "/transfer/get by authorization_id; refunds[] of the transfer" },
  tag: { field: "metadata", maxLength: 500 },
  uncertain: ["key.retentionMs", "key.mismatch", "key.inFlight", "key.afterError", "lookUp.lagMs"],
  sources: [{ url: "https://github.com/plaid/plaid-openapi" }],
  checkedOn,
  notes: [
    "48 hours are documented for authorizations; for refunds nothing is.",
    "transfer/create is identified by its authorization_id.",
    "The key is not applied when the decision is user_action_required.",
  ],
});

/** Plaid's wallets. */
export const plaidWallet = declareProvider({
  name: "plaid-wallet",
  title: "Plaid wallet",
  covers: "wallet/transaction/execute",
  kind: "replay",
  key: { transport: "body", field: "idempotency_key", maxLength: 128, retentionMs: hours(24) },
  uncertain: ["key.mismatch", "key.inFlight", "key.afterError"],
  sources: [{ url: "https://github.com/plaid/plaid-openapi" }],
  checkedOn,
  notes: ["Wait at least a minute before a resend."],
});

/** Wise transfers. */
export const wise = declareProvider({
  name: "wise",
  title: "Wise",
  covers: "transfers (balances take the header X-idempotence-uuid)",
  kind: "replay",
  key: {
    transport: "body",
    field: "customerTransactionId",
    maxLength: 36,
    replay: { note: "no second transfer" },
  },
  lookUp: { by: "list by profile, status and date only" },
  tag: { field: "details.reference" },
  uncertain: ["key.retentionMs", "key.mismatch", "key.inFlight", "lookUp.lagMs"],
  sources: [{ url: "https://docs.wise.com/api-reference/standard-transfer" }],
  checkedOn,
  notes: ["A quote makes one transfer at most.", "Funding is a second call, and a second intent."],
});

/** Increase. */
export const increase = declareProvider({
  name: "increase",
  title: "Increase",
  covers: "every create",
  kind: "pointer",
  key: {
    transport: "header",
    field: "Idempotency-Key",
    maxLength: 200,
    replay: {
      status: 409,
      code: "idempotency_key_already_used_error",
      header: "Idempotent-Replayed: true",
      note: "resource_id names the first resource",
    },
  },
  lookUp: { by: "every list, filtered by idempotency_key" },
  uncertain: ["key.retentionMs", "lookUp.lagMs"],
  sources: [{ url: "https://increase.com/documentation/idempotency-keys" }],
  checkedOn,
  notes: ["At most one object per key; no expiry is stated."],
});

/** Alpaca. */
export const alpaca = declareProvider({
  name: "alpaca",
  title: "Alpaca",
  covers: "orders and transfers",
  kind: "replay",
  key: {
    transport: "header",
    field: "Idempotency-Key",
    maxLength: 36,
    replay: { header: "Idempotency-Replayed: true" },
  },
  uncertain: [
    "key.field",
    "key.maxLength",
    "key.retentionMs",
    "key.mismatch",
    "key.inFlight",
    "key.replay",
  ],
  sources: [{ url: "https://docs.alpaca.markets" }],
  checkedOn,
  notes: ["The key is sent bare, without quotes."],
});

/** TrueLayer. */
export const truelayer = declareProvider({
  name: "truelayer",
  title: "TrueLayer",
  covers: "payments and payouts",
  kind: "replay",
  key: { transport: "header", field: "Idempotency-Key", retentionMs: days(30) },
  uncertain: ["key.field", "key.retentionMs", "key.mismatch", "key.inFlight"],
  sources: [{ url: "https://docs.truelayer.com" }],
  checkedOn,
});

/** Mangopay. */
export const mangopay = declareProvider({
  name: "mangopay",
  title: "Mangopay",
  covers: "every POST",
  kind: "replay",
  key: {
    transport: "header",
    field: "Idempotency-Key",
    minLength: 16,
    maxLength: 36,
    retentionMs: hours(24),
    inFlight: { status: 409 },
  },
  uncertain: [
    "key.field",
    "key.minLength",
    "key.maxLength",
    "key.retentionMs",
    "key.inFlight",
    "key.mismatch",
  ],
  sources: [{ url: "https://docs.mangopay.com" }],
  checkedOn,
});

/** Toss Payments. */
export const toss = declareProvider({
  name: "toss",
  title: "Toss Payments",
  covers: "every POST",
  kind: "replay",
  key: {
    transport: "header",
    field: "Idempotency-Key",
    maxLength: 300,
    retentionMs: days(15),
  },
  uncertain: ["key.field", "key.maxLength", "key.retentionMs", "key.mismatch", "key.inFlight"],
  sources: [{ url: "https://docs.tosspayments.com" }],
  checkedOn,
});

/** Qonto. */
export const qonto = declareProvider({
  name: "qonto",
  title: "Qonto",
  covers: "transfers",
  kind: "replay",
  key: {
    transport: "header",
    field: "X-Qonto-Idempotency-Key",
    retentionMs: minutes(30),
    mismatch: { note: "not checked: the first result, though the body differs" },
  },
  uncertain: ["key.field", "key.retentionMs", "key.mismatch", "key.inFlight"],
  sources: [{ url: "https://api-doc.qonto.com" }],
  checkedOn,
  notes: ["Compare the answer with what was asked."],
});

/** Column. */
export const column = declareProvider({
  name: "column",
  title: "Column",
  covers: "transfers",
  kind: "replay",
  key: { transport: "header", field: "Idempotency-Key" },
  uncertain: ["key.field", "key.retentionMs", "key.mismatch", "key.inFlight"],
  sources: [{ url: "https://column.com/docs" }],
  checkedOn,
});

/** Providers that move money between accounts. */
export const bankingContracts: readonly ProviderContract[] = [
  gocardless,
  modernTreasury,
  plaidTransfer,
  plaidWallet,
  wise,
  increase,
  alpaca,
  truelayer,
  mangopay,
  toss,
  qonto,
  column,
];
