import { answerOf, errorAnswer, type Answer, type Reply } from "./answer.ts";
import { checkBehaviour } from "./behaviour.ts";
import type { ProviderControl } from "./control.ts";
import { checkFaultStep } from "./faults.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "./json.ts";
import type { LookUpQuery } from "./records.ts";

/** An HTTP request other than `POST /effects/:operation`, taken apart. */
export interface RouteCall {
  /** The last segment of the path, decoded; the parameter, where the route has one. */
  readonly last: string;
  readonly query: URLSearchParams;
  readonly body: JsonObject;
  readonly account: string | null;
}

/** What the routes need of the provider. */
export interface RouteTarget extends ProviderControl {
  find(query: LookUpQuery): Reply;
  get(effectId: string, account: string | null): Reply;
  parkedGates(): readonly string[];
}

/** Answers one call. */
export type Route = (provider: RouteTarget, call: RouteCall) => Reply | Promise<Reply>;

/** Finds the route for a method and a path, or `undefined`. */
export function routeFor(method: string, path: string): Route | undefined {
  const exact = `${method} ${path}`;
  const name = Object.hasOwn(ROUTES, exact) ? exact : exact.replace(/[^/]+$/, ":last");
  return Object.hasOwn(ROUTES, name) ? ROUTES[name] : undefined;
}

const ROUTES: Readonly<Record<string, Route>> = {
  "GET /health": () => ok({ ok: true }),

  "GET /effects": (provider, { query, account }) => {
    const [tag, key] = [query.get("tag"), query.get("key")];
    return provider.find({
      ...(tag === null ? {} : { tag }),
      ...(key === null ? {} : { key }),
      ...(account === null ? {} : { account }),
    });
  },
  "GET /effects/:last": (provider, { last, account }) => provider.get(last, account),

  "GET /ledger": (provider) => ok(asJson(provider.ledger())),
  "GET /ledger/count": (provider, { query }) =>
    ok({ count: provider.count(query.get("operation") ?? undefined) }),
  "GET /arrivals": (provider) => ok(asJson(provider.arrivals())),
  "GET /look-ups": (provider) => ok(asJson(provider.lookUps())),
  "GET /counters": (provider) => ok(asJson(provider.counters())),

  "POST /control/behaviour": (provider, { body }) => {
    provider.behave(checkBehaviour(body));
    return done();
  },
  "POST /control/faults": (provider, { body }) => {
    const { steps = [], always } = body;
    if (!Array.isArray(steps)) throw new TypeError("steps must be an array of fault steps");
    const checked = steps.map(checkFaultStep);
    if (always !== undefined) provider.faultAlways(always === null ? null : checkFaultStep(always));
    provider.fault(...checked);
    return done();
  },
  "POST /control/advance": (provider, { body }) => {
    const ms = body["ms"];
    if (typeof ms !== "number") throw new TypeError("ms must be a number");
    provider.advance(ms);
    return done();
  },
  "POST /control/release": (provider, { body }) => {
    const gate = body["gate"];
    if (typeof gate !== "string") throw new TypeError("gate must be a string");
    if (!provider.parkedGates().includes(gate)) {
      return refuse(409, "gate_empty", `nobody is parked at gate "${gate}"`);
    }
    provider.release(gate);
    return done();
  },
  "POST /control/reset": (provider) => {
    provider.reset();
    return done();
  },
  "GET /control/parked": (provider) => ok(asJson(provider.parkedGates())),
  "GET /control/parked/:last": async (provider, { last, query }) => {
    try {
      await provider.parked(last, Number(query.get("count") ?? "1"));
      return done();
    } catch (error) {
      return refuse(408, "nobody_parked", (error as Error).message);
    }
  },
};

/** A reply that carries an error answer. */
export function refuse(status: number, code: string, message: string): Reply {
  return { kind: "answer", answer: errorAnswer(status, code, message) };
}

/** Reads the body of a control call; an empty one counts as `{}`. Throws a `TypeError`. */
export function controlBody(text: string): JsonObject {
  if (text === "") return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new TypeError("the body is not JSON");
  }
  if (!isJsonObject(value)) throw new TypeError("the body must be a JSON object");
  return value;
}

function ok(body: JsonValue): Reply {
  const answer: Answer = answerOf(200, body);
  return { kind: "answer", answer };
}

function done(): Reply {
  return ok({ ok: true });
}

// Records are JSON by construction; their interfaces only lack the index signature of JsonObject.
function asJson(records: object): JsonValue {
  return records as JsonValue;
}
