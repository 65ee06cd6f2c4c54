/**
 * The configuration: every fault is told at start, with its line and what to do; secrets don't stand
 * in the file; the published schema is the one that is checked.
 */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { NeverTwiceError } from "../../src/index.ts";
import { configSchema } from "../../src/gateway/config/config-schema.ts";
import { readConfig } from "../../src/gateway/config/load-config.ts";
import type { GuardPolicy } from "../../src/edges/mcp/tool-policy.ts";

const whole = `store: ./nevertwice.sqlite
context:
  tenant: { value: acme }
upstreams:
  shop: { command: node, args: [shop.mjs], env: { SHOP_TOKEN: "\${SHOP_TOKEN}" } }
  crm: { url: "https://crm.example/mcp", headers: { authorization: "Bearer \${CRM_TOKEN}" } }
tools:
  shop/issue_refund:
    kind: non-idempotent
    intent: refund:{args.order_id}:{trusted.ticket}
    businessArguments: { order_id: [trim, lower-case], amount_minor: }
    freeText: [reason]
    key: { argument: idempotency_key, retention: 24h, atomic: true, afterError: replays }
    mode: window
    timeout: 30s
  shop/list_refunds: { kind: read-only }
`;
const environment = {
  SHOP_TOKEN: "s3cret-of-the-shop",
  CRM_TOKEN: "s3cret-of-the-crm",
  REVIEW_SECRET: "s3cret-of-the-review-dialogues-32b",
};

function read(text: string): ReturnType<typeof readConfig> {
  return readConfig("/etc/nevertwice.yaml", text, environment);
}

/** Every fault of a configuration, as it is told. */
function faultsOf(text: string): readonly string[] {
  try {
    read(text);
  } catch (error) {
    if (!(error instanceof NeverTwiceError)) throw error;
    expect(error.code).toBe("CONFIGURATION_INVALID");
    return error.message.split("\n").slice(1);
  }
  return [];
}

it("a whole configuration is read, with defaults and variables filled in", () => {
  const config = read(whole);
  expect(config.store).toBe("/etc/nevertwice.sqlite");
  expect(config.upstreams.get("shop")).toMatchObject({
    env: { SHOP_TOKEN: "s3cret-of-the-shop" },
    protocol: "legacy",
  });
  expect(config.upstreams.get("crm")).toMatchObject({
    headers: { authorization: "Bearer s3cret-of-the-crm" },
    protocol: "auto",
  });
  const policy = config.policies.get("shop/issue_refund") as GuardPolicy;
  expect(policy.place).toBe("nevertwice.yaml:8");
  expect([policy.timeoutMs, policy.flightMs, policy.waitMs]).toEqual([30_000, 30_000, 20_000]);
  expect(policy.key).toMatchObject({ retentionMs: 86_400_000, shape: "uuid" });
  expect(config.unlisted).toBe("refuse");
});

const refund = "  shop/issue_refund:";
const cases: readonly [what: string, from: string, to: string, told: string][] = [
  [
    "an unknown server",
    refund,
    "  shpo/issue_refund:",
    "nevertwice.yaml:8: there is no server shpo in `upstreams` (shop, crm)",
  ],
  [
    "two policies for one tool",
    "  shop/list_refunds: { kind: read-only }",
    "  shop/issue_refund: { kind: read-only }",
    "nevertwice.yaml:16: there is a second shop/issue_refund here; leave one of them",
  ],
  [
    "an unknown part",
    "    mode: window",
    "    modus: window",
    "nevertwice.yaml:14: `modus` is not known in tools.shop/issue_refund",
  ],
  [
    "an unknown kind",
    "kind: non-idempotent",
    "kind: dangerous",
    "nevertwice.yaml:9: tools.shop/issue_refund.kind must be one of read-only, convergent, non-idempotent",
  ],
  [
    "a span without a unit",
    "timeout: 30s",
    "timeout: '30'",
    "nevertwice.yaml:15: tools.shop/issue_refund.timeout is not written as it must be: a span such as 30s, 24h or 45d",
  ],
  [
    "a brace without its partner",
    "refund:{args.order_id}:{trusted.ticket}",
    "refund:{args.order_id",
    "nevertwice.yaml:10: the template of `intent` has a brace without its partner",
  ],
  [
    "a place that names nothing",
    "{trusted.ticket}",
    "{}",
    "nevertwice.yaml:10: the template of `intent` has the place {}, which names nothing",
  ],
  [
    "an argument that is no business argument",
    "{args.order_id}",
    "{args.order}",
    "nevertwice.yaml:10: the template of `intent` names the argument order, which is not one of `businessArguments`",
  ],
  [
    "free text in an intent",
    "{args.order_id}",
    "{args.reason}",
    "nevertwice.yaml:10: the template of `intent` names the argument reason, which is not one of `businessArguments`",
  ],
  [
    "an intent without a place",
    "refund:{args.order_id}:{trusted.ticket}",
    "refund",
    "nevertwice.yaml:10: the template of `intent` names no argument and no trusted id, so every call would be the same",
  ],
  [
    "places without a separator",
    "{args.order_id}:{trusted.ticket}",
    "{args.order_id}-{trusted.ticket}",
    'nevertwice.yaml:10: the template of `intent` needs a separator such as ":" behind {args.order_id}: without one, two different intents could read the same',
  ],
  [
    "a window without a key",
    "    key: { argument: idempotency_key, retention: 24h, atomic: true, afterError: replays }\n",
    "",
    "nevertwice.yaml:8: The tool shop/issue_refund can't be registered: mode `window` resends under the provider's key, but `contract.key` is missing.",
  ],
  [
    "a key that travels twice",
    "argument: idempotency_key",
    "argument: idempotency_key, meta: key",
    "nevertwice.yaml:13: `key` needs one of argument, meta and header: how it travels",
  ],
  [
    "a header for a command",
    "argument: idempotency_key",
    "header: Idempotency-Key",
    "nevertwice.yaml:13: a header needs a url, and shop is a command",
  ],
  [
    "guarded parts of a read-only tool",
    "{ kind: read-only }",
    "{ kind: read-only, timeout: 3s }",
    "nevertwice.yaml:16: `timeout` belongs to a non-idempotent tool only",
  ],
  [
    "an argument in two lists",
    "freeText: [reason]",
    "freeText: [reason, order_id]",
    "nevertwice.yaml:12: order_id is a business argument and free text at once",
  ],
  [
    "an unknown normaliser",
    "[trim, lower-case]",
    "[trim, shorten]",
    "nevertwice.yaml:11: tools.shop/issue_refund.businessArguments.order_id.1 must be one of trim, single-space, lower-case, upper-case, digits, integer, decimal",
  ],
  [
    "a variable that isn't set",
    "${SHOP_TOKEN}",
    "${SHOP_TOKNE}",
    "nevertwice.yaml:5: the environment variable SHOP_TOKNE is not set",
  ],
  [
    "a secret in an environment",
    '"${SHOP_TOKEN}"',
    "abc123abc123",
    "nevertwice.yaml:5: a secret must not stand in the file; write ${ENV_VARIABLE} in its place and set that variable",
  ],
  [
    "a secret in a header",
    "Bearer ${CRM_TOKEN}",
    "Bearer abc123abc123",
    "nevertwice.yaml:6: a secret must not stand in the file; write ${ENV_VARIABLE} in its place and set that variable",
  ],
  [
    "a secret that looks like one",
    "args: [shop.mjs]",
    "args: [--key, sk_live_abcdefgh123]",
    "nevertwice.yaml:5: a secret must not stand in the file; write ${ENV_VARIABLE} in its place and set that variable",
  ],
  [
    "a password in a URL",
    "store: ./nevertwice.sqlite",
    "store: postgres://app:hunter2@db/shop",
    "nevertwice.yaml:1: a password must not stand in a URL of the file; write ${ENV_VARIABLE} in its place and set that variable",
  ],
  [
    "a server that is both",
    "{ url:",
    "{ command: crm, url:",
    "nevertwice.yaml:6: the server crm needs either a command or a url",
  ],
  [
    "an address without tokens",
    "context:",
    "http: { host: 0.0.0.0 }\ncontext:",
    "nevertwice.yaml:2: 0.0.0.0 can be reached from elsewhere, so `http.tokens` is needed: who may call, and for which tenant",
  ],
];

it.each(cases)("%s is refused with its line", (_what, from, to, told) => {
  expect(whole).toContain(from);
  expect(faultsOf(whole.replace(from, () => to))).toContain(told);
});

it("a fault never repeats a secret", () => {
  const text = whole
    .replace('"${SHOP_TOKEN}"', "abc123abc123")
    .replace("timeout: 30s", "timeout: x");
  expect(faultsOf(text).join("\n")).not.toContain("abc123");
});

it("all faults are told at once", () => {
  const text = whole
    .replace("{args.order_id}", "{args.order}")
    .replace("freeText: [reason]", "freeText: [order_id]");
  expect(faultsOf(text)).toHaveLength(2);
});

it("nobody is asked in the agent's client unless the configuration says so, for all or for one", () => {
  const elicits = (more: string, own = ""): unknown =>
    (
      read(whole.replace("    timeout: 30s\n", `    timeout: 30s\n${own}`) + more).policies.get(
        "shop/issue_refund",
      ) as GuardPolicy
    ).elicit;
  const all = "review: { elicit: true }\n";
  expect([
    elicits(""),
    elicits(all),
    elicits(all, "    review: { elicit: false }\n"),
    elicits("", "    review: { elicit: true }\n"),
  ]).toEqual([false, true, false, true]);
  expect(read(whole).review).toEqual({ withinMs: 300_000 });
});

it("the secret of review dialogues is long, and not in the file", () => {
  expect(faultsOf(`${whole}review: { secret: "\${SHOP_TOKEN}" }\n`)).toEqual([
    "nevertwice.yaml:17: the secret of `review` must have at least 32 bytes",
  ]);
  expect(faultsOf(`${whole}review: { secret: it-stands-in-the-file-for-all-to-see }\n`)).toEqual([
    "nevertwice.yaml:17: a secret must not stand in the file; write ${ENV_VARIABLE} in its place and set that variable",
  ]);
});

it("what the guide and the reference write is a configuration", () => {
  const blocks = ["guides/mcp-gateway.md", "reference/gateway-config.md"].flatMap((name) => {
    const page = readFileSync(new URL(`../../docs/${name}`, import.meta.url), "utf8");
    return [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text]) => text ?? "");
  });
  expect(blocks.length).toBe(4);
  const servers = "upstreams: { shop: { command: shop } }\n";
  for (const block of blocks) {
    // A part of a policy stands in the policy of the guide.
    const policy = blocks[0] ?? "";
    const inside = block.replaceAll(/^/gm, "    ").replaceAll(/^ +$/gm, "");
    const list = "  shop/list_refunds: { kind: read-only }";
    const text = block.startsWith("reconcile:") ? `${policy}${inside}\n${list}` : block;
    expect(faultsOf(`${servers}${text}`)).toEqual([]);
  }
});

it("docs/reference/nevertwice.schema.json is the schema that is checked", () => {
  const file = new URL("../../docs/reference/nevertwice.schema.json", import.meta.url);
  expect(JSON.parse(readFileSync(file, "utf8"))).toEqual(JSON.parse(JSON.stringify(configSchema)));
});

it("a retention that duplicates outlive is told with its line", () => {
  const [fault, ...more] = faultsOf(`retention: 1d\n${whole}`);
  expect(more).toEqual([]);
  expect(fault).toMatch(/nevertwice\.yaml:1\b.*kept for 1 d/);
});
