/**
 * The world of an HTTP scenario: a store, a provider that takes no key and keeps the ledger, and a
 * service whose `POST /refunds` creates one effect there each time its handler runs.
 */
import { expect, onTestFinished } from "vitest";
import {
  type HttpContract,
  type HttpEdge,
  type HttpOptions,
  type HttpRoute,
  type Handler,
  type RouteOptions,
  createHttpEdge,
} from "../../../src/edges/http/index.ts";
import { type Runtime, systemRuntime } from "../../../src/base/runtime.ts";
import { type Guard, type OperationRecord, type Store } from "../../../src/index.ts";
import {
  type FakeProvider,
  type ProviderClient,
  createProviderClient,
  startFakeProvider,
} from "../../../src/testing/fake-provider/index.ts";
import { type CreateGuard, itHoldsAndCanFail } from "../../support/scenario.ts";
import {
  type OpenStore,
  type StoreSuite,
  TestClock,
  describeStores,
} from "../../support/stores.ts";
import { wholeList } from "../../support/worker-params.ts";

export interface HttpWorld {
  readonly opened: OpenStore;
  readonly clock: TestClock;
  readonly provider: FakeProvider;
  readonly client: ProviderClient;
  readonly guard: Guard;
  readonly http: HttpEdge<unknown>;
  /** How often a handler of this world was entered. */
  readonly runs: { count: number };
  /** `POST /refunds`, or a route with other options or another handler. */
  route(change?: Partial<RouteOptions<unknown>>, handler?: Handler<unknown>): HttpRoute<unknown>;
  /** The same service in another process: its own guard and connection, and the default route. */
  another(): Promise<HttpRoute<unknown>>;
  /** Sends to the default route, or to another one. */
  send(change?: SendChange): Promise<Response>;
  /** The effect-making part of a handler: a refund at the provider, without any key. */
  refund(body: unknown, signal?: AbortSignal): Promise<{ id: string }>;
  rows(): Promise<readonly OperationRecord[]>;
  /** Asserts how many effects the ledger holds. THE verdict. */
  assertEffects(count: number): void;
}

export interface SendChange {
  readonly route?: HttpRoute<unknown>;
  readonly method?: string;
  readonly path?: string;
  /** The field's value as it stands; null sends none. */
  readonly key?: string | null;
  readonly principal?: string;
  readonly tenant?: string;
  /** Text as it stands, or JSON. */
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

export const refundBody = { orderId: "8812", amountMinor: 48_000, currency: "EUR" };
export const firstKey = '"8e03978e-40d5-43e8-bc93-6894a57f9324"';

export const contract: HttpContract = { timeoutMs: 20_000, flightMs: 10_000, marginMs: 1000 };

/**
 * Registers a scenario on both stores, with the check that it breaks under a pass-through guard.
 * `wrap` puts faults between guard and store, and `runtime` is the guard's machine.
 */
export function httpScenario(
  title: string,
  play: (world: HttpWorld) => Promise<void>,
  wrap: (store: Store) => Store = (store) => store,
  runtime: Runtime = systemRuntime,
): void {
  describeStores(title, (suite) => {
    itHoldsAndCanFail({
      build: (create) =>
        createHttpWorld(suite, (options) =>
          create({ ...options, runtime, store: wrap(options.store) }),
        ),
      play,
    });
  });
}

export const edgeOptions: Omit<HttpOptions<unknown>, "guard"> = {
  tenant: (request) => request.headers.get("x-tenant") ?? "",
  principal: (request) => request.headers.get("x-principal") ?? "",
  policyUrl: "https://service.example/idempotency",
};

export async function createHttpWorld(suite: StoreSuite, create: CreateGuard): Promise<HttpWorld> {
  const clock = new TestClock();
  const opened = await suite.open({ clock });
  const provider = await startFakeProvider();
  const client = createProviderClient({ url: provider.url });
  onTestFinished(async () => {
    client.close();
    await provider.close();
  });
  const guard = await create({ store: opened.store });
  const runs = { count: 0 };
  const refund: HttpWorld["refund"] = (body, signal) =>
    client.createEffect({
      operation: "refund",
      body: body as never,
      ...(signal === undefined ? {} : { signal }),
    });
  const handler: Handler<unknown> = async (request) => {
    const effect = await refund(await request.json(), request.signal);
    return Response.json(
      { refund: effect.id },
      { status: 201, headers: { location: `/refunds/${effect.id}` } },
    );
  };
  const routeOf =
    (http: HttpEdge<unknown>): HttpWorld["route"] =>
    (change = {}, by = handler) =>
      http.route(
        { name: "refunds.create", key: "required", contract, ...change },
        async (request, call) => {
          runs.count += 1;
          return by(request, call);
        },
      );
  const http = createHttpEdge<unknown>({ ...edgeOptions, guard });
  const route = routeOf(http);
  const refunds = route();
  return {
    opened,
    clock,
    provider,
    client,
    guard,
    http,
    runs,
    route,
    another: async () => {
      const other = await create({ store: await opened.again({ clock }) });
      return routeOf(createHttpEdge<unknown>({ ...edgeOptions, guard: other }))();
    },
    send: (change = {}) => {
      const answering = (change.route ?? refunds).handle(requestOf(change), undefined);
      // Under a pass-through a scenario may end before its requests do.
      answering.catch(() => {});
      return answering;
    },
    refund,
    rows: () => opened.store.list(wholeList),
    assertEffects: (count) =>
      expect(provider.ledger(), "effects in the provider's ledger").toHaveLength(count),
  };
}

/** Finds the refund that the handler made, as an application would in its own books. */
export function lookUpIn(world: HttpWorld): NonNullable<HttpContract["lookUp"]> {
  return {
    lagMs: 1000,
    authoritative: true,
    find: ({ arguments: args }) => {
      const { orderId } = (args.body as { json: { orderId: string } }).json;
      const found = world.provider.ledger().filter(({ body }) => body["orderId"] === orderId);
      if (found.length === 0) return { answer: "absent" };
      return {
        answer: "found",
        effects: found.map(({ effectId: id }) => ({
          status: "succeeded",
          providerId: id,
          response: Response.json(
            { refund: id },
            { status: 201, headers: { location: `/refunds/${id}` } },
          ),
        })),
      };
    },
  };
}

/** A request as a client sends it. */
export function requestOf(change: SendChange = {}, origin = "https://service.example"): Request {
  const { method = "POST", path = "/refunds", key = firstKey, body = refundBody } = change;
  const headers = new Headers({
    "x-tenant": change.tenant ?? "acme",
    "x-principal": change.principal ?? "user-1",
    "content-type": "application/json",
    ...change.headers,
  });
  if (key !== null) headers.set("idempotency-key", key);
  const bodiless = method === "GET" || method === "HEAD";
  return new Request(`${origin}${path}`, {
    method,
    headers,
    ...(bodiless ? {} : { body: bodyOf(body) }),
    ...(change.signal === undefined ? {} : { signal: change.signal }),
  });
}

function bodyOf(body: unknown): string | Uint8Array<ArrayBuffer> {
  if (body instanceof Uint8Array) return new Uint8Array(body);
  return typeof body === "string" ? body : JSON.stringify(body);
}

/** The members of a problem document, and the header fields that go with it. */
export async function problemOf(response: Response): Promise<{
  status: number;
  type: string;
  code: string;
  detail: string;
  retryAfter: string | null;
}> {
  expect(response.headers.get("content-type")).toBe("application/problem+json");
  const problem = (await response.json()) as Record<string, string>;
  expect(problem["status"]).toBe(response.status);
  return {
    status: response.status,
    type: (problem["type"] ?? "").replace(/^.*#/, ""),
    code: problem["code"] ?? "",
    detail: problem["detail"] ?? "",
    retryAfter: response.headers.get("retry-after"),
  };
}

/** Opened by a test, by hand. */
export function gate(): { readonly wait: Promise<void>; readonly open: () => void } {
  const opened: { open: () => void } = { open: () => {} };
  const wait = new Promise<void>((resolve) => {
    opened.open = resolve;
  });
  return { wait, open: () => opened.open() };
}
