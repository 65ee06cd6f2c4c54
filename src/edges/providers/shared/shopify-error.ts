/**
 * Shopify's answers that hold no refund, and what they prove.
 *
 * @module
 */
import type { ErrorClass } from "../../../guard/contract.ts";
import { whyNotRun } from "./graphql-errors.ts";

/** What the SDK gives back. */
export interface ShopifyAnswer {
  readonly data?: unknown;
  readonly errors?: { readonly message?: string; readonly graphQLErrors?: unknown };
}

/** An answer without a refund. */
export class ShopifyError extends Error {
  readonly answer: ShopifyAnswer;

  constructor(answer: ShopifyAnswer) {
    super(answer.errors?.message ?? "Shopify's answer holds no refund");
    this.answer = answer;
  }
}

/** By Shopify's own codes (https://shopify.dev/docs/api/admin-graphql#status_and_error_codes). */
const errorClasses = new Map<unknown, ErrorClass>([
  ["ACCESS_DENIED", "not-executed"],
  ["SHOP_INACTIVE", "not-executed"],
  ["THROTTLED", "not-executed"],
]);

/**
 * A user error that names a field of the input says that the input is wrong
 * (https://shopify.dev/docs/api/admin-graphql/latest/objects/UserError); others may be about the key.
 */
export function classifyShopify(error: unknown): ErrorClass {
  if (!(error instanceof ShopifyError)) return "unknown";
  const { data, errors } = error.answer;
  if (errors !== undefined)
    return errorClasses.get(whyNotRun(errors.graphQLErrors)?.["code"]) ?? "unknown";
  const { refundCreate } = (data ?? {}) as {
    refundCreate?: {
      refund?: unknown;
      userErrors?: readonly { field?: readonly unknown[] | null }[];
    };
  };
  const { refund, userErrors = [] } = refundCreate ?? {};
  if (refund !== null || userErrors.length === 0) return "unknown";
  return userErrors.every(({ field }) => field?.[0] === "input") ? "refused" : "unknown";
}
