/**
 * Adyen's modifications over the official SDK and real HTTP: one send, and nothing to look it up by, so that a
 * doubt goes to a person.
 */
import { CheckoutAPI, Client, Config, EnvironmentEnum } from "@adyen/api-library";
import { describe, expect, it } from "vitest";
import { adyenCancel, adyenCapture, adyenRefund } from "../../../src/edges/providers/adyen.ts";
import { startAdyen } from "../../support/providers/adyen.ts";
import { plainHostOf, usePlainHttps } from "../../support/providers/plain-https.ts";
import { type AdapterSubject, describeAdapter } from "./conformance.ts";

usePlainHttps();

function connect(url: string): CheckoutAPI {
  const config = new Config({
    apiKey: "AQE",
    environment: EnvironmentEnum.LIVE,
    liveEndpointUrlPrefix: plainHostOf(url),
  });
  return new CheckoutAPI(new Client(config));
}

const same = (resource: Record<string, unknown>): Record<string, unknown> => resource;

const common = {
  start: startAdyen,
  tagOf: ({ body }) => (JSON.parse(body) as { reference: string }).reference,
  classes: { 400: "refused", 401: "not-executed", 403: "not-executed", 422: "refused" },
  passing: { credentials: [[401]], permission: [[403]] },
  keepsError: () => false,
  blind: true,
  foreign: same,
  differing: same,
} satisfies Partial<AdapterSubject<{ paymentPspReference: string }>>;

interface Amounted {
  paymentPspReference: string;
  merchantAccount: string;
  amount: { currency: string; value: number };
}

const amounted = (args: { paymentPspReference: string; amountMinor: number }): Amounted => ({
  paymentPspReference: args.paymentPspReference,
  merchantAccount: "Acme",
  amount: { currency: "EUR", value: args.amountMinor },
});

describeAdapter({
  ...common,
  title: "Adyen refunds",
  args: { paymentPspReference: "P8812", amountMinor: 48_000 },
  parts: (url, bounds) => adyenRefund(connect(url), { ...bounds, request: amounted }),
});

describeAdapter({
  ...common,
  title: "Adyen captures",
  args: { paymentPspReference: "P8812", amountMinor: 48_000 },
  parts: (url, bounds) => adyenCapture(connect(url), { ...bounds, request: amounted }),
});

describeAdapter({
  ...common,
  title: "Adyen cancellations",
  args: { paymentPspReference: "P8812" },
  parts: (url, bounds) =>
    adyenCancel(connect(url), {
      ...bounds,
      request: ({ paymentPspReference }) => ({ paymentPspReference, merchantAccount: "Acme" }),
    }),
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
      redirect: `https://${plainHostOf(other.url)}-live.adyen.com/refunds`,
    });
    const { signal } = new AbortController();
    const call = { key: "k", wireKey: "w", beforeWrite: () => {}, signal } as never;
    await expect(execute({}, call)).rejects.toMatchObject({ statusCode: 308 });
    expect([counterpart.sends.length, other.sends.length]).toEqual([1, 0]);
    await Promise.all([counterpart.close(), other.close()]);
  });
});
