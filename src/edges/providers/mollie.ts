/**
 * Mollie: refunds of payments, over this package's own HTTP client.
 *
 * Not over `@mollie/api-client`: that one builds its transport in, sends up to three times after a 5xx,
 * and lets neither be changed, so that one attempt could not be held to one send.
 *
 * Mollie keeps a key for one hour (https://docs.mollie.com/overview/api-idempotency) and doesn't say what
 * it keeps of an error, so a refund is sent once; after a doubt the payment's refunds are listed, and told
 * by their metadata (https://docs.mollie.com/reference/list-refunds).
 *
 * @module
 */
import type { FoundEffect, LookUpAnswer } from "../../guard/contract.ts";
import type { ExecuteCall } from "../../guard/tool.ts";
import { mollie } from "./contracts/payments.ts";
import {
  type AdapterOptions,
  type AdapterParts,
  classifyFailed,
  difference,
  findTagged,
  isObject,
  tagName,
  unlessFailed,
} from "./shared/adapter.ts";
import { contractParts, lookUpFacts, refuseProvider } from "./shared/contract-parts.ts";
import { type MollieReply, classifyMollie, jsonOf } from "./shared/mollie-reply.ts";
import { sendOnce } from "./shared/send-once.ts";

/** What is used of `createIdempotentFetch({ Agent })` of `nevertwice/http`; leave its options alone. */
export interface MollieSend {
  (
    url: string,
    request: { readonly headers: Readonly<Record<string, string>>; readonly json: unknown },
    call: Pick<ExecuteCall, "wireKey" | "signal" | "beforeWrite" | "sendWithinMs" | "notSent">,
  ): Promise<MollieReply>;
  close(): Promise<void>;
}

/** Options of a Mollie tool. */
export interface MollieOptions<Args> extends AdapterOptions<Args, MollieRefundRequest> {
  /** An API key (`live_…`, `test_…`) or an access token. */
  readonly apiKey: string;
  /** Default `https://api.mollie.com`. */
  readonly apiUrl?: string;
}

interface Money {
  readonly currency: string;
  readonly value: string;
}

/** A refund. The operation's key joins its metadata, so that this must be an object. */
export interface MollieRefundRequest {
  readonly paymentId: string;
  readonly amount: Money;
  readonly description?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** What is kept of a refund. */
export interface MollieRefund {
  readonly id: string;
  readonly status: string | null;
  readonly amount: string | null;
  readonly currency: string | null;
}

/** A refund as Mollie shows it. */
interface Shown {
  readonly id?: unknown;
  readonly status?: string;
  readonly amount?: Money;
  readonly metadata?: unknown;
}

/**
 * A tool that refunds a payment.
 *
 * @throws {NeverTwiceError} TOOL_INVALID without an HTTP client or an API key.
 *
 * @example
 * import { Agent } from "undici";
 * const send = createIdempotentFetch({ Agent });
 * ...(await mollieRefund(send, { apiKey, request: …, timeoutMs: 30_000, flightMs: 120_000 }))
 */
export async function mollieRefund<Args>(
  send: MollieSend,
  options: MollieOptions<Args>,
): Promise<AdapterParts<Args, MollieRefund>> {
  const { request, apiKey, apiUrl = "https://api.mollie.com", ...bounds } = options;
  // A bare `fetch` would tell nobody when it writes.
  if (typeof send?.close !== "function")
    refuseProvider(
      mollie.title,
      "it needs what `createIdempotentFetch` of `nevertwice/http` makes",
    );
  if (typeof apiKey !== "string" || apiKey === "")
    refuseProvider(mollie.title, "`apiKey` is missing");
  const headers = { authorization: `Bearer ${apiKey}` };
  const urlOf = (paymentId: string): string =>
    `${apiUrl}/v2/payments/${encodeURIComponent(paymentId)}/refunds`;
  return {
    contract: {
      ...contractParts(mollie, bounds),
      classify: classifyFailed(classifyMollie),
      providerId: ({ id }) => id,
      lookUp: {
        ...lookUpFacts(mollie),
        find: ({ arguments: args, key, signal }) => {
          const asked = request(args);
          const pages = pagesOf(urlOf(asked.paymentId), { headers, signal, redirect: "error" });
          return findRefund(pages, asked, key);
        },
      },
    },
    execute: async (args, call) => {
      const reply = await sendOnce(call, (gate) => {
        const { paymentId, metadata, ...asked } = request(args);
        const json = { ...asked, metadata: { ...metadata, [tagName]: call.key } };
        const attempt = { ...call, beforeWrite: () => gate.pass() };
        return send(urlOf(paymentId), { headers, json }, attempt);
      });
      const refund: Shown = jsonOf(reply);
      if (typeof refund.id !== "string") throw new Error("Mollie's answer holds no refund");
      return refundOf(unlessFailed(refund, statusOf(refund)));
    },
  };
}

function findRefund(
  pages: AsyncIterable<readonly Shown[]>,
  { amount }: MollieRefundRequest,
  key: string,
): Promise<LookUpAnswer<MollieRefund>> {
  return findTagged(pages, {
    isOurs: ({ metadata }) => isObject(metadata) && metadata[tagName] === key,
    effectOf: (refund) => ({
      status: statusOf(refund),
      result: refundOf(refund),
      providerId: String(refund.id),
      ...difference({
        amount: [Number(amount.value), Number(refund.amount?.value)],
        currency: [amount.currency, refund.amount?.currency],
      }),
    }),
  });
}

async function* pagesOf(url: string, how: RequestInit): AsyncGenerator<readonly Shown[]> {
  for (let from: string | null | undefined = undefined; ;) {
    const cursor: string = typeof from === "string" ? `&from=${encodeURIComponent(from)}` : "";
    const response: Response = await fetch(`${url}?limit=250${cursor}`, how);
    const page: unknown = response.ok ? await response.json() : undefined;
    const { _embedded, _links } = (page ?? {}) as {
      _embedded?: { refunds?: unknown };
      _links?: { next?: { href?: string } | null };
    };
    // Anything but a list is no empty list.
    if (!Array.isArray(_embedded?.refunds))
      throw new Error(`Mollie's answer (${response.status}) holds no list`);
    yield _embedded.refunds as readonly Shown[];
    const next = _links?.next?.href;
    if (next === undefined) return;
    from = new URL(next).searchParams.get("from");
    if (from === null) throw new Error("Mollie says that there is more, and not where");
  }
}

/** One of queued, pending, processing, refunded, failed and canceled (https://docs.mollie.com/docs/refunds). */
function statusOf({ status }: Shown): FoundEffect<MollieRefund>["status"] {
  if (status === "refunded") return "succeeded";
  return status === "failed" || status === "canceled" ? "failed" : "pending";
}

function refundOf({ id, status, amount }: Shown): MollieRefund {
  const { value = null, currency = null } = amount ?? {};
  return { id: String(id), status: status ?? null, amount: value, currency };
}
