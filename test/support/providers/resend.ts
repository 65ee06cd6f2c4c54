/**
 * Resend's counterpart: keys of 24 hours that keep what was sent, and no way to look an e-mail up.
 */
import { hours } from "../../../src/index.ts";
import { type Answer, Counterpart, type ProviderRules, json } from "./counterpart.ts";

const names: Readonly<Record<number, string>> = {
  400: "validation_error",
  401: "restricted_api_key",
  403: "invalid_api_key",
  404: "not_found",
  409: "concurrent_idempotent_requests",
  422: "missing_required_field",
  429: "rate_limit_exceeded",
};

function refusal(statusCode: number, name = names[statusCode] ?? "application_error"): Answer {
  return json(statusCode, { statusCode, name, message: "what Resend says" });
}

const rules: ProviderRules = {
  isCreate: ({ method, path }) => method === "POST" && path === "/emails",
  keyOf: ({ headers }) => headers["idempotency-key"],
  keys: {
    retentionMs: hours(24),
    saves: ({ status }) => status === 200,
    mismatch: refusal(409, "invalid_idempotent_request"),
    inFlight: refusal(409),
  },
  create: ({ body }, id) => ({
    resource: { id: `e-${id}`, ...(JSON.parse(body) as Record<string, unknown>) },
  }),
  show: ({ resource: { id } }) => json(200, { id }),
  refusal,
  look: () => refusal(404),
};

export function startResend(): Promise<Counterpart> {
  return Counterpart.start(rules);
}
