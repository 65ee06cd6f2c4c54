/**
 * Stripe's counterpart: keys kept 24 h with the first answer of an execution, its 500 included; 429,
 * 401 and parameters that don't validate are not kept (https://docs.stripe.com/error-low-level).
 */
import { hours } from "../../../src/index.ts";
import { type Answer, Counterpart, type ProviderRules, json } from "./counterpart.ts";

const kinds: Readonly<Record<string, (form: URLSearchParams) => Record<string, unknown>>> = {
  "/v1/refunds": (form) => ({
    object: "refund",
    status: "succeeded",
    payment_intent: form.get("payment_intent"),
    charge: form.get("charge"),
    currency: "eur",
  }),
  "/v1/payment_intents": (form) => ({
    object: "payment_intent",
    status: "requires_confirmation",
    currency: form.get("currency")?.toLowerCase(),
    customer: form.get("customer"),
    latest_charge: null,
    last_payment_error: null,
    client_secret: "pi_secret_never_stored",
  }),
  "/v1/transfers": (form) => ({
    object: "transfer",
    currency: form.get("currency")?.toLowerCase(),
    destination: form.get("destination"),
    transfer_group: form.get("transfer_group"),
  }),
};

const prefixes: Readonly<Record<string, string>> = {
  "/v1/refunds": "re",
  "/v1/payment_intents": "pi",
  "/v1/transfers": "tr",
};

/** Statuses that answer before an execution begins, and so leave no trace under the key. */
export const stripeUnsaved: readonly number[] = [400, 401, 403, 404, 409, 429];

const rules: ProviderRules = {
  isCreate: ({ method, path }) => method === "POST" && path in kinds,
  keyOf: ({ headers }) => headers["idempotency-key"],
  keys: {
    retentionMs: hours(24),
    saves: ({ status }) => !stripeUnsaved.includes(status),
    replay: (answer) => ({
      ...answer,
      headers: { ...answer.headers, "idempotent-replayed": "true" },
    }),
    mismatch: stripeError(400, "idempotency_error"),
    inFlight: stripeError(409, "invalid_request_error", "idempotency_key_in_use"),
  },
  create: ({ path, body }, id) => {
    const form = new URLSearchParams(body);
    const metadata: Record<string, string> = {};
    for (const [name, value] of form) {
      const field = /^metadata\[(.+)\]$/.exec(name)?.[1];
      if (field !== undefined) metadata[field] = value;
    }
    const made = kinds[path]?.(form);
    const amount = Number(form.get("amount"));
    return { resource: { id: `${prefixes[path]}_${id}`, amount, metadata, ...made } };
  },
  show: ({ resource }) => json(200, resource, { "request-id": "req_1" }),
  refusal: (status, given) => {
    const [type, code] = stripeErrors[status] ?? ["api_error"];
    return stripeError(status, type, given ?? code);
  },
  look: ({ path, query }, visible) => {
    const shown = visible
      .map(({ resource }) => resource)
      .filter(({ id }) => String(id).startsWith(`${prefixes[path]}_`))
      .filter((resource) =>
        ["payment_intent", "charge", "customer", "destination"].every(
          (name) => !query.has(name) || resource[name] === query.get(name),
        ),
      )
      .toReversed();
    const after = shown.findIndex(({ id }) => id === query.get("starting_after")) + 1;
    const limit = Number(query.get("limit") ?? 10);
    const data = shown.slice(after, after + limit);
    return json(200, { object: "list", data, has_more: after + limit < shown.length });
  },
};

const stripeErrors: Readonly<Record<number, readonly [type: string, code?: string]>> = {
  400: ["invalid_request_error", "parameter_invalid_integer"],
  401: ["invalid_request_error"],
  402: ["card_error", "card_declined"],
  403: ["invalid_request_error"],
  404: ["invalid_request_error", "resource_missing"],
  409: ["invalid_request_error", "idempotency_key_in_use"],
  429: ["invalid_request_error", "rate_limit"],
};

function stripeError(status: number, type: string, code?: string): Answer {
  const error = { type, code, message: "what Stripe says" };
  return json(status, { error }, { "request-id": "req_1" });
}

export function startStripe(): Promise<Counterpart> {
  return Counterpart.start(rules);
}

/** The tag that a send carries. */
export function stripeTagOf(body: string): string | null {
  return new URLSearchParams(body).get("metadata[nevertwice_key]");
}
