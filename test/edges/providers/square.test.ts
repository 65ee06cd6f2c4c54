/**
 * Square's refunds over the official SDK and real HTTP: one send, found again by the end of the reason.
 */
import { SquareClient } from "square";
import { describe, expect, it } from "vitest";
import { squareRefund } from "../../../src/edges/providers/square.ts";
import { squareError, startSquare } from "../../support/providers/square.ts";
import { describeAdapter } from "./conformance.ts";

/** With the SDK's own retries on: the adapter has to keep them in check. */
function connect(url: string): SquareClient {
  return new SquareClient({ token: "EAAA", baseUrl: url, maxRetries: 3 });
}

describeAdapter({
  title: "Square refunds",
  args: { paymentId: "pay_8812", amountMinor: 48_000 },
  start: startSquare,
  parts: (url, bounds) =>
    squareRefund(connect(url), {
      ...bounds,
      request: ({ paymentId, amountMinor }) => ({
        paymentId,
        amountMoney: { amount: BigInt(amountMinor), currency: "EUR" },
        reason: "Parcel arrived broken",
      }),
    }),
  tagOf: ({ body }) =>
    /^Parcel arrived broken nevertwice_key:(.+)$/.exec(
      (JSON.parse(body) as { reason: string }).reason,
    )?.[1],
  classes: {
    400: "refused",
    401: "not-executed",
    403: "not-executed",
    404: "refused",
    429: "not-executed",
  },
  passing: { credentials: [[401]], permission: [[403]], rate: [[429]] },
  keepsError: () => false,
  twin: (resource) => ({ ...resource, id: "refund-twin" }),
  foreign: (resource) => ({ ...resource, id: "refund-foreign", reason: "Parcel arrived broken" }),
  differing: (resource) => ({ ...resource, amount_money: { amount: 1, currency: "EUR" } }),
  pending: (resource) => ({ ...resource, status: "PENDING" }),
  failed: (resource) => ({ ...resource, status: "REJECTED" }),
  answersFailed: { status: "REJECTED" },
});

describe("a Square tool", () => {
  const options = { timeoutMs: 1000, flightMs: 1000 };
  const amountMoney = { amount: 1n, currency: "EUR" } as const;
  const request = (): { paymentId: string; amountMoney: typeof amountMoney } => ({
    paymentId: "p",
    amountMoney,
  });

  it("isn't made of a client without a token, or with a fetcher of its own", async () => {
    const without = new SquareClient({ token: undefined as never });
    const fetcher = new SquareClient({ token: "EAAA", fetcher: (async () => {}) as never });
    for (const client of [undefined, {}, without, fetcher]) {
      await expect(squareRefund(client as never, { ...options, request })).rejects.toMatchObject({
        code: "TOOL_INVALID",
      });
    }
  });

  it("whose reason leaves no room for the key sends nothing, and says so", async () => {
    const { execute } = await squareRefund(connect("http://127.0.0.1:9"), {
      ...options,
      request: () => ({ ...request(), reason: "r".repeat(113) }),
    });
    const notSent = (cause: unknown): Error => new Error("not sent", { cause });
    const key = "ab".repeat(32);
    const call = { key, wireKey: "w", beforeWrite: () => {}, notSent } as never;
    await expect(execute({}, call)).rejects.toThrow("not sent");
  });

  it("leaves open what an error of a refund or of a used key proves", async () => {
    const tool = await squareRefund(connect("http://127.0.0.1:9"), { ...options, request });
    const proves = (status: number, code: string): unknown =>
      tool.contract.classify?.({
        statusCode: status,
        body: JSON.parse(squareError(status, code).body) as unknown,
      });
    expect(proves(400, "IDEMPOTENCY_KEY_REUSED")).toBe("unknown");
    expect(proves(402, "REFUND_DECLINED")).toBe("unknown");
    expect(proves(400, "REFUND_AMOUNT_INVALID")).toBe("refused");
    expect(proves(422, "REFUND_AMOUNT_INVALID")).toBe("unknown");
  });
});
