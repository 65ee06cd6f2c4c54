/**
 * PayPal: payouts, over the client of the official `@paypal/paypal-server-sdk` package.
 *
 * A payout is completed only once for its `sender_batch_id` within 30 days, it may be sent again after a
 * 5xx, and a repeat is refused with a link to the first
 * (https://developer.paypal.com/api/payments.payouts-batch/v1/payouts-post).
 *
 * @module
 */
import type { Client } from "@paypal/paypal-server-sdk";
import { paypalPayouts } from "./contracts/paypal.ts";
import {
  type AdapterOptions,
  type AdapterParts,
  classifyFailed,
  unlessFailed,
} from "./shared/adapter.ts";
import { contractParts } from "./shared/contract-parts.ts";
import { type PaypalApi, PaypalError, classifyPaypal, paypalApi } from "./shared/paypal-client.ts";
import { sendOnce } from "./shared/send-once.ts";

/** A batch of payouts, in the names of the REST API. `sender_batch_id` is the adapter's. */
export interface PaypalPayoutRequest {
  readonly sender_batch_header?: Readonly<Record<string, string>>;
  readonly items: readonly {
    readonly amount: { readonly value: string; readonly currency: string };
    readonly receiver: string;
    readonly [field: string]: unknown;
  }[];
}

/** What is kept of a batch. PayPal goes on to pay its items: ask for their state when you need it. */
export interface PaypalPayout {
  readonly id: string;
}

/**
 * A tool that pays out a batch. It is done when PayPal has taken the batch. A repeat is led to the first
 * one, whose items are compared, and sent for as long as PayPal remembers the batch's id; after that, and where
 * the items are others, a person decides.
 *
 * @throws {NeverTwiceError} TOOL_INVALID when the client has no credentials.
 */
export async function paypalPayout<Args>(
  client: Client,
  options: AdapterOptions<Args, PaypalPayoutRequest>,
): Promise<AdapterParts<Args, PaypalPayout>> {
  const { request, ...bounds } = options;
  const api = paypalApi(paypalPayouts.title, client);
  return {
    contract: {
      ...contractParts(paypalPayouts, bounds),
      classify: classifyFailed((error) =>
        error instanceof PaypalError && linkedBatch(error) !== undefined
          ? "unknown"
          : classifyPaypal(error),
      ),
      providerId: ({ id }) => id,
    },
    execute: async (args, { wireKey, signal, ...call }) => {
      const batch = await sendOnce(call, (gate) => {
        const asked = request(args);
        const header = { ...asked.sender_batch_header, sender_batch_id: wireKey };
        const body = { ...asked, sender_batch_header: header };
        return api({ method: "POST", path: payoutsPath, body, signal, gate });
      }).catch(async (error: unknown) => {
        const first = error instanceof PaypalError ? linkedBatch(error) : undefined;
        if (first === undefined) throw error;
        return foundBatch(api, first, request(args), signal);
      });
      return payoutOf(batch, wireKey);
    },
  };
}

const payoutsPath = "/v1/payments/payouts";
const pageSize = 1000;

/** An item, as the batch shows it. */
interface ShownItem {
  readonly payout_item?: {
    readonly receiver?: string;
    readonly amount?: { readonly value?: string; readonly currency?: string };
  };
}

/**
 * The batch that a repeat was led to, read to its last item
 * (https://developer.paypal.com/api/payments.payouts-batch/v1/definitions/payout_batch).
 *
 * @throws when its items aren't those that were asked for: it is not ours, or not what we mean by it.
 */
async function foundBatch(
  api: PaypalApi,
  id: string,
  asked: PaypalPayoutRequest,
  signal: AbortSignal,
): Promise<Readonly<Record<string, unknown>>> {
  const shown: ShownItem[] = [];
  for (let page = 1; ; page += 1) {
    const path = `${payoutsPath}/${id}?page=${page}&page_size=${pageSize}`;
    const batch = await api({ method: "GET", path, signal });
    const items = (batch["items"] ?? []) as readonly ShownItem[];
    shown.push(...items);
    // A batch that doesn't show items yet shows none that are ours.
    if (items.length === pageSize) continue;
    if (isAsked(shown, asked)) return batch;
    throw new Error(`the batch ${id} doesn't hold the items that were asked for`);
  }
}

function isAsked(shown: readonly ShownItem[], { items }: PaypalPayoutRequest): boolean {
  const found = shown.map(({ payout_item: { receiver, amount } = {} }) =>
    itemText(receiver, amount?.value, amount?.currency),
  );
  const wanted = items.map(({ receiver, amount }) =>
    itemText(receiver, amount.value, amount.currency),
  );
  return JSON.stringify(found.toSorted()) === JSON.stringify(wanted.toSorted());
}

/** Amounts may be written in more than one way, and addresses too. */
function itemText(receiver = "", value = "", currency = ""): string {
  return JSON.stringify([receiver.toLowerCase(), Number(value), currency]);
}

/** The batch that a refused repeat links to, wherever in the refusal. */
function linkedBatch({ body }: PaypalError): string | undefined {
  const ids = [...body.matchAll(/\/v1\/payments\/payouts\/([\w-]+)/g)].map(([, id]) => id);
  return new Set(ids).size === 1 ? ids[0] : undefined;
}

/** The batch, if it is ours: anything else leaves the outcome open. */
function payoutOf(batch: Readonly<Record<string, unknown>>, wireKey: string): PaypalPayout {
  const { payout_batch_id, batch_status, sender_batch_header } = (batch["batch_header"] ?? {}) as {
    payout_batch_id?: unknown;
    batch_status?: string;
    sender_batch_header?: { sender_batch_id?: unknown };
  };
  if (typeof payout_batch_id !== "string" || sender_batch_header?.sender_batch_id !== wireKey)
    throw new Error("PayPal's answer doesn't hold the batch");
  const isDenied = batch_status === "DENIED" || batch_status === "CANCELED";
  return unlessFailed({ id: payout_batch_id }, isDenied ? "failed" : "pending");
}
