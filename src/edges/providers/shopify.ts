/**
 * Shopify: refunds of orders, over the official `@shopify/admin-api-client` package. The API version has to
 * know the `@idempotent` directive; from 2026-04 on `refundCreate` requires it
 * (https://shopify.dev/docs/api/usage/implementing-idempotency).
 *
 * How long a key is kept and what becomes of it after an error is left in doubt, so a refund is sent once.
 * After a doubt the order's refunds are read, and told by the operation's key at the end of their note.
 *
 * The SDK's client can't be told to send once (it drops `retries: 0` of a call), so that one is made for
 * each attempt, around a `fetch` that sends once.
 *
 * @module
 */
import type { AdminApiClient } from "@shopify/admin-api-client";
import type { FoundEffect, LookUpAnswer } from "../../guard/contract.ts";
import { shopify } from "./contracts/payments.ts";
import { type AdapterOptions, type AdapterParts, findTagged, tagName } from "./shared/adapter.ts";
import { contractParts, lookUpFacts, refuseProvider } from "./shared/contract-parts.ts";
import { type SendGate, sendOnce } from "./shared/send-once.ts";
import { type ShopifyAnswer, ShopifyError, classifyShopify } from "./shared/shopify-error.ts";

/** Makes a client whose `customFetchApi` is this one. */
export type ShopifyConnect = (customFetchApi: typeof fetch) => AdminApiClient;

/** A `RefundInput`. The operation's key is put behind its note. */
export interface ShopifyRefundRequest {
  /** `gid://shopify/Order/…` */
  readonly orderId: string;
  readonly note?: string;
  readonly transactions?: readonly {
    readonly amount: string;
    readonly [field: string]: unknown;
  }[];
  readonly [field: string]: unknown;
}

/** What is kept of a refund. */
export interface ShopifyRefund {
  readonly id: string;
}

/** A refund as the adapter asks for it. */
interface Shown {
  readonly id: string;
  readonly note?: string | null;
  readonly transactions: { readonly nodes: readonly Transaction[] };
}

interface Transaction {
  readonly status: string;
  readonly amountSet: Readonly<
    Record<"shopMoney" | "presentmentMoney", { readonly amount: string }>
  >;
}

/**
 * A tool that refunds an order.
 *
 * @throws {NeverTwiceError} TOOL_INVALID when no client with an access token is made.
 *
 * @example
 * const connect = (customFetchApi: typeof fetch) =>
 *   createAdminApiClient({ storeDomain, apiVersion: "2026-10", accessToken, customFetchApi });
 * ...(await shopifyRefund(connect, { request: …, timeoutMs: 30_000, flightMs: 120_000 }))
 */
export async function shopifyRefund<Args>(
  connect: ShopifyConnect,
  options: AdapterOptions<Args, ShopifyRefundRequest>,
): Promise<AdapterParts<Args, ShopifyRefund>> {
  const { request, ...bounds } = options;
  const client = await checkedClient(connect);
  return {
    contract: {
      ...contractParts(shopify, bounds),
      classify: classifyShopify,
      providerId: ({ id }) => id,
      lookUp: {
        ...lookUpFacts(shopify),
        find: async ({ arguments: args, key, signal }) => {
          const asked = request(args);
          const variables = { id: asked.orderId };
          const answer: ShopifyAnswer = await client.request(listDocument, { variables, signal });
          return findRefund(answer, asked, key);
        },
      },
    },
    execute: async (args, call) => {
      const { data } = await sendOnce(call, async (gate) => {
        const { note = "", ...asked } = request(args);
        const variables = {
          input: { ...asked, note: `${note} ${markerOf(call.key)}`.trimStart() },
        };
        const once = connect(fetchOnce(gate));
        const how = { variables, signal: call.signal };
        const answer: ShopifyAnswer = await once.request(createDocument(call.wireKey), how);
        // The SDK returns its errors, and those of its transport.
        if (answer.errors !== undefined) throw new ShopifyError(answer);
        return answer;
      });
      const { refundCreate } = (data ?? {}) as {
        refundCreate?: { refund?: { id?: unknown } | null };
      };
      const id = refundCreate?.refund?.id;
      if (typeof id !== "string") throw new ShopifyError({ data });
      return { id };
    },
  };
}

/** A client that didn't use the given fetch would send where nobody counts, so that is tried first. */
async function checkedClient(connect: ShopifyConnect): Promise<AdminApiClient> {
  let isUsed = false;
  try {
    const probed = connect(async () => {
      isUsed = true;
      return Response.json({ data: { shop: null } });
    });
    await probed.request("query { shop { id } }");
    if (isUsed && probed.config.accessToken !== "") return connect(fetch);
  } catch {
    // The SDK refuses what it can't use.
  }
  return refuseProvider(
    shopify.title,
    "it needs a function that makes a client of @shopify/admin-api-client (2) with an access token and the given `customFetchApi`",
  );
}

/** A redirect would be a second send, so it is none. */
function fetchOnce(gate: SendGate): typeof fetch {
  return async (url, init) => {
    gate.pass();
    try {
      return await fetch(url, { ...init, redirect: "manual" });
    } catch (error) {
      gate.failed(error);
      throw error;
    }
  };
}

function createDocument(wireKey: string): string {
  return `mutation ($input: RefundInput!) {
  refundCreate(input: $input) @idempotent(key: "${wireKey}") { refund { id } userErrors { field message } }
}`;
}

const listed = 100;
const money = "amountSet { shopMoney { amount } presentmentMoney { amount } }";
const listDocument = `query ($id: ID!) {
  order(id: $id) { id refunds(first: ${listed}) { id note transactions(first: 50) { nodes { status ${money} } } } }
}`;

function markerOf(key: string): string {
  return `${tagName}:${key}`;
}

async function findRefund(
  { data, errors }: ShopifyAnswer,
  asked: ShopifyRefundRequest,
  key: string,
): Promise<LookUpAnswer<ShopifyRefund>> {
  const { order } = (data ?? {}) as { order?: { id?: unknown; refunds?: unknown } | null };
  // Anything but this order's list is no empty list.
  if (errors !== undefined || order?.id !== asked.orderId || !Array.isArray(order.refunds))
    throw new Error("Shopify's answer doesn't hold the order's refunds");
  const refunds = order.refunds as readonly Shown[];
  async function* pages(): AsyncGenerator<readonly Shown[]> {
    yield refunds;
  }
  return findTagged(pages(), {
    isOurs: ({ note }) => note?.split(" ").at(-1) === markerOf(key),
    effectOf: (refund) => ({
      status: statusOf(refund),
      result: { id: refund.id },
      providerId: refund.id,
      ...(isAmountAsked(refund, asked) ? {} : { differsIn: "amount" }),
    }),
    maxPages: refunds.length < listed ? 2 : 1,
  });
}

/** Amounts are asked for in the shop's money or the customer's, so that either may fit. */
function isAmountAsked({ transactions }: Shown, asked: ShopifyRefundRequest): boolean {
  if (asked.transactions === undefined) return true;
  const sumOf = (amounts: readonly string[]): number =>
    amounts.reduce((sum, amount) => sum + Math.round(Number(amount) * 1000), 0);
  const wanted = sumOf(asked.transactions.map(({ amount }) => amount));
  return (["shopMoney", "presentmentMoney"] as const).some(
    (kind) => sumOf(transactions.nodes.map(({ amountSet }) => amountSet[kind].amount)) === wanted,
  );
}

function statusOf({ transactions: { nodes } }: Shown): FoundEffect<ShopifyRefund>["status"] {
  if (nodes.every(({ status }) => status === "SUCCESS")) return "succeeded";
  return nodes.every(({ status }) => ["FAILURE", "ERROR"].includes(status)) ? "failed" : "pending";
}
