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
  keepsError: () => false,
  blind: true,
  foreign: same,
  differing: same,
});

it("an instance without a key makes no tool", async () => {
  const options = { request: () => ({ ...email, to: "a@b.c" }), timeoutMs: 1000, flightMs: 1000 };
  await expect(resendEmail({} as never, options)).rejects.toMatchObject({ code: "TOOL_INVALID" });
});
