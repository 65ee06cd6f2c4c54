/**
 * Providers' contracts as people and machines see them.
 *
 * @module
 */
import { formatSpan } from "../base/duration.ts";
import { providerContracts } from "../edges/providers/contracts/index.ts";
import { checkedAgeMs, isStale } from "../edges/providers/shared/checked-age.ts";
import { modeOf } from "../edges/providers/shared/contract-parts.ts";
import type {
  FactName,
  ProviderContract,
  ProviderKey,
  Sign,
} from "../edges/providers/shared/provider-contract.ts";
import { wireKeyLengths } from "../intent/wire-key.ts";
import type { Finding } from "./diagnosis.ts";
import { CliError } from "./exit-codes.ts";
import type { Column, Fact } from "./output.ts";
import { counted } from "./text.ts";
import { roughSpan } from "./times.ts";

/**
 * Finds a contract by its name.
 *
 * @throws {CliError} USAGE with the names that begin alike.
 */
export function findProvider(name: string): ProviderContract {
  const found = providerContracts.find((provider) => provider.name === name);
  if (found !== undefined) return found;
  const alike = providerContracts
    .map((provider) => provider.name)
    .filter((each) => name !== "" && each.includes(name.toLowerCase()));
  const hint = alike.length === 0 ? "" : ` Did you mean ${alike.slice(0, 5).join(", ")}?`;
  throw new CliError(
    "USAGE",
    `There is no contract named "${name}".${hint} See \`nevertwice providers list\`.`,
  );
}

/** Columns of the list. */
export const providerColumns: readonly Column[] = [
  { head: "Name" },
  { head: "Kind" },
  { head: "Mode" },
  { head: "Key", narrow: "shorten" },
  { head: "Kept", align: "right" },
  { head: "Checked" },
];

/** A contract in the list. */
export function providerRow(provider: ProviderContract): string[] {
  const { name, kind, key, checkedOn } = provider;
  const doubt = provider.uncertain.includes("key.retentionMs");
  const kept = key?.retentionMs ?? null;
  return [
    name,
    kind,
    modeOf(provider),
    key?.field ?? "–",
    kept === null ? "–" : `${formatSpan(kept)}${doubt ? "?" : ""}`,
    checkedOn,
  ];
}

/** A contract for `--json`, with what follows from it. */
export function providerJson(provider: ProviderContract, nowMs: number): Record<string, unknown> {
  return { ...provider, mode: modeOf(provider), stale: isStale(provider, nowMs) };
}

/** A contract's facts in words; one with a question mark is in doubt, and not leaned on. */
export function providerFacts(provider: ProviderContract, nowMs: number): readonly Fact[] {
  const { key, lookUp, tag } = provider;
  const marked = marker(provider);
  const stale = isStale(provider, nowMs) ? ": read the sources again" : "";
  return [
    ["Provider", `${provider.title} (${provider.name})`],
    ["Covers", provider.covers],
    ["Kind", provider.kind],
    ["Mode", modeOf(provider)],
    ...(key === null ? [["Key", "none"] as const] : keyFacts(key, marked)),
    ["Look-up", lookUp === null ? "none" : marked("lookUp.by", lookUp.by)],
    ["Lag", lookUp === null ? null : marked("lookUp.lagMs", spanText(lookUp.lagMs))],
    ["Tag", tag === null ? "none" : marked("tag.field", tag.field)],
    ["Tag length", tag === null ? null : marked("tag.maxLength", numberText(tag.maxLength))],
    ["SDK", provider.sdkMintsKey ? "makes a key of its own where none is given" : null],
    ...provider.sources.map(({ url, asOf }): Fact => {
      return ["Source", asOf === undefined ? url : `${url} (as of ${asOf})`];
    }),
    ["Checked", `${provider.checkedOn}, ${roughSpan(checkedAgeMs(provider, nowMs))} ago${stale}`],
    ...provider.notes.map((note): Fact => ["Note", note]),
  ];
}

/** What doctor says of the contracts that a user names. */
export function providerFindings(
  names: readonly string[],
  nowMs: number,
  find = findProvider,
): readonly Finding[] {
  return names.map((name) => {
    const provider = find(name);
    const about = "providers";
    const age = `the contract of ${name} was checked on ${provider.checkedOn}`;
    return isStale(provider, nowMs)
      ? { severity: "note", about, message: `${age}: read its sources again` }
      : { severity: "ok", about, message: age };
  });
}

/** How many contracts there are, and how many should be read again. */
export function providerCount(nowMs: number): string {
  const stale = providerContracts.filter((provider) => isStale(provider, nowMs)).length;
  const rest = stale === 0 ? "none is" : `${stale} are`;
  return `${counted(providerContracts.length, "contract")}; ${rest} older than half a year.`;
}

type Marked = (fact: FactName, text: string) => string;

function marker(provider: ProviderContract): Marked {
  return (fact, text) => (provider.uncertain.includes(fact) ? `${text} (?)` : text);
}

function keyFacts(key: ProviderKey, marked: Marked): readonly Fact[] {
  const { minLength, maxLength, charset, shape } = key;
  const limits = [
    minLength === null ? null : `at least ${minLength}`,
    maxLength === null ? null : `at most ${maxLength}`,
  ].filter((limit) => limit !== null);
  return [
    ["Key", marked("key.field", `${key.transport} ${key.field}`)],
    ["Shape", `${shape}, ${wireKeyLengths[shape]} characters`],
    ["Length", limits.length === 0 ? "unknown" : marked("key.maxLength", limits.join(", "))],
    ["Characters", charset === null ? null : marked("key.charset", charset)],
    ["Kept", marked("key.retentionMs", spanText(key.retentionMs))],
    ["Scope", key.scope === null ? null : marked("key.scope", key.scope)],
    ["Other payload", marked("key.mismatch", signText(key.mismatch))],
    ["In flight", marked("key.inFlight", signText(key.inFlight))],
    ["Replay", marked("key.replay", signText(key.replay))],
    ["Atomic", marked("key.atomic", key.atomic ? "yes" : "unknown")],
    ["After an error", marked("key.afterError", key.afterError)],
  ];
}

function spanText(spanMs: number | null): string {
  if (spanMs === null) return "unknown";
  return spanMs === 0 ? "at once" : formatSpan(spanMs);
}

function numberText(count: number | null): string {
  return count === null ? "unknown" : String(count);
}

function signText(sign: Sign | null): string {
  if (sign === null) return "unknown";
  const { status, code, header, note } = sign;
  return [status, code, header, note].filter((part) => part !== undefined).join(", ");
}
