/**
 * Salesforce's counterpart: records by external id, upserts, one entry in the ledger per change
 * (https://developer.salesforce.com/docs/atlas.en-us.api_rest.meta/api_rest/dome_upsert.htm).
 */
import { type Answer, Counterpart, type ProviderRules, json } from "./counterpart.ts";

const codes: Readonly<Record<number, string>> = {
  400: "REQUIRED_FIELD_MISSING",
  401: "INVALID_SESSION_ID",
  403: "REQUEST_LIMIT_EXCEEDED",
  404: "NOT_FOUND",
  503: "SERVER_UNAVAILABLE",
};

function refusal(status: number, code?: string): Answer {
  const errorCode = code ?? codes[status] ?? "UNKNOWN_EXCEPTION";
  return json(status, [{ errorCode, message: "what Salesforce says", fields: [] }]);
}

function recordOf(path: string): string {
  return path.slice(path.indexOf("/sobjects/"));
}

/** A time is shown in a form of its own. */
function stored(value: unknown): unknown {
  const isTime = typeof value === "string" && /^\d{4}-\d\d-\d\dT/.test(value);
  return isTime ? new Date(value).toISOString().replace("Z", "+0000") : value;
}

const rules: ProviderRules = {
  isCreate: ({ method }) => method === "PATCH",
  keyOf: () => undefined,
  create: ({ path, body }, id, ledger) => {
    const record = recordOf(path);
    const live = ledger.findLast(({ resource }) => resource["record"] === record)?.resource;
    const asked = Object.entries(JSON.parse(body) as Record<string, unknown>);
    const fields = Object.fromEntries(asked.map(([name, value]) => [name, stored(value)]));
    const created = live === undefined;
    const made = { Id: `a01${id}`, ...live, ...fields, record, created };
    return { resource: made };
  },
  show: ({ resource }) => {
    const { Id, created } = resource;
    return json(created === true ? 201 : 200, { id: Id, success: true, errors: [], created });
  },
  refusal,
  look: ({ path }, visible) => {
    const live = visible.findLast(({ resource }) => resource["record"] === recordOf(path));
    return live === undefined ? refusal(404) : json(200, live.resource);
  },
};

export function startSalesforce(): Promise<Counterpart> {
  return Counterpart.start(rules);
}
