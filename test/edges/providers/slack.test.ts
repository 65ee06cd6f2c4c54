/**
 * chat.postMessage over the official SDK and real HTTP: no key, one send, found again by its metadata.
 */
import { LogLevel, WebClient } from "@slack/web-api";
import { expect, it } from "vitest";
import { slackMessage } from "../../../src/edges/providers/slack.ts";
import { startSlack } from "../../support/providers/slack.ts";
import { describeAdapter } from "./conformance.ts";

/** With the SDK's own retries on: the adapter has to keep them in check. */
function connect(url: string): WebClient {
  return new WebClient("xoxb-1", { slackApiUrl: `${url}/api/`, logLevel: LogLevel.ERROR });
}

describeAdapter({
  title: "Slack chat.postMessage",
  args: { text: "Deployed 1.2.3" },
  start: startSlack,
  parts: (url, bounds) =>
    slackMessage(connect(url), {
      ...bounds,
      request: ({ text }) => ({ channel: "C1", text }),
    }),
  tagOf: ({ body }) => {
    const metadata = JSON.parse(new URLSearchParams(body).get("metadata") ?? "") as {
      event_payload: Record<string, unknown>;
    };
    return metadata.event_payload["nevertwice_key"];
  },
  classes: {
    400: "refused",
    401: "not-executed",
    403: "not-executed",
    404: "not-executed",
    422: "refused",
    429: "not-executed",
  },
  passing: {
    credentials: [[401], [401, "token_revoked"]],
    permission: [[403], [404], [403, "not_in_channel"], [403, "restricted_action"]],
    rate: [[429], [200, "rate_limited"]],
  },
  keepsError: () => false,
  twin: (resource) => ({ ...resource, ts: "1780000001.000001" }),
  foreign: (resource) => ({ ...resource, ts: "1780000002.000001", metadata: {} }),
  differing: (resource) => {
    const { event_payload } = resource["metadata"] as { event_payload: object };
    return {
      ...resource,
      metadata: { event_payload: { ...event_payload, nevertwice_request: 1 } },
    };
  },
});

const options = { timeoutMs: 1000, flightMs: 1000 };

it("a client without a token makes no tool", async () => {
  const request = (): { channel: string; text: string } => ({ channel: "C1", text: "t" });
  for (const client of [new WebClient(), {}, undefined]) {
    await expect(slackMessage(client as never, { ...options, request })).rejects.toMatchObject({
      code: "TOOL_INVALID",
    });
  }
});

it("an answer in a thread is looked for in the thread, to its end", async () => {
  const counterpart = await startSlack();
  const { contract, execute } = await slackMessage(connect(counterpart.url), {
    ...options,
    request: () => ({ channel: "C1", text: "t", thread_ts: "1.0" }),
  });
  const { signal } = new AbortController();
  const question = { tenant: "acme", key: "k", wireKeys: [], arguments: {}, signal };
  expect(await contract.lookUp?.find(question)).toEqual({ answer: "absent" });
  const { ts } = await execute({}, { key: "k", beforeWrite: () => {}, signal } as never);
  for (let other = 0; other < 250; other += 1)
    counterpart.plant({ ts: `9.${other}`, channel: "C1", thread_ts: "1.0" });
  expect(await contract.lookUp?.find(question)).toMatchObject({
    answer: "found",
    effects: [{ providerId: ts }],
  });
  await counterpart.close();
});
