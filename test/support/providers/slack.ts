/**
 * Slack's counterpart: no key, errors in answers of status 200, and a history that shows metadata.
 */
import { Counterpart, type ProviderRules, json } from "./counterpart.ts";

const own = { "x-slack-req-id": "req-1" };

const codes: Readonly<Record<number, string>> = {
  400: "invalid_arguments",
  401: "invalid_auth",
  403: "missing_scope",
  404: "channel_not_found",
  422: "invalid_blocks",
};

const rules: ProviderRules = {
  isCreate: ({ path }) => path.endsWith("/chat.postMessage"),
  keyOf: () => undefined,
  create: ({ body }, id) => {
    const form = new URLSearchParams(body);
    const metadata = JSON.parse(form.get("metadata") ?? "{}") as unknown;
    const { channel, text, thread_ts } = Object.fromEntries(form);
    return { resource: { ts: `1780000000.00${id}`, channel, text, thread_ts, metadata } };
  },
  show: ({ resource }) =>
    json(200, { ok: true, channel: resource["channel"], ts: resource["ts"] }, own),
  refusal: (status, code) => {
    if (code === undefined && status === 429)
      return json(429, { ok: false, error: "ratelimited" }, { ...own, "retry-after": "30" });
    return json(200, { ok: false, error: code ?? codes[status] ?? "internal_error" }, own);
  },
  look: ({ path, body }, visible) => {
    const form = new URLSearchParams(body);
    const inThread = path.endsWith("/conversations.replies");
    const shown = visible
      .map(({ resource }) => resource)
      .filter(({ channel }) => channel === form.get("channel"))
      .filter(({ thread_ts }) => thread_ts === (inThread ? form.get("ts") : undefined))
      .toReversed();
    const from = Number(form.get("cursor") ?? 0);
    const to = from + Number(form.get("limit"));
    const next_cursor = to < shown.length ? String(to) : "";
    const messages = shown.slice(from, to);
    return json(200, { ok: true, messages, response_metadata: { next_cursor } }, own);
  },
};

export function startSlack(): Promise<Counterpart> {
  return Counterpart.start(rules);
}
