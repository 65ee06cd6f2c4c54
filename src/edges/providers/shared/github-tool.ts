/**
 * What the tools on GitHub have in common: one send, the tag, the look-up in a list, and what an error
 * proves.
 *
 * @module
 */
import type { Octokit } from "@octokit/rest";
import type { ErrorClass } from "../../../guard/contract.ts";
import {
  type AdapterOptions,
  type AdapterParts,
  findTagged,
  isObject,
  tagName,
} from "./adapter.ts";
import { contractParts, lookUpFacts, refuseProvider } from "./contract-parts.ts";
import type { ProviderContract } from "./provider-contract.ts";
import { type SendGate, sendOnce } from "./send-once.ts";

/** Options of one request, as Octokit takes them. */
export interface RequestOptions {
  readonly fetch: typeof fetch;
  readonly signal: AbortSignal;
  /** A redirect would be a second send, in the fetch and out of sight. */
  readonly redirect: "manual";
  /** For Octokit's retry plugin. */
  readonly retries: 0;
}

/** A page of a list. */
export interface ListPage {
  readonly per_page: number;
  readonly page: number;
}

/** What differs from one kind of resource to the other. */
export interface GithubResource<Params, Item, Result> {
  create(params: Params, key: string, request: RequestOptions): Promise<Item>;
  list(params: Params, page: ListPage): Promise<readonly Item[]>;
  isOurs(item: Item, key: string): boolean;
  resultOf(item: Item): Result;
  differenceOf(params: Params, item: Item): { readonly differsIn?: string };
}

const perPage = 100;

/**
 * Makes the parts of a tool on one kind of resource.
 *
 * @throws {NeverTwiceError} TOOL_INVALID when the instance is not authenticated.
 */
export async function githubTool<
  Args,
  Params,
  Item extends { readonly id: number },
  Result extends { readonly id: number },
>(
  octokit: Octokit,
  provider: ProviderContract,
  options: AdapterOptions<Args, Params>,
  resource: GithubResource<Params, Item, Result>,
): Promise<AdapterParts<Args, Result>> {
  const { request, ...bounds } = options;
  await checkAuthenticated(octokit, provider);
  await checkFetch(octokit, provider);
  return {
    contract: {
      ...contractParts(provider, bounds),
      classify,
      providerId: ({ id }) => String(id),
      lookUp: {
        ...lookUpFacts(provider),
        find: ({ arguments: args, key }) => {
          const asked = request(args);
          return findTagged(
            pagesOf((page) => resource.list(asked, page)),
            {
              isOurs: (item) => resource.isOurs(item, key),
              effectOf: (item) => ({
                status: "succeeded",
                result: resource.resultOf(item),
                providerId: String(item.id),
                ...resource.differenceOf(asked, item),
              }),
            },
          );
        },
      },
    },
    execute: async (args, call) => {
      const item = await sendOnce(call, (gate) =>
        resource.create(request(args), call.key, {
          fetch: fetchOnce(octokit, gate),
          signal: call.signal,
          redirect: "manual",
          retries: 0,
        }),
      );
      return resource.resultOf(made(item));
    },
  };
}

async function checkAuthenticated(octokit: Octokit, provider: ProviderContract): Promise<void> {
  const authentication = (await octokit.auth()) as { readonly type?: string } | undefined;
  if (authentication?.type !== "unauthenticated") return;
  refuseProvider(provider.title, "the Octokit instance has no `auth`");
}

/**
 * A plugin or a hook that sends by another way than the given fetch would send where nobody counts, so that is
 * tried first. There is nothing to POST at this path, should it be sent after all.
 *
 * @throws {NeverTwiceError} TOOL_INVALID
 */
async function checkFetch(octokit: Octokit, provider: ProviderContract): Promise<void> {
  let uses = 0;
  const probe: typeof fetch = async () => {
    uses += 1;
    return Response.json({});
  };
  // What the request ends in doesn't matter, only which way it took.
  await octokit.request("POST /app", { request: { fetch: probe, retries: 0 } }).catch(() => {});
  if (uses > 0) return;
  refuseProvider(
    provider.title,
    "the Octokit instance has a hook or a plugin that doesn't use the fetch that a request is given, so that sends could go by the gate that counts them",
  );
}

/** Gives a plugin that asks again the first answer again, and sends nothing. */
function fetchOnce(octokit: Octokit, gate: SendGate): typeof fetch {
  const configured = octokit.request.endpoint.DEFAULTS.request as { fetch?: typeof fetch };
  const send = configured.fetch ?? fetch;
  let first: Promise<Response> | undefined;
  return async (...how) => {
    if (first === undefined) {
      gate.pass();
      first = send(...how);
    }
    return (await first).clone();
  };
}

/** Octokit takes a broken-off answer for an empty one, and a redirect for a success. */
function made<Item extends { readonly id: number }>(item: Item): Item {
  if (typeof item?.id === "number") return item;
  throw new Error("GitHub's answer holds no resource");
}

/**
 * What GitHub's own errors prove, by status; all others prove nothing. 403 and 429 are rate limits too, and a
 * 404 is also what a token without access gets
 * (https://docs.github.com/rest/using-the-rest-api/troubleshooting-the-rest-api).
 */
const errorClasses = new Map<unknown, ErrorClass>([
  [400, "refused"],
  [401, "not-executed"],
  [403, "not-executed"],
  [404, "not-executed"],
  [410, "refused"],
  [422, "refused"],
  [429, "not-executed"],
]);

/** Only GitHub's own words count: what a proxy says has no request id of GitHub. */
function classify(error: unknown): ErrorClass {
  const { status, response } = (error ?? {}) as {
    status?: unknown;
    response?: { readonly headers?: Readonly<Record<string, unknown>>; readonly data?: unknown };
  };
  if (response?.headers?.["x-github-request-id"] === undefined) return "unknown";
  if (status === 422 && isTooFast(response.data)) return "not-executed";
  return errorClasses.get(status) ?? "unknown";
}

/**
 * A limit on what one may create, in the clothes of a validation error
 * (https://github.com/cli/cli/issues/4801, https://github.com/octokit/plugin-throttling.js/issues/775).
 */
function isTooFast(data: unknown): boolean {
  const { errors } = (data ?? {}) as { errors?: readonly unknown[] };
  if (!Array.isArray(errors)) return false;
  return errors.some(
    (each) =>
      isObject(each) &&
      (each["code"] === "abuse" || each["message"] === "was submitted too quickly"),
  );
}

async function* pagesOf<Item>(
  list: (page: ListPage) => Promise<readonly Item[]>,
): AsyncGenerator<readonly Item[]> {
  for (let page = 1; ; page += 1) {
    const items = await list({ per_page: perPage, page });
    // Anything but a list is no empty list.
    if (!Array.isArray(items)) throw new Error("GitHub's answer holds no list");
    yield items;
    if (items.length < perPage) return;
  }
}

/** The operation's key, as a comment that GitHub doesn't show. */
export function markerOf(key: string): string {
  return `<!-- ${tagName}: ${key} -->`;
}

/** A text with the operation's key at its end. */
export function tagBody(body: string | null | undefined, key: string): string {
  return body === undefined || body === null || body === ""
    ? markerOf(key)
    : `${body}\n\n${markerOf(key)}`;
}
