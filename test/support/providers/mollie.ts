/**
 * Mollie's counterpart: keys of one hour with the first answer, and a payment's refunds as a list.
 */
import { hours } from "../../../src/index.ts";
import { type Answer, Counterpart, type ProviderRules, json } from "./counterpart.ts";

function refusal(status: number): Answer {
  const documentation = { href: "https://docs.mollie.com/errors", type: "text/html" };
  const body = { status, title: "A title", detail: "what Mollie says", _links: { documentation } };
  return json(status, body);
}

const rules: ProviderRules = {
  isCreate: ({ method, path }) => method === "POST" && path.endsWith("/refunds"),
  keyOf: ({ headers }) => headers["idempotency-key"],
  keys: {
    retentionMs: hours(1),
    saves: ({ status }) => status < 400,
    replay: (answer) => ({
      ...answer,
      headers: { ...answer.headers, "idempotent-replayed": "true" },
    }),
    mismatch: refusal(400),
    inFlight: refusal(409),
  },
  create: ({ path, body }, id) => ({
    resource: {
      resource: "refund",
      id: `re_${id}`,
      status: "refunded",
      paymentId: path.split("/")[3],
      ...(JSON.parse(body) as Record<string, unknown>),
    },
  }),
  show: ({ resource }) => json(201, resource),
  refusal,
  look: ({ path, query }, visible) => {
    const shown = visible
      .map(({ resource }) => resource)
      .filter(({ paymentId }) => paymentId === path.split("/")[3])
      .toReversed();
    const from = query.get("from");
    const start = from === null ? 0 : shown.findIndex(({ id }) => id === from);
    const end = start + Number(query.get("limit"));
    const after = shown[end];
    const href = `https://api.mollie.com${path}?from=${String(after?.["id"])}&limit=250`;
    const next = after === undefined ? null : { href, type: "application/hal+json" };
    return json(200, { _embedded: { refunds: shown.slice(start, end) }, _links: { next } });
  },
};

export function startMollie(): Promise<Counterpart> {
  return Counterpart.start(rules);
}
