/**
 * Slack: chat.postMessage, over the official `@slack/web-api` package.
 *
 * Slack takes no key (https://docs.slack.dev/reference/methods/chat.postMessage): a message is sent once,
 * with the operation's key in its metadata, and looked for in the channel after a doubt. The app needs
 * the scope to read the channel's history, and metadata of its own messages is shown to it.
 *
 * @module
 */
import type { ChatPostMessageArguments, FetchFunction, WebClient } from "@slack/web-api";
import { sha256Hex } from "../../base/canonical-json.ts";
import type { ErrorClass } from "../../guard/contract.ts";
import type { ExecuteCall } from "../../guard/tool.ts";
import { slack } from "./contracts/saas.ts";
import {
  type AdapterOptions,
  type AdapterParts,
  difference,
  findTagged,
  tagName,
} from "./shared/adapter.ts";
import { contractParts, lookUpFacts, refuseProvider } from "./shared/contract-parts.ts";
import { checkOwnMethods } from "./shared/own-methods.ts";
import { type SendGate, sendOnce } from "./shared/send-once.ts";

/** What is kept of a message. */
export interface SlackMessage {
  readonly ts: string;
}

/** The parameters of a message. `channel` must be an id, since a name has no history to look in. */
export type SlackMessageRequest = ChatPostMessageArguments;

/** A message as a history shows it. */
interface Shown {
  readonly ts?: string;
  readonly metadata?: { readonly event_payload?: Readonly<Record<string, unknown>> };
}

/**
 * A tool that posts a message to a channel or a thread.
 *
 * @throws {NeverTwiceError} TOOL_INVALID when the client has no token.
 */
export async function slackMessage<Args>(
  client: WebClient,
  options: AdapterOptions<Args, SlackMessageRequest>,
): Promise<AdapterParts<Args, SlackMessage>> {
  const { request, ...bounds } = options;
  const send = fetchOf(client);
  return {
    contract: {
      ...contractParts(slack, bounds),
      classify,
      providerId: ({ ts }) => ts,
      lookUp: {
        ...lookUpFacts(slack),
        find: ({ arguments: args, key }) => {
          const asked = request(args);
          return findTagged(pagesOf(client, asked), {
            isOurs: ({ metadata }) => metadata?.event_payload?.[tagName] === key,
            effectOf: ({ ts = "", metadata }) => ({
              status: "succeeded",
              result: { ts },
              providerId: ts,
              // Slack rewrites texts, so that only the digest can be compared.
              ...difference({ request: [digestOf(asked), metadata?.event_payload?.[digestName]] }),
            }),
          });
        },
      },
    },
    execute: async (args, call) => {
      const answer = await sendOnce(call, (gate) =>
        clientOnce(client, send, call, gate).apiCall("chat.postMessage", {
          ...tagged(request(args), call.key),
        }),
      );
      const { ts } = answer as { ts?: unknown };
      if (typeof ts !== "string") throw new Error("Slack's answer holds no message");
      return { ts };
    },
  };
}

/** Beside the key, what tells one request from another. */
const digestName = "nevertwice_request";

function digestOf(asked: SlackMessageRequest): string {
  return sha256Hex(JSON.stringify(asked));
}

function tagged(asked: SlackMessageRequest, key: string): SlackMessageRequest {
  const { event_type = "nevertwice", event_payload } = asked.metadata ?? {};
  const payload = { ...event_payload, [tagName]: key, [digestName]: digestOf(asked) };
  return { ...asked, metadata: { event_type, event_payload: payload } };
}

/** Without it nobody may send: it is where the SDK hands a request to its transport. */
function fetchOf(client: WebClient): FetchFunction {
  const { token, fetchFn } = (client ?? {}) as unknown as { token?: string; fetchFn?: unknown };
  const hasToken = typeof token === "string" && token !== "";
  checkOwnMethods(slack.title, client, ["apiCall", "makeRequest"]);
  if (typeof fetchFn === "function" && hasToken) return fetchFn as FetchFunction;
  return refuseProvider(slack.title, "it needs a WebClient of @slack/web-api 8 with a token");
}

/** Slack's own rate limiter spoke: a proxy's 429 has no request id of Slack. */
class SlackRateLimited extends Error {}

/** The same client, with a gate before its transport and without its retries. */
function clientOnce(
  client: WebClient,
  send: FetchFunction,
  { signal }: Pick<ExecuteCall, "signal">,
  gate: SendGate,
): WebClient {
  const fetchFn: FetchFunction = async (url, init) => {
    gate.pass();
    try {
      const response = await send(url, { ...init, signal: init?.signal ?? signal });
      if (response.status === 429 && response.headers.get("x-slack-req-id") !== null)
        throw new SlackRateLimited("Slack's rate limiter turned the message away");
      return response;
    } catch (error) {
      gate.failed(error);
      throw error;
    }
  };
  return Object.create(client, {
    fetchFn: { value: fetchFn },
    retryConfig: { value: { retries: 0 } },
    rejectRateLimitedCalls: { value: true },
  }) as WebClient;
}

/** The newest messages of the channel first, or those of the thread. */
async function* pagesOf(
  client: WebClient,
  { channel, ...asked }: SlackMessageRequest,
): AsyncGenerator<readonly Shown[]> {
  const ts = "thread_ts" in asked ? asked.thread_ts : undefined;
  const method = ts === undefined ? "conversations.history" : "conversations.replies";
  for (let cursor: string | undefined; ;) {
    const how = { channel, ts, cursor, limit: 200, include_all_metadata: true };
    const page = await client.apiCall(method, how);
    const { messages } = page as unknown as { messages?: readonly Shown[] };
    // Anything but a list is no empty list.
    if (!Array.isArray(messages)) throw new Error("Slack's answer holds no list");
    yield messages;
    cursor = page.response_metadata?.next_cursor;
    if ((cursor ?? "") === "") return;
  }
}

/**
 * By Slack's own codes (https://docs.slack.dev/reference/methods/chat.postMessage, as data in
 * https://github.com/slack-ruby/slack-api-ref; those of blocks are in
 * https://github.com/slackapi/python-slack-sdk/issues/1257 and https://github.com/slackapi/bolt-js/issues/2509).
 * All others prove nothing, `internal_error` and `fatal_error` above all: with them a part may have been done.
 * A channel that isn't found may be one that the app isn't in.
 */
const codes = {
  refused: new Set<unknown>([
    "as_user_not_supported",
    "invalid_arguments",
    "invalid_blocks",
    "msg_blocks_too_long",
    "msg_too_long",
    "no_text",
    "restricted_action_non_threadable_channel",
    "restricted_action_thread_only_channel",
    "too_many_attachments",
  ]),
  notExecuted: new Set<unknown>([
    "account_inactive",
    "channel_not_found",
    "ekm_access_denied",
    "invalid_auth",
    "is_archived",
    "missing_scope",
    "no_permission",
    "not_authed",
    "not_in_channel",
    "rate_limited",
    "ratelimited",
    "restricted_action",
    "restricted_action_read_only_channel",
    "token_revoked",
  ]),
};

function classify(error: unknown): ErrorClass {
  if (error instanceof SlackRateLimited) return "not-executed";
  const { code, data } = (error ?? {}) as { code?: unknown; data?: { error?: unknown } };
  if (code !== "slack_webapi_platform_error") return "unknown";
  if (codes.notExecuted.has(data?.error)) return "not-executed";
  return codes.refused.has(data?.error) ? "refused" : "unknown";
}
