/**
 * PayPal's counterpart. A refund's PayPal-Request-Id leads to what it made, as it is now; a payout's
 * sender_batch_id is refused with a link to the first batch.
 */
import { days } from "../../../src/index.ts";
import { type Answer, Counterpart, type ProviderRules, json } from "./counterpart.ts";

const names: Readonly<Record<number, readonly [name: string, issue?: string]>> = {
  400: ["INVALID_REQUEST"],
  401: ["AUTHENTICATION_FAILURE"],
  403: ["NOT_AUTHORIZED"],
  404: ["RESOURCE_NOT_FOUND"],
  409: ["RESOURCE_CONFLICT", "PREVIOUS_REQUEST_IN_PROGRESS"],
  422: ["UNPROCESSABLE_ENTITY", "REFUND_AMOUNT_EXCEEDED"],
  429: ["RATE_LIMIT_REACHED"],
};

export function paypalError(status: number, issue?: string, links: unknown[] = []): Answer {
  const [name, usual] = names[status] ?? ["INTERNAL_SERVER_ERROR"];
  const details = [{ issue: issue ?? usual ?? "what PayPal says", link: links }];
  return json(status, { name, message: "what PayPal says", debug_id: "d1", details });
}

function asked(body: string): Record<string, unknown> {
  return JSON.parse(body) as Record<string, unknown>;
}

const token = json(200, { access_token: "A21", token_type: "Bearer", expires_in: 32_400 });

const refunds: ProviderRules = {
  isCreate: ({ method, path }) => method === "POST" && path.endsWith("/refund"),
  keyOf: ({ headers }) => headers["paypal-request-id"],
  keys: {
    retentionMs: days(45),
    saves: ({ status }) => status < 400,
    replay: (answer) => ({ ...answer, status: 200 }),
    mismatch: paypalError(422, "what PayPal says of another request"),
    inFlight: paypalError(409),
  },
  create: ({ path, body }, id) => ({
    resource: { id: `R${id}`, status: "COMPLETED", capture: path.split("/")[4], ...asked(body) },
  }),
  show: ({ resource }) => json(201, resource),
  refusal: (status, issue) => paypalError(status, issue),
  look: ({ path }, visible) => {
    if (path === "/v1/oauth2/token") return token;
    const id = path.split("/").at(-1) ?? "";
    if (path.startsWith("/v2/payments/captures/"))
      return json(200, { id, supplementary_data: { related_ids: { order_id: `O-${id}` } } });
    const capture = id.replace(/^O-/, "");
    const shown = visible.map(({ resource }) => resource);
    const mine = shown.filter((resource) => resource["capture"] === capture);
    const captures = capture === "HIDDEN" ? [] : [{ id: capture }];
    const payments = { captures, refunds: mine };
    return json(200, { id, purchase_units: [{ payments }] });
  },
};

export function startPaypalRefunds(): Promise<Counterpart> {
  return Counterpart.start(refunds);
}

function batchIdOf(body: string): string | undefined {
  const { sender_batch_id } = asked(body)["sender_batch_header"] as { sender_batch_id?: string };
  return sender_batch_id;
}

const payouts: ProviderRules = {
  isCreate: ({ method, path }) => method === "POST" && path === "/v1/payments/payouts",
  keyOf: ({ body }) => batchIdOf(body),
  keys: {
    retentionMs: days(30),
    saves: ({ status }) => status < 400,
    replay: ({ body }) => {
      const { payout_batch_id } = asked(body)["batch_header"] as { payout_batch_id: string };
      const href = `https://api.paypal.com/v1/payments/payouts/${payout_batch_id}`;
      return paypalError(400, "the sender_batch_id is taken", [{ href, rel: "self" }]);
    },
    mismatch: paypalError(400, "the sender_batch_id is taken"),
    inFlight: paypalError(500),
  },
  create: ({ body }, id) => ({
    resource: {
      batch_header: {
        payout_batch_id: `P${id}`,
        batch_status: "PENDING",
        sender_batch_header: asked(body)["sender_batch_header"],
      },
      items: (asked(body)["items"] as object[]).map((item) => ({ payout_item: item })),
    },
  }),
  // Only a look shows the items.
  show: ({ resource: { batch_header } }) => json(201, { batch_header }),
  refusal: (status, issue) => paypalError(status, issue),
  look: ({ path, query }, visible) => {
    if (path === "/v1/oauth2/token") return token;
    const shown = visible.find(({ resource }) => {
      const header = resource["batch_header"] as { payout_batch_id: string };
      return path.endsWith(`/${header.payout_batch_id}`);
    });
    if (shown === undefined) return paypalError(404);
    const size = Number(query.get("page_size"));
    const from = (Number(query.get("page")) - 1) * size;
    const items = (shown.resource["items"] as object[]).slice(from, from + size);
    return json(200, { ...shown.resource, items });
  },
};

export function startPaypalPayouts(): Promise<Counterpart> {
  return Counterpart.start(payouts);
}
