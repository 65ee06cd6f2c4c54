/**
 * Resend: e-mails, over the official `resend` package.
 *
 * Resend keeps a key for 24 hours (https://resend.com/docs/dashboard/emails/idempotency-keys), but what
 * it does with it after an error is not published, and no list shows tags. So an e-mail is sent once, and
 * after a doubt a person decides.
 *
 * @module
 */
import type { CreateEmailOptions, Resend } from "resend";
import type { ErrorClass } from "../../guard/contract.ts";
import { resend as contract } from "./contracts/saas.ts";
import { type AdapterOptions, type AdapterParts, tagName } from "./shared/adapter.ts";
import { contractParts, refuseProvider } from "./shared/contract-parts.ts";
import { checkOwnMethods } from "./shared/own-methods.ts";
import { sendOnce } from "./shared/send-once.ts";

/** What is kept of an e-mail. */
export interface ResendEmail {
  readonly id: string;
}

/** The parameters of an e-mail. Render `react` before: the SDK would do so between check and send. */
export type ResendEmailRequest = CreateEmailOptions & { readonly react?: never };

/**
 * A tool that sends an e-mail, with the operation's key as one of its tags.
 *
 * @throws {NeverTwiceError} TOOL_INVALID when the instance has no API key.
 */
export async function resendEmail<Args>(
  resend: Resend,
  options: AdapterOptions<Args, ResendEmailRequest>,
): Promise<AdapterParts<Args, ResendEmail>> {
  const { request, ...bounds } = options;
  if (typeof resend?.key !== "string" || resend.key === "")
    refuseProvider(contract.title, "it needs an instance of the resend package with an API key");
  checkOwnMethods(contract.title, resend, ["post", "fetchRequest"]);
  checkOwnMethods(contract.title, resend.emails, ["send", "create"]);
  return {
    contract: {
      ...contractParts(contract, bounds),
      classify,
      providerId: ({ id }) => id,
    },
    execute: async (args, call) => {
      const { data, error } = await sendOnce(call, (gate) => {
        const asked = request(args);
        const email = {
          ...asked,
          tags: [...(asked.tags ?? []), { name: tagName, value: call.key }],
        };
        const how = { idempotencyKey: call.wireKey, signal: call.signal, redirect: "manual" };
        gate.pass();
        // A redirect would be a second send. The SDK hands what it doesn't know to `fetch`.
        return resend.emails.send(email, how);
      });
      // The SDK returns its errors.
      if (error !== null) throw new ResendError(error);
      if (typeof data?.id !== "string") throw new Error("Resend's answer holds no e-mail");
      return { id: data.id };
    },
  };
}

/** What Resend answered, or what the SDK made of the lack of an answer. */
class ResendError extends Error {
  readonly code: unknown;
  readonly status: unknown;

  constructor(answer: {
    readonly name?: unknown;
    readonly statusCode?: unknown;
    readonly message?: string;
  }) {
    super(answer.message ?? "Resend gave no reason");
    this.code = answer.name;
    this.status = answer.statusCode;
  }
}

/** By Resend's own names (https://resend.com/docs/api-reference/errors). */
const errorClasses = new Map<unknown, ErrorClass>([
  ["invalid_access", "refused"],
  ["invalid_attachment", "refused"],
  ["invalid_from_address", "refused"],
  ["invalid_idempotency_key", "refused"],
  ["invalid_parameter", "refused"],
  ["invalid_region", "refused"],
  ["missing_required_field", "refused"],
  ["not_found", "refused"],
  ["validation_error", "refused"],
  ["daily_quota_exceeded", "not-executed"],
  ["invalid_api_key", "not-executed"],
  ["missing_api_key", "not-executed"],
  ["monthly_quota_exceeded", "not-executed"],
  ["rate_limit_exceeded", "not-executed"],
  ["restricted_api_key", "not-executed"],
]);

/** Both 409s are about a key that something was sent with, and `application_error` is anything. */
function classify(error: unknown): ErrorClass {
  if (!(error instanceof ResendError)) return "unknown";
  const proved = errorClasses.get(error.code) ?? "unknown";
  // A `validation_error` may also be about the API key or the sender's domain: by its status, or its message.
  const isAboutAccess =
    [401, 403].includes(Number(error.status)) || error.message.startsWith("API key is invalid");
  return proved === "refused" && isAboutAccess ? "not-executed" : proved;
}
