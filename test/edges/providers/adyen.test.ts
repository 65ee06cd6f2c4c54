/**
 * Adyen's refunds over the official SDK and real HTTP: one send, and nothing to look it up by, so that a
 * doubt goes to a person.
 */
import http from "node:http";
import https from "node:https";
import { CheckoutAPI, Client, Config, EnvironmentEnum } from "@adyen/api-library";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { adyenRefund } from "../../../src/edges/providers/adyen.ts";
import { startAdyen } from "../../support/providers/adyen.ts";
import { describeAdapter } from "./conformance.ts";

/** The SDK speaks only TLS, to hosts of its own: it gets there in the clear, by the port in the prefix. */
beforeAll(() => {
  vi.spyOn(https, "request").mockImplementation(((options: https.RequestOptions) => {
    const port = /^p(\d+)-checkout-live/.exec(String(options.hostname))?.[1];
    const local = { hostname: "127.0.0.1", port, protocol: "http:", agent: undefined };
    return http.request({ ...options, ...local });
  }) as typeof https.request);
});
afterAll(() => void vi.restoreAllMocks());

function connect(url: string): CheckoutAPI {
  const config = new Config({
    apiKey: "AQE",
    environment: EnvironmentEnum.LIVE,
    liveEndpointUrlPrefix: `p${new URL(url).port}`,
  });
  return new CheckoutAPI(new Client(config));
}

const same = (resource: Record<string, unknown>): Record<string, unknown> => resource;

describeAdapter({
  title: "Adyen refunds",
  args: { paymentPspReference: "P8812", amountMinor: 48_000 },
  start: startAdyen,
  parts: (url, bounds) =>
    adyenRefund(connect(url), {
      ...bounds,
      request: ({ paymentPspReference, amountMinor }) => ({
        paymentPspReference,
        merchantAccount: "Acme",
        amount: { currency: "EUR", value: amountMinor },
      }),
    }),
  tagOf: ({ body }) => (JSON.parse(body) as { reference: string }).reference,
  classes: {
    400: "refused",
    401: "not-executed",
    403: "not-executed",
    422: "refused",
  },
  keepsError: () => false,
  blind: true,
  foreign: same,
  differing: same,
});

describe("an Adyen tool", () => {
  const options = {
    request: () => ({
      paymentPspReference: "P1",
      merchantAccount: "Acme",
      amount: { currency: "EUR", value: 1 },
    }),
    timeoutMs: 1000,
    flightMs: 1000,
  };

  it("isn't made of a client without credentials", async () => {
    const empty = new CheckoutAPI(new Client(new Config({ environment: EnvironmentEnum.TEST })));
    for (const checkout of [undefined, {}, empty]) {
      await expect(adyenRefund(checkout as never, options)).rejects.toMatchObject({
        code: "TOOL_INVALID",
      });
    }
  });

  it("follows no redirect", async () => {
    const counterpart = await startAdyen();
    const other = await startAdyen();
    const { execute } = await adyenRefund(connect(counterpart.url), options);
    counterpart.fault({
      redirect: `https://p${new URL(other.url).port}-checkout-live.adyen.com/refunds`,
    });
    const { signal } = new AbortController();
    const call = { key: "k", wireKey: "w", beforeWrite: () => {}, signal } as never;
    await expect(execute({}, call)).rejects.toMatchObject({ statusCode: 308 });
    expect([counterpart.sends.length, other.sends.length]).toEqual([1, 0]);
    await Promise.all([counterpart.close(), other.close()]);
  });
});
