/**
 * What the tools on Stripe have in common: one send, key and tag, the look-up in a list, and what an
 * error proves.
 *
 * @module
 */
import type Stripe from "stripe";
import type { ErrorClass, FoundEffect, LookUpAnswer } from "../../../guard/contract.ts";
import type { ExecuteCall } from "../../../guard/tool.ts";
import { stripeV1 } from "../contracts/stripe.ts";
import {
  type AdapterOptions,
  type AdapterParts,
  classifyFailed,
  findTagged,
  tagName,
  unlessFailed,
} from "./adapter.ts";
import { contractParts, lookUpFacts, refuseProvider } from "./contract-parts.ts";
import { checkOwnMethods } from "./own-methods.ts";
import { sendOnce } from "./send-once.ts";

/** Options of every Stripe tool. */
export interface StripeOptions<Args, Request> extends Omit<
  AdapterOptions<Args, Request>,
  "account"
> {
  /** The connected account on whose behalf to act: sent, and part of key and fingerprint. */
  readonly stripeAccount?: string;
}

type Tagged = { readonly id: string; readonly metadata: Stripe.Metadata | null };
type Page = { readonly limit: number; readonly starting_after?: string };

/** What differs from one kind of resource to the other. */
export interface StripeResource<Params, Item extends Tagged, Result> {
  create(params: Params, how: Stripe.RequestOptions): Promise<Item>;
  list(params: Params, page: Page, how: Stripe.RequestOptions): Promise<Stripe.ApiList<Item>>;
  resultOf(item: Item): Result;
  statusOf(item: Item): FoundEffect<Result>["status"];
  differenceOf(params: Params, item: Item): { readonly differsIn?: string };
}

/**
 * Makes the parts of a tool on one kind of resource.
 *
 * @throws {NeverTwiceError} TOOL_INVALID when the instance can't be used as it is.
 */
export function stripeTool<
  Args,
  Params extends { metadata?: Stripe.Emptyable<Stripe.MetadataParam> },
  Item extends Tagged,
  Result extends { readonly id: string },
>(
  stripe: Stripe,
  options: StripeOptions<Args, Params>,
  resource: StripeResource<Params, Item, Result>,
): AdapterParts<Args, Result> {
  const { request, stripeAccount, ...bounds } = options;
  const authenticate = authenticatorOf(stripe);
  const how = stripeAccount === undefined ? {} : { stripeAccount };
  const paramsOf = (args: Args, key: string): Params => {
    const params = request(args);
    return { ...params, metadata: { ...toMetadata(params.metadata), [tagName]: key } };
  };
  const effectOf = (params: Params, item: Item): FoundEffect<Result> => ({
    status: resource.statusOf(item),
    result: resource.resultOf(item),
    providerId: item.id,
    ...resource.differenceOf(params, item),
  });
  const find = async (args: Args, key: string): Promise<LookUpAnswer<Result>> => {
    const params = request(args);
    const list = (page: Page): Promise<Stripe.ApiList<Item>> => resource.list(params, page, how);
    return findTagged(pagesOf(list), {
      isOurs: ({ metadata }) => metadata?.[tagName] === key,
      effectOf: (item) => effectOf(params, item),
    });
  };
  return {
    contract: {
      ...contractParts(stripeV1, {
        ...bounds,
        ...(stripeAccount === undefined ? {} : { account: stripeAccount }),
      }),
      classify: classifyFailed(classify),
      providerId: ({ id }) => id,
      lookUp: { ...lookUpFacts(stripeV1), find: ({ arguments: args, key }) => find(args, key) },
    },
    execute: async (args, call) => {
      const item = await createOnce(call, authenticate, (authenticator) =>
        resource.create(paramsOf(args, call.key), {
          ...how,
          idempotencyKey: call.wireKey,
          maxNetworkRetries: 0,
          timeout: bounds.timeoutMs,
          authenticator,
        }),
      );
      return resource.resultOf(unlessFailed(made(item), resource.statusOf(item)));
    },
  };
}

type Authenticator = NonNullable<Stripe.RequestOptions["authenticator"]>;

/** It runs once for each send, which nothing else in this SDK does; and without it nobody may send. */
function authenticatorOf(stripe: Stripe): Authenticator {
  for (const api of [stripe?.refunds, stripe?.paymentIntents, stripe?.transfers])
    checkOwnMethods(stripeV1.title, api, ["create", "_makeRequest"]);
  // oxlint-disable-next-line no-underscore-dangle -- The SDK's own name; public in its types.
  const authenticator: Authenticator | null | undefined = stripe?._authenticator;
  if (typeof authenticator === "function") return authenticator;
  return refuseProvider(
    stripeV1.title,
    "it needs an instance of the stripe package (23) with an API key or an authenticator",
  );
}

/**
 * Even with `maxNetworkRetries: 0` the SDK sends once more after a closed connection. An authenticator
 * that throws would end the process with an unhandled rejection, so it stays open, and we reject.
 */
function createOnce<Item>(
  call: ExecuteCall,
  authenticate: Authenticator,
  create: (authenticator: Authenticator) => Promise<Item>,
): Promise<Item> {
  return sendOnce(
    call,
    (gate) =>
      new Promise((resolve, reject) => {
        const authenticator: Authenticator = async (request) => {
          try {
            await authenticate(request);
            gate.pass();
          } catch (error) {
            reject(error);
            await new Promise(() => {});
          }
        };
        create(authenticator).then(resolve, reject);
      }),
  );
}

/** The SDK takes any JSON without an `error` for a success, a proxy's 502 as well. */
function made<Item extends Tagged>(item: Item): Item {
  if (typeof item?.id === "string") return item;
  throw new Error("Stripe's answer holds no resource");
}

/**
 * What Stripe's own errors prove, by status (https://docs.stripe.com/api/errors); all others prove nothing. A
 * 402 may be about a balance or a limit too, but the key keeps it.
 */
const errorClasses = new Map<unknown, ErrorClass>([
  [400, "refused"],
  [401, "not-executed"],
  [402, "definitive"],
  [403, "not-executed"],
  [404, "refused"],
]);

/** The account can be filled up (https://docs.stripe.com/error-codes). */
const noBalance = "balance_insufficient";

/** Only Stripe's own words count: what a proxy says has neither a type nor a request id of Stripe. */
function classify(error: unknown): ErrorClass {
  const { statusCode, rawType, code, requestId, headers } = (error ??
    {}) as Partial<Stripe.errors.StripeError>;
  if (rawType === undefined || requestId === undefined) return "unknown";
  // `idempotency_error`: the key was used with something else, so that something may have landed.
  if ((rawType as string) === "idempotency_error") return "unknown";
  if (statusCode === 429) return code === "rate_limit" ? "not-executed" : "unknown";
  const passing = statusCode === 400 && code === noBalance;
  const proved = passing ? "not-executed" : (errorClasses.get(statusCode) ?? "unknown");
  // A replayed refusal is what the key's one execution ended in.
  const replayed = headers?.["idempotent-replayed"] === "true";
  return proved !== "unknown" && replayed ? "definitive" : proved;
}

async function* pagesOf<Item extends Tagged>(
  list: (page: Page) => Promise<Stripe.ApiList<Item>>,
): AsyncGenerator<readonly Item[]> {
  const first: Page = { limit: 100 };
  let page = first;
  for (;;) {
    const { data, has_more } = await list(page);
    yield data;
    if (!has_more) return;
    const last = data.at(-1);
    if (last === undefined) throw new Error("Stripe says that there is more, and gives nothing");
    page = { ...first, starting_after: last.id };
  }
}

function toMetadata(
  metadata: Stripe.Emptyable<Stripe.MetadataParam> | undefined,
): Stripe.MetadataParam {
  return typeof metadata === "object" && metadata !== null ? metadata : {};
}

/** The id of what may be expanded. */
export function idOf(
  reference: string | { readonly id: string } | null | undefined,
): string | null {
  return typeof reference === "string" ? reference : (reference?.id ?? null);
}
