/**
 * Linear's counterpart: the caller's id is the issue's, and taken once.
 */
import {
  type Answer,
  Counterpart,
  type Incoming,
  type ProviderRules,
  json,
} from "./counterpart.ts";

interface Body {
  readonly query: string;
  readonly variables: { readonly input?: Record<string, unknown>; readonly ids?: string[] };
}

/** The body of a request. */
export function linearBodyOf({ body }: Pick<Incoming, "body">): Body {
  return JSON.parse(body) as Body;
}

function fail(status: number, type: string): Answer {
  return json(status, { errors: [{ message: "what Linear says", extensions: { type } }] });
}

const types: Readonly<Record<number, string>> = {
  400: "invalid input",
  401: "authentication error",
  403: "forbidden",
  429: "ratelimited",
};

const rules: ProviderRules = {
  isCreate: (request) => linearBodyOf(request).query.startsWith("mutation"),
  keyOf: (request) => linearBodyOf(request).variables.input?.["id"] as string,
  create: (request, number, ledger) => {
    const { id, title, teamId } = linearBodyOf(request).variables.input ?? {};
    if (ledger.some(({ resource }) => resource["id"] === id))
      return { refusal: fail(400, "invalid input") };
    const identifier = `SHOP-${number}`;
    const url = `https://linear.app/${identifier}`;
    return { resource: { id, identifier, url, title, team: { id: teamId } } };
  },
  show: ({ resource }) => json(200, { data: { issueCreate: { success: true, issue: resource } } }),
  refusal: (status, type) => fail(status, type ?? types[status] ?? "internal error"),
  look: (request, visible) => {
    const { ids = [] } = linearBodyOf(request).variables;
    const resources = visible.map(({ resource }) => resource);
    const nodes = resources.filter(({ id }) => ids.includes(String(id)));
    return json(200, { data: { issues: { nodes } } });
  },
};

export function startLinear(): Promise<Counterpart> {
  return Counterpart.start(rules);
}
