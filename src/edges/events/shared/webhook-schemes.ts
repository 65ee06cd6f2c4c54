/**
 * How producers sign their webhooks, and where each puts the id that all deliveries of one event
 * share.
 *
 * @module
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { NeverTwiceError } from "../../../base/errors.ts";
import { cloudEventType, readCloudEvent } from "./envelope.ts";

/** An event whose signature holds. */
export interface VerifiedEvent {
  /** The same at every delivery of the event. */
  readonly id: string;
  readonly type: string;
  readonly subject: string | undefined;
  readonly data: unknown;
}

/**
 * Verifies the raw bytes, and reads them. A challenge is answered and is no event.
 *
 * @throws {NeverTwiceError} EVENT_UNVERIFIED, EVENT_INVALID.
 */
export type WebhookScheme = (
  body: Buffer,
  headers: Headers,
) => Promise<VerifiedEvent | { readonly challenge: string }> | VerifiedEvent;

/** Options of {@link standardWebhooks}. */
export interface StandardOptions {
  /** `whsec_…`. While one is replaced: both. */
  readonly secrets: readonly string[];
}

/**
 * Standard Webhooks: `webhook-id` is the id, and a delivery is good for five minutes
 * (https://github.com/standard-webhooks/standard-webhooks). The body is a CloudEvent, or has a
 * `type` and `data`.
 */
export function standardWebhooks({ secrets }: StandardOptions): WebhookScheme {
  const verifiers = secrets.map((secret) => new Webhook(secret));
  return (body, headers) => {
    const signed = Object.fromEntries(headers);
    const holds = verifiers.some((verifier) =>
      succeeds(() => verifier.verify(body, signed, { jsonParse: false })),
    );
    // A body that isn't UTF-8 would be verified as other bytes than it has.
    const text = body.toString("utf8");
    if (!holds || !Buffer.from(text).equals(body)) throw unverified("webhook-signature");
    const id = header(headers, "webhook-id");
    if (headers.get("content-type")?.startsWith(cloudEventType) === true) {
      const { type, subject, data } = readCloudEvent(text);
      return { id, type, subject, data };
    }
    const { type, data } = parsed(body);
    return { id, type: named(type, "type"), subject: undefined, data };
  };
}

/**
 * GitHub: `x-hub-signature-256` over the body; `x-github-delivery` stays the same when a delivery is
 * repeated (https://docs.github.com/webhooks/using-webhooks/best-practices-for-using-webhooks). The
 * signature covers the body alone: no time, and neither the delivery's id nor the event's name, so that
 * whoever got hold of a signed body can send it under others. GitHub doesn't deliver again by itself:
 * run `inbox.keepRetrying`.
 */
export function githubWebhooks({ secret }: { readonly secret: string }): WebhookScheme {
  return (body, headers) => {
    const expected = `sha256=${hmac(secret, body)}`;
    if (!same(headers.get("x-hub-signature-256"), expected)) {
      throw unverified("x-hub-signature-256");
    }
    const data = parsed(body);
    const event = header(headers, "x-github-event");
    const { action, repository } = data as {
      action?: unknown;
      repository?: { full_name?: unknown };
    };
    const name = repository?.full_name;
    return {
      id: header(headers, "x-github-delivery"),
      type: typeof action === "string" ? `${event}.${action}` : event,
      subject: typeof name === "string" ? name : undefined,
      data,
    };
  };
}

/** `Stripe.webhooks`, or `stripe.webhooks`: the official SDK verifies. */
export interface StripeWebhooks {
  constructEvent(
    payload: Buffer,
    header: string,
    secret: string,
    toleranceSeconds?: number,
  ): object;
}

/**
 * Stripe: the id is the event's own (`evt_…`), the subject the id of its object
 * (https://docs.stripe.com/webhooks). Stripe may make two events of one fact: see `fact`.
 */
export function stripeWebhooks(options: {
  readonly webhooks: StripeWebhooks;
  readonly secret: string;
  /** How old a signature may be. Default 300. */
  readonly toleranceSeconds?: number;
}): WebhookScheme {
  const { webhooks, secret, toleranceSeconds = 300 } = options;
  return (body, headers) => {
    const signature = headers.get("stripe-signature") ?? "";
    let event: Partial<Record<"id" | "type" | "data", unknown>>;
    try {
      event = webhooks.constructEvent(body, signature, secret, toleranceSeconds);
    } catch (error) {
      throw unverified("stripe-signature", error);
    }
    const subject = (event.data as { object?: { id?: unknown } } | undefined)?.object?.id;
    return {
      id: named(event.id, "id"),
      type: named(event.type, "type"),
      subject: typeof subject === "string" ? subject : undefined,
      // As it was signed, without what the SDK adds.
      data: parsed(body),
    };
  };
}

/** Options of {@link slackWebhooks}. */
export interface SlackOptions {
  readonly signingSecret: string;
  /** How old a request may be. Default 300. */
  readonly toleranceSeconds?: number;
}

/**
 * Slack's Events API: the id is `event_id`. A retry may be the first delivery that arrives, so
 * `x-slack-retry-num` decides nothing (https://docs.slack.dev/apis/events-api).
 */
export function slackWebhooks(options: SlackOptions): WebhookScheme {
  const { signingSecret, toleranceSeconds = 300 } = options;
  return async (body, headers) => {
    const time = headers.get("x-slack-request-timestamp") ?? "";
    const base = Buffer.concat([Buffer.from(`v0:${time}:`), body]);
    const holds = same(headers.get("x-slack-signature"), `v0=${hmac(signingSecret, base)}`);
    const fresh = Math.abs(Date.now() / 1000 - Number(time)) <= toleranceSeconds;
    if (!holds || !fresh) throw unverified("x-slack-signature");
    const data = parsed(body);
    if (data["type"] === "url_verification") {
      return { challenge: named(data["challenge"], "challenge") };
    }
    const event = data["event"] as { type?: unknown; channel?: unknown } | undefined;
    return {
      id: named(data["event_id"], "event_id"),
      type: named(event?.type, "event.type"),
      subject: typeof event?.channel === "string" ? event.channel : undefined,
      data,
    };
  };
}

function hmac(secret: string, bytes: Buffer): string {
  // An empty secret would let anybody sign.
  if (secret === "") throw new NeverTwiceError("CONFIGURATION_INVALID", "The secret is empty.");
  return createHmac("sha256", secret).update(bytes).digest("hex");
}

function same(given: string | null, expected: string): boolean {
  const [a, b] = [Buffer.from(given ?? ""), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function succeeds(act: () => unknown): boolean {
  try {
    act();
    return true;
  } catch {
    return false;
  }
}

function parsed(body: Buffer): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(body.toString("utf8"));
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      return value as Record<string, unknown>;
    }
  } catch {
    // Told below, as for every other body that is no object.
  }
  throw invalid("the body is no JSON object");
}

function header(headers: Headers, name: string): string {
  return named(headers.get(name), name);
}

function named(value: unknown, name: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw invalid(`${name} is missing`);
}

function invalid(reason: string): NeverTwiceError {
  return new NeverTwiceError(
    "EVENT_INVALID",
    `The webhook can't be received: ${reason}. Nothing was written.`,
    { details: { reason } },
  );
}

function unverified(name: string, cause?: unknown): NeverTwiceError {
  return new NeverTwiceError(
    "EVENT_UNVERIFIED",
    `The webhook's ${name} is missing, doesn't hold, or is too old. Nothing was written.`,
    { cause, details: { header: name } },
  );
}
