/**
 * Shopify's counterpart: the key is in the `@idempotent` directive, errors are in an answer of status 200,
 * and an order shows its refunds.
 */
import { hours } from "../../../src/index.ts";
import {
  type Answer,
  Counterpart,
  type Incoming,
  type ProviderRules,
  json,
} from "./counterpart.ts";

interface Body {
  readonly query: string;
  readonly variables: { readonly id?: string; readonly input?: Record<string, unknown> };
}

/** The body of a request. */
export function shopifyBodyOf({ body }: Pick<Incoming, "body">): Body {
  return JSON.parse(body) as Body;
}

function userError(field: string[] | null): Answer {
  const userErrors = [{ field, message: "what Shopify says" }];
  return json(200, { data: { refundCreate: { refund: null, userErrors } } });
}

function graphQlError(code: string): Answer {
  return json(200, { errors: [{ message: "what Shopify says", extensions: { code } }] });
}

/** A status stands for an error of its kind: Shopify's have the status 200. */
function refusal(status: number, code?: string): Answer {
  if (code !== undefined) return graphQlError(code);
  if (status === 403) return graphQlError("ACCESS_DENIED");
  if (status === 429) return graphQlError("THROTTLED");
  if (status === 409) return userError(null);
  return status === 422
    ? userError(["input", "transactions"])
    : graphQlError("INTERNAL_SERVER_ERROR");
}

const rules: ProviderRules = {
  isCreate: (request) => shopifyBodyOf(request).query.startsWith("mutation"),
  keyOf: (request) => /@idempotent\(key: "([^"]+)"\)/.exec(shopifyBodyOf(request).query)?.[1],
  keys: {
    retentionMs: hours(24),
    saves: ({ body }) => body.includes('"refund":{'),
    mismatch: userError(null),
    inFlight: userError(null),
  },
  create: (request, id) => {
    const { orderId, note, transactions } = shopifyBodyOf(request).variables.input ?? {};
    const nodes = (transactions as { amount: string }[]).map(({ amount }) => ({
      status: "SUCCESS",
      amountSet: { shopMoney: { amount }, presentmentMoney: { amount } },
    }));
    return {
      resource: { id: `gid://shopify/Refund/${id}`, orderId, note, transactions: { nodes } },
    };
  },
  show: ({ resource: { id } }) =>
    json(200, { data: { refundCreate: { refund: { id }, userErrors: [] } } }),
  refusal,
  look: (request, visible) => {
    const { id } = shopifyBodyOf(request).variables;
    const shown = visible.map(({ resource }) => resource);
    const refunds = shown.filter((resource) => resource["orderId"] === id);
    return json(200, { data: { order: { id, refunds } } });
  },
};

export function startShopify(): Promise<Counterpart> {
  return Counterpart.start(rules);
}
