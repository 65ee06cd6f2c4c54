/**
 * E-mails over the official SDK and real HTTP: one send, and nothing to look it up by, so that a doubt
 * goes to a person.
 */
import { Resend } from "resend";
import { expect, it } from "vitest";
import { resendEmail } from "../../../src/edges/providers/resend.ts";
import { startResend } from "../../support/providers/resend.ts";
import { describeAdapter } from "./conformance.ts";

const email = { from: "shop@example.com", subject: "Your order", text: "It is on its way." };
const same = (resource: Record<string, unknown>): Record<string, unknown> => resource;

describeAdapter({
  title: "Resend e-mails",
  args: { to: "ada@example.com" },
  start: startResend,
  parts: (url, bounds) =>
    resendEmail(new Resend("re_1", { baseUrl: url }), {
      ...bounds,
      request: ({ to }) => ({ ...email, to, tags: [{ name: "order", value: "8812" }] }),
    }),
  tagOf: ({ body }) =>
    (JSON.parse(body) as { tags: { name: string; value: string }[] }).tags.find(
      ({ name }) => name === "nevertwice_key",
    )?.value,
  classes: {
    400: "refused",
    401: "not-executed",
    403: "not-executed",
    404: "refused",
    422: "refused",
    429: "not-executed",
  },
  passing: {
    credentials: [[401], [401, "validation_error"], [403, "invalid_api_key"]],
    permission: [[403], [401, "restricted_api_key"], [403, "validation_error"]],
    rate: [[429]],
    quota: [
      [429, "daily_quota_exceeded"],
      [429, "monthly_quota_exceeded"],
    ],
  },
  keepsError: () => false,
  blind: true,
  foreign: same,
  differing: same,
});

it("an instance without a key makes no tool", async () => {
  const options = { request: () => ({ ...email, to: "a@b.c" }), timeoutMs: 1000, flightMs: 1000 };
  await expect(resendEmail({} as never, options)).rejects.toMatchObject({ code: "TOOL_INVALID" });
});

it("a validation error about the API key is one that another key may get over", async () => {
  const counterpart = await startResend();
  const { contract, execute } = await resendEmail(
    new Resend("re_1", { baseUrl: counterpart.url }),
    {
      request: () => ({ ...email, to: "a@b.c" }),
      timeoutMs: 1000,
      flightMs: 1000,
    },
  );
  const { signal } = new AbortController();
  const call = { key: "k", wireKey: "w", beforeWrite: () => {}, signal } as never;
  const proves = async (status: number): Promise<unknown> => {
    counterpart.fault({ refuse: status, code: "validation_error" });
    return execute({}, call).then(
      () => "done",
      (error: unknown) => contract.classify?.(error),
    );
  };
  expect([await proves(400), await proves(401), await proves(403)]).toEqual([
    "refused",
    "not-executed",
    "not-executed",
  ]);
  await counterpart.close();
});
