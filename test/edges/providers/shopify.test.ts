/**
 * Shopify's refunds over the official SDK and real HTTP: one send under the directive's key, found again
 * by the end of the note.
 */
import { type AdminApiClient, createAdminApiClient } from "@shopify/admin-api-client";
import { describe, expect, it } from "vitest";
import { shopifyRefund } from "../../../src/edges/providers/shopify.ts";
import { ShopifyError } from "../../../src/edges/providers/shared/shopify-error.ts";
import { shopifyBodyOf, startShopify } from "../../support/providers/shopify.ts";
import { describeAdapter } from "./conformance.ts";

/** With the SDK's own retries on: the adapter has to keep them in check. */
function connectTo(url: string): (send: typeof fetch) => AdminApiClient {
  return (send) =>
    createAdminApiClient({
      storeDomain: "acme.myshopify.com",
      apiVersion: "2026-10",
      accessToken: "shpat_1",
      retries: 1,
      logger: () => {},
      customFetchApi: (asked, init) => send(new URL(new URL(String(asked)).pathname, url), init),
    });
}

const orderId = "gid://shopify/Order/8812";
const transaction = (amount: string): { amount: string; kind: string } => ({
  amount,
  kind: "REFUND",
});

describeAdapter({
  title: "Shopify refunds",
  args: { orderId, amount: "480.00" },
  start: startShopify,
  parts: (url, bounds) =>
    shopifyRefund(connectTo(url), {
      ...bounds,
      request: (args) => ({
        orderId: args.orderId,
        note: "Parcel arrived broken",
        transactions: [transaction(args.amount)],
      }),
    }),
  tagOf: (send) =>
    /^Parcel arrived broken nevertwice_key:(.+)$/.exec(
      String(shopifyBodyOf(send).variables.input?.["note"]),
    )?.[1],
  classes: { 403: "not-executed", 422: "refused", 429: "not-executed" },
  passing: { permission: [[403], [200, "SHOP_INACTIVE"]], rate: [[429]] },
  keepsError: () => false,
  twin: (resource) => ({ ...resource, id: "gid://shopify/Refund/twin" }),
  foreign: (resource) => ({ ...resource, id: "gid://shopify/Refund/foreign", note: null }),
  differing: (resource) => ({ ...resource, transactions: { nodes: [] } }),
  pending: (resource) => withStatus(resource, "PENDING"),
  failed: (resource) => withStatus(resource, "FAILURE"),
});

function withStatus(resource: Record<string, unknown>, status: string): Record<string, unknown> {
  const { nodes } = resource["transactions"] as { nodes: object[] };
  return { ...resource, transactions: { nodes: nodes.map((node) => ({ ...node, status })) } };
}

describe("a Shopify tool", () => {
  const options = { request: () => ({ orderId }), timeoutMs: 1000, flightMs: 1000 };
  const { signal } = new AbortController();
  const question = { tenant: "acme", key: "k", wireKeys: [], arguments: {}, signal };

  it("isn't made without a client that has a token and uses the given fetch", async () => {
    const refused = (): never => {
      throw new Error("no token");
    };
    const deaf = { request: async () => ({ data: {} }), config: { accessToken: "shpat_1" } };
    for (const connect of [undefined, () => undefined, refused, () => deaf]) {
      await expect(shopifyRefund(connect as never, options)).rejects.toMatchObject({
        code: "TOOL_INVALID",
      });
    }
  });

  it("doesn't take an error below the mutation for one of the mutation", async () => {
    const { contract } = await shopifyRefund(connectTo("http://127.0.0.1:9"), options);
    const proves = (...paths: (string[] | undefined)[]): unknown => {
      const extensions = { code: "ACCESS_DENIED" };
      const graphQLErrors = paths.map((path) => ({ path, extensions }));
      return contract.classify?.(new ShopifyError({ errors: { graphQLErrors } }));
    };
    expect([proves(undefined), proves(["refundCreate"])]).toEqual(["not-executed", "not-executed"]);
    expect(proves(["refundCreate", "refund", "id"])).toBe("unknown");
    expect(proves(["refundCreate"], ["refundCreate"])).toBe("unknown");
  });

  it("says absent only where the whole list was read", async () => {
    const counterpart = await startShopify();
    const { contract } = await shopifyRefund(connectTo(counterpart.url), options);
    const find = async (): Promise<unknown> => contract.lookUp?.find(question);
    expect(await find()).toEqual({ answer: "absent" });
    const plant = (id: string, note: string | null): void =>
      void counterpart.plant({ id, orderId, note, transactions: { nodes: [] } });
    for (let other = 1; other <= 100; other += 1) plant(String(other), null);
    expect(await find()).toMatchObject({ answer: "unsure" });
    await counterpart.close();
    await expect(find()).rejects.toThrow("doesn't hold the order's refunds");
  });
});
