/**
 * Square's counterpart: keys that give the first refund again, and a payment that names its refunds.
 */
import { days } from "../../../src/index.ts";
import { type Answer, Counterpart, type ProviderRules, json } from "./counterpart.ts";

const categories: Readonly<Record<number, readonly [category: string, code: string]>> = {
  400: ["INVALID_REQUEST_ERROR", "MISSING_REQUIRED_PARAMETER"],
  401: ["AUTHENTICATION_ERROR", "UNAUTHORIZED"],
  402: ["REFUND_ERROR", "REFUND_DECLINED"],
  403: ["AUTHENTICATION_ERROR", "FORBIDDEN"],
  404: ["INVALID_REQUEST_ERROR", "NOT_FOUND"],
  422: ["REFUND_ERROR", "REFUND_ALREADY_PENDING"],
  429: ["RATE_LIMIT_ERROR", "RATE_LIMITED"],
};

export function squareError(status: number, code?: string): Answer {
  const [category, usual] = categories[status] ?? ["API_ERROR", "INTERNAL_SERVER_ERROR"];
  return json(status, { errors: [{ category, code: code ?? usual, detail: "what Square says" }] });
}

function bodyOf(body: string): Record<string, unknown> {
  return JSON.parse(body) as Record<string, unknown>;
}

const rules: ProviderRules = {
  isCreate: ({ method, path }) => method === "POST" && path === "/v2/refunds",
  keyOf: ({ body }) => bodyOf(body)["idempotency_key"] as string,
  keys: {
    retentionMs: days(1),
    saves: ({ status }) => status === 200,
    mismatch: squareError(400, "IDEMPOTENCY_KEY_REUSED"),
    inFlight: squareError(409),
  },
  create: ({ body }, id) => {
    const { idempotency_key: _key, ...asked } = bodyOf(body);
    return { resource: { id: `refund-${id}`, status: "COMPLETED", ...asked } };
  },
  show: ({ resource }) => json(200, { refund: resource }),
  refusal: (status, code) => squareError(status, code),
  look: ({ path }, visible) => {
    const id = decodeURIComponent(path.split("/").at(-1) ?? "");
    const shown = visible.map(({ resource }) => resource);
    if (path.startsWith("/v2/payments/")) {
      const mine = shown.filter((resource) => resource["payment_id"] === id);
      return json(200, { payment: { id, refund_ids: mine.map((resource) => resource["id"]) } });
    }
    const refund = shown.find((resource) => resource["id"] === id);
    return refund === undefined ? squareError(404) : json(200, { refund });
  },
};

export function startSquare(): Promise<Counterpart> {
  return Counterpart.start(rules);
}
