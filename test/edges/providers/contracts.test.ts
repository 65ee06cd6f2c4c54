/**
 * The contracts as data: well-formed, no claim beyond its source, and nothing leaned on that is in
 * doubt. `docs/reference/providers.md` is made of them.
 */
import { format, resolveConfig } from "prettier";
import { describe, expect, it } from "vitest";
import { formatSpan } from "../../../src/base/duration.ts";
import {
  type ProviderContract,
  contractParts,
  declareProvider,
  isStale,
  keyContract,
  lookUpFacts,
  modeOf,
  providerContracts,
  staleAfterMs,
} from "../../../src/edges/providers/index.ts";
import { type WireKeyShape, defineTool, wireKeyLengths, wireKeyOf } from "../../../src/index.ts";

const limits = { timeoutMs: 1000, flightMs: 1000 };
const keyed = providerContracts.filter(({ key }) => key !== null);

function named(name: string): ProviderContract {
  const found = providerContracts.find((provider) => provider.name === name);
  if (found === undefined) throw new Error(`there is no contract of ${name}`);
  return found;
}

function refusalOf(make: () => unknown): string {
  try {
    make();
  } catch (error) {
    expect(error).toMatchObject({ code: "TOOL_INVALID" });
    return (error as Error).message;
  }
  throw new Error("it was not refused");
}

describe("every contract", () => {
  it("has a name of its own, sources and a day on which they were read", () => {
    expect(providerContracts.length).toBeGreaterThanOrEqual(40);
    const names = providerContracts.map(({ name }) => name);
    expect(names).toEqual([...new Set(names)].toSorted());
    for (const { name, title, covers, sources, checkedOn } of providerContracts) {
      expect(name).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
      expect(title.length * covers.length, name).toBeGreaterThan(0);
      expect(checkedOn, name).toMatch(/^20\d\d-\d\d-\d\d$/);
      for (const { url, asOf = "2026-01" } of sources) {
        expect(new URL(url).protocol, name).toBe("https:");
        expect(asOf, name).toMatch(/^20\d\d-\d\d$/);
      }
    }
  });

  it("says how it can be found again, or that it can't be", () => {
    for (const { name, kind, key, lookUp, tag } of providerContracts) {
      if (kind === "look-up-only")
        expect([key, lookUp === null, tag === null], name).toEqual([null, false, false]);
      if (kind === "nothing") expect(key, name).toBeNull();
      if (kind === "replay" || kind === "pointer") expect(key, name).not.toBeNull();
    }
  });

  it.each(keyed)("$name takes the key in the shape that it is sent in", (provider) => {
    const { key } = provider;
    if (key === null) throw new Error("it has no key");
    const sent = keyContract(provider);
    if (sent === undefined) throw new Error("no key is sent");
    for (const digit of ["0", "7", "f"]) {
      const wireKey = wireKeyOf(digit.repeat(64), sent);
      expect(wireKey.length).toBeLessThanOrEqual(key.maxLength ?? Infinity);
      expect(wireKey.length).toBeGreaterThanOrEqual(key.minLength ?? 0);
      if (key.charset !== null) expect(wireKey).toMatch(new RegExp(`^${key.charset}+$`));
    }
  });

  it.each(providerContracts)(
    "$name registers with what it allows, and with no more",
    (provider) => {
      const tool = (mode?: "window"): unknown =>
        defineTool({
          name: "tool",
          kind: "non-idempotent",
          arguments: { "~standard": { version: 1, vendor: "t", validate: (value) => ({ value }) } },
          intent: () => "the one",
          businessArguments: ["order"],
          contract: contractParts(provider, mode === undefined ? limits : { ...limits, mode }),
          execute: () => "done",
        } as Parameters<typeof defineTool>[0]);
      expect(tool()).toBeDefined();
      if (modeOf(provider) === "window") expect(tool("window")).toBeDefined();
      else expect(refusalOf(() => tool("window"))).toContain(provider.title);
    },
  );
});

describe("claims", () => {
  it("allow a resend where retention, atomicity and errors are all documented, and nowhere else", () => {
    const windows = providerContracts.filter((provider) => modeOf(provider) === "window");
    expect(windows.map(({ name }) => name)).toEqual([
      "aws-step-functions",
      "paypal-payouts",
      "stripe",
    ]);
  });

  it("of a look-up without a lag are made where a source says so, and nowhere else", () => {
    const prompt = providerContracts.filter(
      (provider) => lookUpFacts(provider).lagMs !== undefined,
    );
    expect(prompt.map(({ name }) => name)).toEqual(["stripe"]);
    expect(named("stripe").sources.map(({ url }) => url)).toContain(
      "https://docs.stripe.com/api-v2-overview",
    );
  });

  it.each([
    ["alpaca", "key.maxLength"],
    ["mangopay", "key.minLength"],
    ["mangopay", "key.maxLength"],
    ["plaid-transfer", "key.retentionMs"],
    ["stripe", "key.mismatch"],
    ["toss", "key.maxLength"],
  ] as const)(
    "of %s that were read at second hand, or of a part of it, are in doubt: %s",
    (name, fact) => {
      expect(named(name).uncertain).toContain(fact);
    },
  );

  it("in doubt count as the worst", () => {
    const stripe = named("stripe");
    const doubts = ["key.retentionMs", "key.atomic", "key.afterError"] as const;
    for (const doubt of doubts) {
      const doubtful = { ...stripe, uncertain: [doubt] };
      expect([doubt, modeOf(doubtful)]).toEqual([doubt, "strict"]);
      const reason = refusalOf(() => contractParts(doubtful, { ...limits, mode: "window" }));
      expect(reason).toContain("not known");
    }
    expect(keyContract({ ...stripe, uncertain: [...doubts, "key.replaysDeclines"] })).toEqual({
      shape: "uuid",
      atomic: false,
      afterError: "unknown",
      replaysDeclines: false,
    });
    expect(lookUpFacts(stripe)).toEqual({ lagMs: 0 });
    expect(lookUpFacts({ ...stripe, uncertain: ["lookUp.lagMs"] })).toEqual({});
  });

  it("that aren't made count as the worst", () => {
    const { key, lookUp, tag, uncertain } = declareProvider({
      name: "new",
      title: "New",
      covers: "all",
      kind: "replay",
      key: { transport: "header", field: "Idempotency-Key" },
      sources: [{ url: "https://example.com" }],
      checkedOn: "2026-12-02",
    });
    expect(key).toMatchObject({ retentionMs: null, atomic: false, afterError: "unknown" });
    expect([lookUp, tag, uncertain]).toEqual([null, null, []]);
  });

  it("grow stale after half a year", () => {
    const provider = { ...named("stripe"), checkedOn: "2026-01-01" };
    const readMs = Date.parse("2026-01-01T00:00:00Z");
    expect([isStale(provider, readMs + staleAfterMs), isStale(provider, 0)]).toEqual([
      false,
      false,
    ]);
    expect(isStale(provider, readMs + staleAfterMs + 1)).toBe(true);
  });
});

describe("a key shape that the provider can't take", () => {
  const refused: readonly (readonly [name: string, shape: WireKeyShape, limit: string])[] = [
    ["square", "hex", "takes 45 characters, and hex has 64"],
    ["aws-dynamodb", "base64url", "takes 36 characters, and base64url has 43"],
    ["razorpay-payouts", "base64url", "takes 36 characters, and base64url has 43"],
    ["sap", "uuid", "takes 32 characters, and uuid has 36"],
    ["kubernetes", "hex", "takes 63 characters, and hex has 64"],
    ["aws-bedrock-agents", "uuid-bare", "needs 33 characters, and uuid-bare has 32"],
    ["azure", "uuid-bare", "needs 36 characters, and uuid-bare has 32"],
    ["aws-cloudformation", "base64url", "takes only [a-zA-Z0-9-]"],
  ];

  it.each(refused)("%s refuses %s and names its limit", (name, keyShape, limit) => {
    expect(refusalOf(() => contractParts(named(name), { ...limits, keyShape }))).toContain(limit);
  });

  it("is refused when it is no shape at all", () => {
    const keyShape = "base32" as WireKeyShape;
    const reason = refusalOf(() => contractParts(named("stripe"), { ...limits, keyShape }));
    expect(reason).toContain(Object.keys(wireKeyLengths).join(", "));
  });
});

describe("docs/reference/providers.md", () => {
  it("is made of the contracts (run with -u to make it anew)", async () => {
    const path = new URL("../../../docs/reference/providers.md", import.meta.url).pathname;
    const options = await resolveConfig(path);
    const page = await format(reference(), { ...options, parser: "markdown" });
    await expect(page).toMatchFileSnapshot(path);
  });
});

function reference(): string {
  return [
    "# Providers",
    "",
    "What providers promise about keys, as NeverTwice reads it. This page is made of the data in",
    "`src/edges/providers/contracts` (`nevertwice providers list`, `providerContracts` of",
    "`nevertwice/providers`), and a test holds it equal. A fact with a question mark is in doubt: it is shown,",
    "and never leaned on. A dash means that it is not known. See [the guide](../guides/providers.md).",
    "",
    "- **Mode**: the farthest that the contract allows by itself. `window` resends under the same key while the",
    "  provider remembers it; `strict` sends once, and then the look-up or a person decides.",
    "- **Kept**: how long a key is remembered at least, from its first arrival.",
    "- **After an error**: what the key keeps of an execution that ended in an error.",
    "",
    "| Provider | Kind | Mode | Key | Length | Kept | In flight | After an error | Look-up | Tag | Source |",
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ...providerContracts.map(referenceRow),
    "",
    "## Notes",
    "",
    ...providerContracts
      .filter(({ notes }) => notes.length > 0)
      .map(({ name, notes }) => `- **${name}**: ${notes.join(" ")}`),
    "",
  ].join("\n");
}

function referenceRow(provider: ProviderContract): string {
  const { name, title, kind, key, lookUp, tag, sources, checkedOn } = provider;
  const doubt = (fact: (typeof provider.uncertain)[number], text: string): string =>
    provider.uncertain.includes(fact) ? `${text} (?)` : text;
  const range = key === null ? "–" : [key.minLength ?? "", key.maxLength ?? ""].join("–");
  const flight = [key?.inFlight?.status, key?.inFlight?.code].filter(Boolean).join(" ");
  const cells = [
    `\`${name}\` ${title}`,
    kind,
    modeOf(provider),
    key === null ? "–" : doubt("key.field", `${key.transport} \`${key.field}\``),
    range === "–" ? "–" : doubt("key.maxLength", range),
    key === null || key.retentionMs === null
      ? "–"
      : doubt("key.retentionMs", formatSpan(key.retentionMs)),
    flight === "" ? "–" : doubt("key.inFlight", flight),
    key === null ? "–" : doubt("key.afterError", key.afterError),
    lookUp === null ? "none" : doubt("lookUp.by", lookUp.by),
    tag === null ? "–" : doubt("tag.field", `\`${tag.field}\``),
    `${sources.map(({ url }, at) => `[${at + 1}](${url})`).join(" ")} ${checkedOn}`,
  ];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}
