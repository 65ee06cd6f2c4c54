/**
 * Stripe's contracts, API v1 and v2.
 *
 * @module
 */
import { days, hours } from "../../../base/duration.ts";
import { declareProvider } from "../shared/declare-provider.ts";

const checkedOn = "2026-12-02";

/** POST of the API v1. */
export const stripeV1 = declareProvider({
  name: "stripe",
  title: "Stripe",
  covers: "every POST of the API v1: refunds, payment intents, transfers …",
  kind: "replay",
  key: {
    transport: "header",
    field: "Idempotency-Key",
    maxLength: 255,
    retentionMs: hours(24),
    scope: "account and mode or sandbox; the endpoint is compared",
    mismatch: { status: 400, code: "idempotency_error" },
    inFlight: { status: 409, code: "idempotency_key_in_use" },
    replay: { header: "Idempotent-Replayed: true" },
    atomic: true,
    afterError: "replays",
    replaysDeclines: true,
  },
  lookUp: {
    by: "top-level lists (refunds by payment_intent or charge), matched by metadata",
    lagMs: 0,
  },
  tag: { field: "metadata", maxLength: 500 },
  sdkMintsKey: true,
  uncertain: ["key.scope", "key.mismatch"],
  sources: [
    { url: "https://docs.stripe.com/api/idempotent_requests" },
    { url: "https://docs.stripe.com/error-low-level" },
    { url: "https://docs.stripe.com/metadata", asOf: "2025-03" },
    // That top-level lists of the API v1 show a resource at once.
    { url: "https://docs.stripe.com/api-v2-overview", asOf: "2025-03" },
  ],
  checkedOn,
  notes: [
    "A saved 500 is replayed for as long as the key is kept: the list decides, then a person.",
    "Not saved: parameters that don't validate, 401, 409, 429.",
    "The search API lags by up to a minute or more; it is not used.",
    "stripe-node sends once more after a closed connection, also with maxNetworkRetries 0.",
  ],
});

/** POST and DELETE of the API v2. */
export const stripeV2 = declareProvider({
  name: "stripe-v2",
  title: "Stripe API v2",
  covers: "every POST and DELETE of the API v2",
  kind: "replay",
  key: {
    transport: "header",
    field: "Idempotency-Key",
    maxLength: 255,
    retentionMs: days(30),
    scope: "API and account or sandbox",
    replay: { note: "the response of today, not the stored one" },
    afterError: "re-executes",
  },
  lookUp: { by: "lists, matched by metadata; eventually consistent" },
  tag: { field: "metadata", maxLength: 500 },
  sdkMintsKey: true,
  uncertain: ["key.maxLength", "key.mismatch", "key.inFlight", "key.atomic", "lookUp.lagMs"],
  sources: [{ url: "https://docs.stripe.com/api-v2-overview", asOf: "2025-03" }],
  checkedOn,
  notes: [
    "Work that failed is run again under the same key; what can't succeed any more says why.",
  ],
});
