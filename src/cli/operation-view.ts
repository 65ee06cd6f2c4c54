/**
 * An operation as it is shown: to machines with everything in it, to people what they ask for.
 *
 * @module
 */
import type { JournalLine } from "../ledger/journal.ts";
import { type OperationRecord, findRecordFault } from "../ledger/record.ts";
import type { Colours, Column, Fact, Output } from "./output.ts";
import { printable, shortKey, textWidth, withShortIds, wrap } from "./text.ts";
import { isoTime, longTime, roughSpan, shortTime } from "./times.ts";

/** The operation for `--json`: stored JSON texts are read, times are ISO 8601. */
export function operationJson(record: OperationRecord): Record<string, unknown> {
  const identity = identityOf(record);
  return {
    tenant: record.tenant,
    key: record.key,
    keyAlgorithm: record.keyAlgorithm,
    operation: record.operation,
    tool: record.tool,
    scope: identity["scope"] ?? null,
    intent: identity["intent"] ?? record.intent,
    workflowId: identity["workflowId"] ?? null,
    stepId: identity["stepId"] ?? null,
    fingerprint: record.fingerprint,
    arguments: readJson(record.arguments),
    status: record.status,
    version: record.version,
    attempts: record.attempts,
    generation: record.generation,
    token: record.token,
    wireKey: record.wireKey,
    providerId: record.providerId,
    resultKind: record.resultKind,
    result: readJson(record.result),
    error: readJson(record.error),
    reviewReason: record.reviewReason,
    incident: record.incident,
    supersedes: record.supersedes,
    supersededBy: record.supersededBy,
    createdAt: isoTime(record.createdAtMs),
    firstArmedAt: isoTime(record.firstArmedAtMs),
    lastArmedAt: isoTime(record.lastArmedAtMs),
    leaseUntil: record.status === "IN_PROGRESS" ? isoTime(record.leaseUntilMs) : null,
    decidableFrom: isoTime(record.quietUntilMs === 0 ? null : record.quietUntilMs + 1),
    settledAt: isoTime(record.settledAtMs),
    purgedAt: isoTime(record.purgedAtMs),
    retentionMs: record.retentionMs,
    sweeps: record.sweeps,
    journalLines: record.journalSeq,
    fault: findRecordFault(record) ?? null,
  };
}

/** A journal line for `--json`. */
export function lineJson(line: JournalLine): Record<string, unknown> {
  const { seq, atMs, event, status, token, attempts, detail, hash } = line;
  return { seq, at: isoTime(atMs), event, status, token, attempts, detail: readJson(detail), hash };
}

/** What the business wanted, as text. */
export function intentText(record: OperationRecord): string {
  const intent = identityOf(record)["intent"] ?? record.intent;
  return typeof intent === "string" ? intent : JSON.stringify(intent);
}

/** The same with the operation's name, for lists: most intents begin with it anyway. */
export function namedIntent(record: OperationRecord): string {
  const text = intentText(record);
  return text.startsWith(record.operation) ? text : `${record.operation}: ${text}`;
}

/** The operation's facts for people. */
export function operationFacts(record: OperationRecord): Fact[] {
  const { scope, workflowId, stepId } = identityOf(record);
  const scoped = scope === undefined ? "" : ` (once per ${scopeWord(scope)})`;
  return [
    ["Key", record.key],
    ["Tenant", record.tenant],
    ["Operation", `${record.operation} (tool ${record.tool})`],
    ["Intent", `${intentText(record)}${scoped}`],
    ["Workflow", textOrNull(workflowId)],
    ["Step", textOrNull(stepId)],
    ["Status", statusText(record)],
    ["Reason", record.reviewReason],
    ["Incident", record.incident],
    ["Record fault", findRecordFault(record) ?? null],
    ["Attempts", attemptsText(record)],
    ["Arguments", record.arguments],
    ["Result", resultText(record)],
    ["Error", record.error],
    ["Provider's id", record.providerId],
    ["Wire key", record.wireKey],
    ["Fingerprint", record.fingerprint],
    ["Supersedes", record.supersedes],
    ["Superseded by", record.supersededBy],
    ["Created", longTime(record.createdAtMs)],
    ["Version", `${record.version} (token ${record.token}, generation ${record.generation})`],
  ];
}

/** Columns of a list of operations. */
export const operationColumns: readonly Column[] = [
  { head: "Key" },
  { head: "Tenant", narrow: "shorten" },
  { head: "Status", paint: colouredStatus },
  { head: "Attempts", align: "right" },
  { head: "Age", align: "right" },
  { head: "Intent", narrow: "wrap" },
];

/** One row of a list of operations. */
export function operationRow(record: OperationRecord): string[] {
  return [
    shortKey(record.key),
    record.tenant,
    `${record.status}${record.incident === null ? "" : " !"}${record.purgedAtMs === null ? "" : " (purged)"}`,
    String(record.attempts),
    roughSpan(record.readAtMs - record.createdAtMs),
    namedIntent(record),
  ];
}

/** The journal, each line with its detail below it. */
export function printJournalLines(output: Output, lines: readonly JournalLine[]): void {
  const { dim } = output.colours;
  const longest = (texts: readonly string[]): number => Math.max(0, ...texts.map(textWidth));
  const seqWidth = longest(lines.map(({ seq }) => String(seq)));
  const eventWidth = longest(lines.map(({ event }) => event));
  const statusWidth = longest(lines.map(({ status }) => status));
  for (const { seq, atMs, event, status, token, detail } of lines) {
    const seen = colouredStatus(printable(status), output.colours);
    const padding = " ".repeat(Math.max(0, statusWidth - textWidth(status)));
    output.line(
      `${String(seq).padStart(seqWidth)}  ${shortTime(atMs)}  ${printable(event).padEnd(eventWidth)}  ${seen}${padding}  token ${token}`,
    );
    const margin = seqWidth + 2;
    for (const line of wrap(printable(detailText(detail)), output.width - margin)) {
      if (line !== "") output.line(`${" ".repeat(margin)}${dim(line)}`);
    }
  }
}

/** A status, and what may stand behind it, in its colour. */
export function colouredStatus(text: string, colours: Colours): string {
  if (text.startsWith("DONE")) return colours.green(text);
  if (text.startsWith("IN_PROGRESS")) return colours.cyan(text);
  return text.startsWith("FAILED") ? colours.red(text) : colours.yellow(text);
}

function statusText(record: OperationRecord): string {
  const now = record.readAtMs;
  switch (record.status) {
    case "IN_PROGRESS": {
      const leftMs = record.leaseUntilMs - now;
      return leftMs > 0
        ? `IN_PROGRESS, its lease runs for another ${roughSpan(leftMs)}`
        : `IN_PROGRESS, but its lease has been over for ${roughSpan(-leftMs)}`;
    }
    case "UNKNOWN":
    case "NEEDS_REVIEW": {
      const leftMs = record.quietUntilMs - now;
      const early = leftMs >= 0 ? `; a request may still take effect for ${roughSpan(leftMs)}` : "";
      return `${record.status}${early}`;
    }
    case "DONE":
    case "FAILED": {
      const purged = record.purgedAtMs === null ? "" : `, purged ${longTime(record.purgedAtMs)}`;
      return `${record.status} since ${longTime(record.settledAtMs ?? 0)}${purged}`;
    }
    default:
      return `${String(record.status)}, which is not known`;
  }
}

function attemptsText(record: OperationRecord): string {
  const { attempts, firstArmedAtMs, lastArmedAtMs } = record;
  if (firstArmedAtMs === null || lastArmedAtMs === null) return `${attempts}: nothing was sent`;
  const last = lastArmedAtMs === firstArmedAtMs ? "" : `, last ${longTime(lastArmedAtMs)}`;
  return `${attempts}, first sent ${longTime(firstArmedAtMs)}${last}`;
}

function resultText(record: OperationRecord): string | null {
  switch (record.resultKind) {
    case "json":
      return record.result;
    case "undefined":
      return "undefined";
    case "omitted":
      return `not stored: ${record.result ?? ""}`;
    case null:
    default:
      return null;
  }
}

function detailText(detail: string): string {
  const value = readJson(detail);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return detail;
  const members = Object.entries(value).map(
    ([name, member]) => `${name} ${typeof member === "string" ? member : JSON.stringify(member)}`,
  );
  return withShortIds(members.join(", "));
}

function scopeWord(scope: unknown): string {
  return scope === "business" ? "tenant" : String(scope);
}

function identityOf(record: OperationRecord): Record<string, unknown> {
  const identity = readJson(record.intent);
  return typeof identity === "object" && identity !== null
    ? (identity as Record<string, unknown>)
    : {};
}

/** A stored JSON text, read; what can't be read stays the text that it is. */
function readJson(text: string | null): unknown {
  if (text === null) return null;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
