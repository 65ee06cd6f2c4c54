/**
 * The journal: an append-only line for every event of every operation, written by the statement
 * that changes the row and hash-chained per operation.
 *
 * @module
 */
import { sha256Hex } from "../base/canonical-json.ts";
import type { Status } from "./status.ts";

/** Every event that a journal line can tell of. */
export const journalEvents = [
  "intent.recorded",
  "operation.claimed",
  "operation.repeated",
  "operation.armed",
  "operation.renewed",
  "operation.released",
  "operation.completed",
  "operation.failed",
  "operation.unknown",
  "operation.taken-over",
  "operation.found",
  "operation.absent",
  "operation.unsure",
  "operation.resent",
  "operation.incident",
  "operation.purged",
  "review.opened",
  "review.resolved",
] as const;

export type JournalEvent = (typeof journalEvents)[number];

/** One line, as stored. Times are the database's, in milliseconds since 1970. */
export interface JournalLine {
  readonly tenant: string;
  readonly key: string;
  /** 1 for the claim, then without a gap. */
  readonly seq: number;
  readonly atMs: number;
  readonly event: JournalEvent;
  /** The status after the event. */
  readonly status: Status;
  readonly token: number;
  readonly attempts: number;
  /** JSON text; hashed as stored. */
  readonly detail: string;
  /** 64 hex digits over the line before and this line. */
  readonly hash: string;
}

/** What the first line of an operation is chained to. */
export function chainStart(tenant: string, key: string): string {
  return `${tenant}\n${key}`;
}

/**
 * The hash of a line. No part but the detail can hold a line feed, and the detail comes last, so
 * that the joined text has one reading only. The databases compute the same (see the migrations).
 */
export function lineHash(
  previous: string,
  line: Omit<JournalLine, "hash" | "tenant" | "key">,
): string {
  const { seq, atMs, event, status, token, attempts, detail } = line;
  return sha256Hex([previous, seq, atMs, event, status, token, attempts, detail].join("\n"));
}

/** Where a chain is broken, in words. */
export interface ChainFault {
  readonly seq: number;
  readonly reason: string;
}

/** Checks the lines of one operation, in order of `seq`. Undefined means unaltered and without a gap. */
export function findChainFault(lines: readonly JournalLine[]): ChainFault | undefined {
  const [first] = lines;
  if (first === undefined) return { seq: 0, reason: "no line is left" };
  let previous = chainStart(first.tenant, first.key);
  for (const [index, line] of lines.entries()) {
    if (line.seq !== index + 1) return { seq: index + 1, reason: "the line is missing" };
    if (lineHash(previous, line) !== line.hash)
      return { seq: line.seq, reason: "the line was altered" };
    previous = line.hash;
  }
  return undefined;
}
