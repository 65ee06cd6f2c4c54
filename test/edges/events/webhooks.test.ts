/**
 * A webhook is received when its signature holds, and has one effect however often it is delivered;
 * it is answered with 2xx after the commit only.
 */
import { createHmac } from "node:crypto";
import { Stripe } from "stripe";
import { expect, it } from "vitest";
import {
  type WebhookScheme,
  createWebhookReceiver,
  githubWebhooks,
  slackWebhooks,
  standardWebhooks,
  stripeWebhooks,
  webhookTarget,
} from "../../../src/edges/events/webhooks.ts";
import { createRelay } from "../../../src/index.ts";
import { bookings } from "../../support/bookings.ts";
import { createEventWorld } from "../../support/event-world.ts";
import { type StoreSuite, describeStores } from "../../support/stores.ts";

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const now = (): number => Math.floor(Date.now() / 1000);
const hmac = (text: string): string => createHmac("sha256", secret).update(text).digest("hex");

async function setUp(suite: StoreSuite, scheme: WebhookScheme, failures = 0) {
  const world = await createEventWorld(suite, { failures });
  const { inbox, handler } = world;
  const receive = createWebhookReceiver({
    inbox,
    consumer: "books",
    scheme,
    source: "signer",
    tenant: "acme",
    handler,
    maxBytes: 1000,
  });
  const post = async (body: string, headers: Record<string, string>): Promise<number> =>
    (await receive(new Request("http://shop.test", { method: "POST", body, headers }))).status;
  return { world, receive, post };
}

describeStores("webhooks", (suite) => {
  it("what the target signs the receiver takes once; a failed one gets 503 and comes again", async () => {
    const { world, receive } = await setUp(suite, standardWebhooks({ secrets: [secret] }), 1);
    const answers: number[] = [];
    const relay = createRelay({
      store: world.opened.store,
      retryAfterMs: 1,
      publish: webhookTarget({
        url: "http://shop.test",
        secrets: ["whsec_b2xkIHNlY3JldCBvZiBvdXJz", secret],
        fetch: async (url, init) => {
          const response = await receive(new Request(url, init));
          answers.push(response.status);
          return response;
        },
      }),
    });
    await world.write("e1", "8812");
    await relay.publishOnce();
    await expect.poll(() => relay.publishOnce()).toBe(1);
    expect(answers).toEqual([503, 200]);
    expect(await bookings(world.opened)).toEqual(["e1"]);
  });

  it("Slack's retry is handled also when it comes first, and never by its retry number", async () => {
    const scheme = slackWebhooks({ signingSecret: secret });
    const { world, receive, post } = await setUp(suite, scheme);
    const body = JSON.stringify({ type: "event_callback", event_id: "Ev1", event: { type: "m" } });
    const signed = (text: string, at = now()): Record<string, string> => ({
      "x-slack-request-timestamp": String(at),
      "x-slack-signature": `v0=${hmac(`v0:${at}:${text}`)}`,
    });
    expect(await post(body, { ...signed(body), "x-slack-retry-num": "1" })).toBe(200);
    expect(await post(body, signed(body))).toBe(200);
    expect(await post(body, signed(body, now() - 600))).toBe(401);
    expect(await post(body, signed(`${body} `))).toBe(401);
    const hello = JSON.stringify({ type: "url_verification", challenge: "c" });
    const request = new Request("http://shop.test", {
      method: "POST",
      body: hello,
      headers: signed(hello),
    });
    expect(await (await receive(request)).json()).toEqual({ challenge: "c" });
    expect(await bookings(world.opened)).toEqual(["Ev1"]);
  });

  it("GitHub's delivery id and Stripe's event id are the identity; other signatures are refused", async () => {
    const github = await setUp(suite, githubWebhooks({ secret }));
    const push = JSON.stringify({ action: "opened", repository: { full_name: "acme/shop" } });
    const headers = {
      "x-hub-signature-256": `sha256=${hmac(push)}`,
      "x-github-delivery": "guid-1",
      "x-github-event": "issues",
    };
    expect(await github.post(push, headers)).toBe(200);
    expect(await github.post(push, headers)).toBe(200);
    expect(await github.post(`${push} `, headers)).toBe(401);
    expect(await github.post(push, {})).toBe(401);
    expect(await github.post("x".repeat(1001), headers)).toBe(413);
    expect(await bookings(github.world.opened)).toEqual(["guid-1"]);

    const scheme = stripeWebhooks({ webhooks: Stripe.webhooks, secret });
    const stripe = await setUp(suite, scheme);
    const payload = JSON.stringify({
      id: "evt_1",
      object: "event",
      type: "charge.refunded",
      data: { object: { id: "ch_1" } },
    });
    const sign = (timestamp: number) => ({
      "stripe-signature": Stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp }),
    });
    expect(await stripe.post(payload, sign(now()))).toBe(200);
    expect(await stripe.post(payload, sign(now() - 10))).toBe(200);
    expect(await stripe.post(payload, sign(now() - 600))).toBe(401);
    expect(await bookings(stripe.world.opened)).toEqual(["evt_1"]);
  });
});
