/**
 * Refunds and payouts through the official SDK's client and real HTTP: a refund is sent once and found
 * in its order; a payout's repeat is led to the first batch.
 */
import { Agent } from "node:https";
import { type Socket, connect as connectTo } from "node:net";
import { Client } from "@paypal/paypal-server-sdk";
import { describe, expect, it } from "vitest";
import {
  type PaypalPayoutRequest,
  paypalPayout,
} from "../../../src/edges/providers/paypal-payouts.ts";
import { paypalRefund } from "../../../src/edges/providers/paypal.ts";
import { PaypalError, classifyPaypal } from "../../../src/edges/providers/shared/paypal-client.ts";
import { startPaypalPayouts, startPaypalRefunds } from "../../support/providers/paypal.ts";
import { describeAdapter } from "./conformance.ts";

/** The SDK's addresses are fixed, so that every connection leads to the counterpart, in the clear. */
class LocalAgent extends Agent {
  readonly #port: number;

  constructor(url: string) {
    super();
    this.#port = Number(new URL(url).port);
  }

  override createConnection(): Socket {
    return connectTo(this.#port, "127.0.0.1");
  }
}

const secrets = { oAuthClientId: "id", oAuthClientSecret: "secret" };
const oAuthToken = {
  accessToken: "A21",
  tokenType: "Bearer",
  expiresIn: 32_400n,
  expiry: 4_102_444_800n,
};

/** With the SDK's own retries on: the adapter has to keep them in check. */
function connect(url: string, credentials: object = { ...secrets, oAuthToken }): Client {
  return new Client({
    clientCredentialsAuthCredentials: credentials as typeof secrets,
    httpClientOptions: {
      httpsAgent: new LocalAgent(url),
      retryConfig: {
        maxNumberOfRetries: 3,
        retryOnTimeout: true,
        retryInterval: 0.01,
        maximumRetryWaitTime: 1,
        backoffFactor: 1,
        httpStatusCodesToRetry: [429, 500, 502, 503, 504],
        httpMethodsToRetry: ["POST"],
      },
    },
  });
}

const classes = {
  400: "refused",
  401: "not-executed",
  403: "not-executed",
  404: "refused",
  422: "refused",
  429: "not-executed",
} as const;

const amount = (value: string): { value: string; currency_code: string } => ({
  value,
  currency_code: "EUR",
});

describeAdapter({
  title: "PayPal refunds",
  args: { captureId: "2GG279541U471931P", amount: "480.00" },
  start: startPaypalRefunds,
  parts: (url, bounds) =>
    paypalRefund(connect(url), {
      ...bounds,
      request: (args) => ({
        captureId: args.captureId,
        amount: amount(args.amount),
        note_to_payer: "Parcel arrived broken",
      }),
    }),
  tagOf: ({ body }) => (JSON.parse(body) as { custom_id: string }).custom_id,
  classes,
  passing: {
    credentials: [[401]],
    permission: [[403]],
    rate: [[429]],
    balance: [[422, "REFUND_FAILED_INSUFFICIENT_FUNDS"]],
  },
  keepsError: () => false,
  twin: (resource) => ({ ...resource, id: "R-twin" }),
  foreign: (resource) => ({ ...resource, id: "R-foreign", custom_id: "by-hand" }),
  differing: (resource) => ({ ...resource, amount: amount("1.00") }),
  pending: (resource) => ({ ...resource, status: "PENDING" }),
  failed: (resource) => ({ ...resource, status: "FAILED" }),
  answersFailed: { status: "FAILED" },
});

describeAdapter({
  title: "PayPal payouts",
  args: { receiver: "ada@example.com", amount: "480.00" },
  start: startPaypalPayouts,
  parts: (url, bounds) =>
    paypalPayout(connect(url), {
      ...bounds,
      request: (args) => ({
        sender_batch_header: { email_subject: "Your payout" },
        items: [{ receiver: args.receiver, amount: { value: args.amount, currency: "EUR" } }],
      }),
    }),
  tagOf: ({ body }) =>
    (JSON.parse(body) as { sender_batch_header: Record<string, string> }).sender_batch_header[
      "sender_batch_id"
    ],
  classes,
  passing: {
    credentials: [[401]],
    permission: [[403]],
    rate: [[429]],
    balance: [[422, "REFUND_FAILED_INSUFFICIENT_FUNDS"]],
  },
  keepsError: () => false,
  blind: true,
  pointer: true,
  foreign: (resource) => ({
    ...resource,
    batch_header: {
      ...(resource["batch_header"] as object),
      sender_batch_header: { sender_batch_id: "by-hand" },
    },
  }),
  differing: (resource) => ({
    ...resource,
    items: [
      {
        payout_item: { receiver: "eve@example.com", amount: { value: "480.00", currency: "EUR" } },
      },
    ],
  }),
});

describe("a PayPal tool", () => {
  const options = {
    request: () => ({ captureId: "C1" }),
    timeoutMs: 1000,
    flightMs: 1000,
  };
  const { signal } = new AbortController();
  const notSent = (cause: unknown): Error => new Error("not sent", { cause });
  const call = { key: "k", wireKey: "w", beforeWrite: () => {}, notSent, signal } as never;

  it("isn't made without credentials", async () => {
    for (const client of [undefined, {}, new Client(), connect("http://127.0.0.1:9", {})])
      await expect(paypalRefund(client as never, options)).rejects.toMatchObject({
        code: "TOOL_INVALID",
      });
  });

  it("whose token can't be had has sent nothing, and says so", async () => {
    const counterpart = await startPaypalRefunds();
    await counterpart.close();
    const { execute } = await paypalRefund(connect(counterpart.url, secrets), options);
    await expect(execute({}, call)).rejects.toThrow("not sent");
  });

  it("gets its token first, and sends once", async () => {
    const counterpart = await startPaypalRefunds();
    const { execute } = await paypalRefund(connect(counterpart.url, secrets), options);
    expect(await execute({}, call)).toMatchObject({ status: "COMPLETED" });
    expect(counterpart.looks.map(({ path }) => path)).toEqual(["/v1/oauth2/token"]);
    expect(counterpart.sends[0]?.headers["authorization"]).toBe("Bearer A21");
    await counterpart.close();
  });

  it("doesn't take an order that hides the capture for one without refunds", async () => {
    const counterpart = await startPaypalRefunds();
    const { contract } = await paypalRefund(connect(counterpart.url), {
      ...options,
      request: () => ({ captureId: "HIDDEN" }),
    });
    const question = { tenant: "acme", key: "k", wireKeys: [], arguments: {}, signal };
    expect(await contract.lookUp?.find(question)).toMatchObject({ answer: "unsure" });
    await counterpart.close();
  });

  it("doesn't take a batch that was denied, or another's, for a payout", async () => {
    const counterpart = await startPaypalPayouts();
    const tool = await paypalPayout(connect(counterpart.url), {
      ...options,
      request: () => ({ items: [] }),
    });
    const proves = async (batch_status: string, sender_batch_id: string): Promise<unknown> => {
      const sender_batch_header = { sender_batch_id };
      const batch_header = { payout_batch_id: "P1", batch_status, sender_batch_header };
      counterpart.reset();
      counterpart.fault({ makes: { batch_header } });
      return tool.execute({}, call).then(
        () => "done",
        (error: unknown) => tool.contract.classify?.(error),
      );
    };
    expect(await proves("DENIED", "w")).toBe("definitive");
    expect(await proves("PENDING", "another")).toBe("unknown");
    expect(await proves("PENDING", "w")).toBe("done");
    await counterpart.close();
  });

  it("takes no batch for its own whose items aren't those that were asked for", async () => {
    const counterpart = await startPaypalPayouts();
    const item = (receiver: string, value: string): PaypalPayoutRequest["items"][number] => ({
      receiver,
      amount: { value, currency: "EUR" },
    });
    const many = Array.from({ length: 1500 }, (_, at) => item(`r${at}@example.com`, "1.00"));
    const tool = await paypalPayout(connect(counterpart.url), {
      ...options,
      request: () => ({ items: many }),
    });
    const found = async (change: (items: typeof many) => typeof many): Promise<unknown> => {
      counterpart.reset();
      await tool.execute({}, call);
      const [effect] = counterpart.effects;
      if (effect === undefined) throw new Error("nothing was paid out");
      const items = change(many).map((payout_item) => ({ payout_item }));
      effect.resource = { ...effect.resource, items };
      return tool.execute({}, call).then(
        () => "done",
        (error: unknown) => tool.contract.classify?.(error),
      );
    };
    const last = item("r1499@example.com", "1.00");
    expect(await found((items) => items.toReversed())).toBe("done");
    expect(await found((items) => [...items.slice(0, -1), item("R1499@example.com", "1.0")])).toBe(
      "done",
    );
    expect(await found((items) => items.slice(0, -1))).toBe("unknown");
    expect(await found((items) => [...items, last])).toBe("unknown");
    for (const other of [item("eve@example.com", "1.00"), item(last.receiver, "9.00")])
      expect(await found((items) => [...items.slice(0, -1), other])).toBe("unknown");
    await counterpart.close();
  });

  it("takes nothing for refused but what is documented", () => {
    const proves = (...issues: string[]): string => {
      const details = issues.map((issue) => ({ issue }));
      return classifyPaypal(new PaypalError(422, { name: "UNPROCESSABLE_ENTITY", details }, ""));
    };
    expect(proves("CAPTURE_FULLY_REFUNDED")).toBe("refused");
    expect(proves("CAPTURE_FULLY_REFUNDED", "TRANSACTION_REFUSED")).toBe("unknown");
    expect(proves("PREVIOUS_REQUEST_IN_PROGRESS")).toBe("unknown");
    expect(proves()).toBe("unknown");
  });
});
