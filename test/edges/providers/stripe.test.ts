/**
 * The Stripe tools, over the official SDK and real HTTP, against a counterpart that keeps keys as
 * Stripe does: 500s saved, 429s not.
 */
import { Stripe } from "stripe";
import { describe, expect, it } from "vitest";
import type { ErrorClass } from "../../../src/index.ts";
import {
  stripePaymentIntent,
  stripeRefund,
  stripeTransfer,
} from "../../../src/edges/providers/stripe.ts";
import { startStripe, stripeTagOf, stripeUnsaved } from "../../support/providers/stripe.ts";
import { type AdapterSubject, describeAdapter } from "./conformance.ts";

/** With the SDK's own retries on: the adapter has to keep them in check. */
function connect(url: string): Stripe {
  const { hostname, port } = new URL(url);
  return new Stripe("sk_test_1", {
    host: hostname,
    port,
    protocol: "http",
    maxNetworkRetries: 3,
    telemetry: false,
  });
}

const classes: Readonly<Record<number, ErrorClass>> = {
  400: "refused",
  401: "not-executed",
  402: "definitive",
  403: "not-executed",
  404: "refused",
  429: "not-executed",
};

const common = {
  start: startStripe,
  tagOf: ({ body }) => stripeTagOf(body),
  classes,
  passing: {
    credentials: [[401]],
    permission: [[403]],
    rate: [[429]],
    balance: [[400, "balance_insufficient"]],
  },
  keepsError: (status) => !stripeUnsaved.includes(status),
  twin: (resource) => ({ ...resource, id: `${resource["id"]}_twin` }),
  foreign: (resource) => ({ ...resource, id: `${resource["id"]}_foreign`, metadata: {} }),
  differing: (resource) => ({ ...resource, amount: 1 }),
} satisfies Partial<AdapterSubject<{ amountMinor: number }>>;

describeAdapter({
  ...common,
  title: "Stripe refunds",
  args: { paymentIntent: "pi_8812", amountMinor: 48_000 },
  parts: (url, bounds) =>
    stripeRefund(connect(url), {
      ...bounds,
      request: ({ paymentIntent, amountMinor }) => ({
        payment_intent: paymentIntent,
        amount: amountMinor,
        metadata: { order: "8812" },
      }),
    }),
  pending: (resource) => ({ ...resource, status: "pending" }),
  failed: (resource) => ({ ...resource, status: "failed" }),
  answersFailed: { status: "failed" },
});

describeAdapter({
  ...common,
  title: "Stripe payment intents",
  args: { customer: "cus_1", amountMinor: 48_000 },
  parts: (url, bounds) =>
    stripePaymentIntent(connect(url), {
      ...bounds,
      request: ({ customer, amountMinor }) => ({ customer, amount: amountMinor, currency: "EUR" }),
    }),
  pending: (resource) => ({ ...resource, status: "processing" }),
  failed: (resource) => ({ ...resource, status: "canceled" }),
});

describeAdapter({
  ...common,
  title: "Stripe transfers",
  args: { destination: "acct_1", amountMinor: 48_000 },
  parts: (url, bounds) =>
    stripeTransfer(connect(url), {
      ...bounds,
      request: ({ destination, amountMinor }) => ({
        destination,
        amount: amountMinor,
        currency: "eur",
      }),
    }),
});

describe("a Stripe tool", () => {
  const options = {
    request: () => ({ payment_intent: "pi_1" }),
    timeoutMs: 1000,
    flightMs: 1000,
  };

  it("isn't made of an instance that can't authenticate", async () => {
    for (const stripe of [undefined, {}, { _authenticator: null }]) {
      await expect(stripeRefund(stripe as never, options)).rejects.toMatchObject({
        code: "TOOL_INVALID",
      });
    }
  });

  it("whose request can't be made sends nothing, and says so", async () => {
    const { execute } = await stripeRefund(connect("http://127.0.0.1:9"), {
      ...options,
      request: () => {
        throw new Error("no such order");
      },
    });
    const notSent = (cause: unknown): Error => new Error("not sent", { cause });
    const call = { key: "k", wireKey: "w", beforeWrite: () => {}, notSent } as never;
    await expect(execute({}, call)).rejects.toThrow("not sent");
  });

  it("whose balance didn't do is refused for good only where the key keeps that", async () => {
    const { contract } = await stripeRefund(connect("http://127.0.0.1:9"), options);
    const proves = (headers: object): unknown =>
      contract.classify?.({
        statusCode: 400,
        rawType: "invalid_request_error",
        code: "balance_insufficient",
        requestId: "req_1",
        headers,
      });
    expect(proves({})).toBe("not-executed");
    expect(proves({ "idempotent-replayed": "true" })).toBe("definitive");
  });

  it("keeps no client secret", async () => {
    const counterpart = await startStripe();
    const { execute } = await stripePaymentIntent(connect(counterpart.url), {
      ...options,
      request: () => ({ amount: 1, currency: "eur" }),
    });
    const call = { key: "k", wireKey: "w", beforeWrite: () => {} } as never;
    expect(JSON.stringify(await execute({}, call))).not.toContain("secret");
    await counterpart.close();
  });

  it("sends and tells the connected account", async () => {
    const counterpart = await startStripe();
    const tool = await stripeRefund(connect(counterpart.url), {
      ...options,
      stripeAccount: "acct_7",
    });
    await tool.execute({}, { key: "k", wireKey: "w", beforeWrite: () => {} } as never);
    expect(counterpart.sends[0]?.headers["stripe-account"]).toBe("acct_7");
    expect(tool.contract.account).toBe("acct_7");
    await counterpart.close();
  });
});
