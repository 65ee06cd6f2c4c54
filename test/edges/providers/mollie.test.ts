/**
 * Mollie's refunds over our own HTTP client and real HTTP: one send, found again by metadata.
 */
import { createMollieClient } from "@mollie/api-client";
import { Agent } from "undici";
import { describe, expect, it } from "vitest";
import { createIdempotentFetch } from "../../../src/edges/http/index.ts";
import { mollieRefund } from "../../../src/edges/providers/mollie.ts";
import { startMollie } from "../../support/providers/mollie.ts";
import { plainHostOf, usePlainHttps } from "../../support/providers/plain-https.ts";
import { describeAdapter } from "./conformance.ts";

usePlainHttps();

const send = createIdempotentFetch({ Agent });

describeAdapter({
  title: "Mollie refunds",
  args: { paymentId: "tr_8812", amount: "480.00" },
  start: startMollie,
  parts: (url, bounds) =>
    mollieRefund(send, {
      ...bounds,
      apiKey: "test_1",
      apiUrl: url,
      request: ({ paymentId, amount }) => ({
        paymentId,
        amount: { currency: "EUR", value: amount },
        metadata: { order: "8812" },
      }),
    }),
  tagOf: ({ body }) =>
    (JSON.parse(body) as { metadata: Record<string, unknown> }).metadata["nevertwice_key"],
  classes: {
    401: "not-executed",
    403: "not-executed",
    404: "refused",
    422: "refused",
    429: "not-executed",
  },
  passing: { credentials: [[401]], permission: [[403]], rate: [[429]] },
  keepsError: () => false,
  seesSocket: true,
  twin: (resource) => ({ ...resource, id: "re_twin" }),
  foreign: (resource) => ({ ...resource, id: "re_foreign", metadata: null }),
  differing: (resource) => ({ ...resource, amount: { currency: "EUR", value: "1.00" } }),
  pending: (resource) => ({ ...resource, status: "queued" }),
  failed: (resource) => ({ ...resource, status: "canceled" }),
  answersFailed: { status: "failed" },
});

describe("a Mollie tool", () => {
  const options = {
    apiKey: "test_1",
    request: () => ({ paymentId: "tr_1", amount: { currency: "EUR", value: "1.00" } }),
    timeoutMs: 1000,
    flightMs: 1000,
  };

  it("isn't made without an HTTP client or a key", async () => {
    const refused = { code: "TOOL_INVALID" };
    await expect(mollieRefund(fetch as never, options)).rejects.toMatchObject(refused);
    await expect(mollieRefund(send, { ...options, apiKey: "" })).rejects.toMatchObject(refused);
  });

  it("sends once, whatever the HTTP client was told", async () => {
    const counterpart = await startMollie();
    const eager = createIdempotentFetch({ Agent, resends: true });
    const { execute } = await mollieRefund(eager, { ...options, apiUrl: counterpart.url });
    counterpart.fault({ askAgain: 503 });
    const { signal } = new AbortController();
    const notSent = (cause: unknown): Error => new Error("not sent", { cause });
    const call = { key: "k", wireKey: "w", beforeWrite: () => {}, notSent, signal } as never;
    await expect(execute({}, call)).rejects.toMatchObject({ status: 503 });
    expect(counterpart.sends).toHaveLength(1);
    await eager.close();
    await counterpart.close();
  });

  it("reads the list of refunds to its end", async () => {
    const counterpart = await startMollie();
    const { contract } = await mollieRefund(send, { ...options, apiUrl: counterpart.url });
    const key = "ab".repeat(32);
    const { signal } = new AbortController();
    const question = { tenant: "acme", key, wireKeys: [], arguments: {}, signal };
    const amount = { currency: "EUR", value: "1.00" };
    const plant = (id: string, metadata: unknown): void =>
      void counterpart.plant({ id, paymentId: "tr_1", amount, status: "refunded", metadata });
    plant("re_ours", { nevertwice_key: key });
    for (let other = 1; other <= 600; other += 1) plant(`re_${other}`, null);
    expect(await contract.lookUp?.find(question)).toMatchObject({
      answer: "found",
      effects: [{ providerId: "re_ours", status: "succeeded" }],
    });
    await counterpart.close();
    const closed = Promise.resolve(contract.lookUp?.find(question));
    await expect(closed).rejects.toThrow(TypeError);
  });

  it("isn't made over Mollie's own SDK, since that sends a refund several times", async () => {
    const counterpart = await startMollie();
    const apiEndpoint = `https://${plainHostOf(counterpart.url)}.mollie.com`;
    const mollie = createMollieClient({ apiKey: "test_1", apiEndpoint });
    counterpart.fault({ gateway: 503, effect: false });
    const amount = { currency: "EUR", value: "1.00" };
    await mollie.paymentRefunds.create({ paymentId: "tr_1", amount, description: "r" });
    expect(counterpart.sends.length).toBeGreaterThan(1);
    await counterpart.close();
  });
});
