/**
 * Signed webhooks: a target, and a receiver of the web standard's kind (`Request` to `Response`) for
 * Standard Webhooks, GitHub, Stripe and Slack.
 *
 * @module
 */
import { Webhook } from "standardwebhooks";
import { isNeverTwiceError } from "../../base/errors.ts";
import type { Delivery, EventHandler, EventInbox, Received } from "../../effects/inbox.ts";
import type { Publish } from "../../effects/relay.ts";
import { cloudEventType, tenantHeader } from "./shared/envelope.ts";
import { readBody } from "./shared/read-body.ts";
import type { WebhookScheme } from "./shared/webhook-schemes.ts";

export {
  type SlackOptions,
  type StandardOptions,
  type StripeWebhooks,
  type VerifiedEvent,
  type WebhookScheme,
  githubWebhooks,
  slackWebhooks,
  standardWebhooks,
  stripeWebhooks,
} from "./shared/webhook-schemes.ts";

/** Options of {@link webhookTarget}. */
export interface WebhookTargetOptions {
  readonly url: string;
  /** `whsec_…`. While one is replaced: both, and each signs. */
  readonly secrets: readonly string[];
  /** How long to wait for the answer, in milliseconds. Default 15 s. */
  readonly timeoutMs?: number;
  readonly fetch?: typeof fetch;
}

/**
 * Posts the event, signed after Standard Webhooks
 * (https://github.com/standard-webhooks/standard-webhooks). It resolves for a 2xx answer, and rejects
 * for any other; redirects are not followed.
 */
export function webhookTarget(options: WebhookTargetOptions): Publish {
  const { url, timeoutMs = 15_000, fetch: send = fetch } = options;
  const signers = options.secrets.map((secret) => new Webhook(secret));
  return async (event, { text, tenant, signal }) => {
    const now = new Date();
    const response = await send(url, {
      method: "POST",
      redirect: "manual",
      headers: {
        "content-type": cloudEventType,
        "webhook-id": event.id,
        "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
        "webhook-signature": signers.map((each) => each.sign(event.id, now, text)).join(" "),
        [tenantHeader]: encodeURIComponent(tenant),
      },
      body: text,
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`the receiver answered ${response.status}`);
  };
}

/** Options of {@link createWebhookReceiver}. */
export interface WebhookReceiverOptions<Driver> {
  readonly inbox: EventInbox<Driver>;
  /** The consumer's name in the inbox: keep it for ever. */
  readonly consumer: string;
  /** Who signs. */
  readonly scheme: WebhookScheme;
  /** In the inbox, the source of all events that this signer sends, e.g. `stripe`. */
  readonly source: string;
  /** Whose events these are: a name, or told by what the signer vouches for. */
  readonly tenant: string | ((data: unknown) => string);
  readonly fact?: Delivery["fact"];
  readonly handler: EventHandler<Driver>;
  /** The largest body, in bytes. Default 1 MiB. */
  readonly maxBytes?: number;
  onWarning?(message: string): void;
}

/**
 * Receives webhooks. It answers 2xx after the commit only; a failed event gets 503, so that the
 * producer delivers it again, and a dead one 200.
 *
 * @example
 * const receive = createWebhookReceiver({ inbox, consumer: "bookkeeping", source: "stripe",
 *   tenant: "acme", scheme: stripeWebhooks({ webhooks: Stripe.webhooks, secret }), handler });
 * app.post("/webhooks/stripe", (context) => receive(context.req.raw));
 */
export function createWebhookReceiver<Driver>(
  options: WebhookReceiverOptions<Driver>,
): (request: Request) => Promise<Response> {
  return async (request) => {
    try {
      return await receive(options, request);
    } catch (error) {
      options.onWarning?.(`a webhook was not received: ${String(error)}`);
      // What is not ours may tell of our inside.
      if (!isNeverTwiceError(error)) return answer(500, { code: "INTERNAL" });
      const { code, message } = error;
      const status = error.entry.httpStatus;
      return answer(status, { code, message }, status === 503 ? { "retry-after": "5" } : {});
    }
  };
}

async function receive<Driver>(
  options: WebhookReceiverOptions<Driver>,
  request: Request,
): Promise<Response> {
  if (request.method !== "POST") return answer(405, { code: "METHOD" }, { allow: "POST" });
  const { consumer, source, tenant, fact, scheme, maxBytes = 1024 * 1024 } = options;
  const body = await readBody(request, maxBytes);
  const verified = await scheme(body, request.headers);
  if ("challenge" in verified) return answer(200, { challenge: verified.challenge });
  const { id, type, subject, data } = verified;
  const owner = typeof tenant === "string" ? tenant : tenant(data);
  const delivery = { tenant: owner, consumer, source, id, type, subject, data, fact };
  return answerTo(await options.inbox.receive(delivery, options.handler));
}

function answerTo(received: Received<unknown>): Response {
  const { status } = received;
  if (received.status !== "will-retry") return answer(200, { status });
  const seconds = String(Math.ceil(received.retryAfterMs / 1000));
  return answer(503, { status, attempts: received.attempts }, { "retry-after": seconds });
}

function answer(status: number, body: object, headers: Record<string, string> = {}): Response {
  return Response.json(body, { status, headers });
}
