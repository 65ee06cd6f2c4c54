/**
 * The table and the journal of the store in memory: how a row is found, checked and written.
 */
import {
  type JournalEvent,
  type JournalLine,
  chainStart,
  lineHash,
} from "../../src/ledger/journal.ts";
import type { OperationRecord } from "../../src/ledger/record.ts";
import type { ClaimParams, OperationId } from "../../src/ledger/store.ts";

/** A row as stored; the time of reading is none of it. */
export type Row = Omit<OperationRecord, "readAtMs"> & { readonly dueAtMs: number };
export type Conditions = Readonly<Record<string, boolean>>;

/** What several stores share, as several connections share a database. */
export class MemoryDatabase {
  nowMs = 1_780_000_000_000;
  lastToken = 0;
  readonly rows = new Map<string, Row>();
  readonly lines: JournalLine[] = [];
}

/** One write of one row: when, what, and how the journal calls it. */
export interface Write {
  readonly event: JournalEvent | ((row: Row) => JournalEvent);
  readonly detail: string;
  readonly when: (row: Row, nowMs: number) => Conditions;
  readonly set: (row: Row, nowMs: number) => Partial<Row>;
}

export type WriteName =
  | "takeOver"
  | "arm"
  | "renew"
  | "release"
  | "complete"
  | "fail"
  | "markUnknown"
  | "escalate"
  | "resolve"
  | "recordIncident"
  | "recordIntent"
  | "purge";
/** What a time is needed for. */
export type ClockUse = "claim" | "check" | "write" | "journal" | "read";
export type QueryName = "findLookAlikes" | "list" | "findDue" | "readJournal" | "purge";

/** Rows and lines of one database, as one connection works on them. */
export abstract class MemoryTable {
  readonly database: MemoryDatabase;

  constructor(database: MemoryDatabase) {
    this.database = database;
  }

  /** Where other callers get in between: before a method looks, never between look and write. */
  protected async turn(): Promise<void> {
    await Promise.resolve();
  }

  /** The database's clock, whatever it is asked for. */
  protected now(_use: ClockUse): number {
    return this.database.nowMs;
  }

  protected nextToken(): number {
    this.database.lastToken += 1;
    return this.database.lastToken;
  }

  protected holds(_name: WriteName | QueryName, conditions: Conditions): boolean {
    return Object.values(conditions).every(Boolean);
  }

  protected idOf({ tenant, key }: OperationId): string {
    return JSON.stringify([tenant, key]);
  }

  protected find(id: OperationId): Row | undefined {
    return this.database.rows.get(this.idOf(id));
  }

  protected async write(
    name: WriteName,
    id: OperationId,
    write: Write,
  ): Promise<OperationRecord | undefined> {
    await this.turn();
    const row = this.find(id);
    if (row === undefined || !this.holds(name, write.when(row, this.now("check"))))
      return undefined;
    return this.apply(name, row, write);
  }

  protected apply(_name: WriteName, row: Row, { event, detail, set }: Write): OperationRecord {
    const changed = { ...row, ...set(row, this.now("write")), version: row.version + 1 };
    return this.save(changed, typeof event === "function" ? event(row) : event, detail);
  }

  /** The row and its line, together. */
  protected save(row: Row, event: JournalEvent, detail: string): OperationRecord {
    const { tenant, key, status, token, attempts } = row;
    const seq = row.journalSeq + 1;
    const previous = this.database.lines.findLast(
      (other) => other.key === key && other.tenant === tenant,
    );
    const line = { seq, atMs: this.now("journal"), event, status, token, attempts, detail };
    const hash = lineHash(previous?.hash ?? chainStart(tenant, key), line);
    this.database.lines.push({ tenant, key, ...line, hash });
    const saved = { ...row, journalSeq: seq };
    this.database.rows.set(this.idOf(row), saved);
    return this.toRecord(saved);
  }

  protected toRecord(row: Row): OperationRecord {
    const { dueAtMs: _, ...record } = row;
    return { ...record, readAtMs: this.now("read") };
  }

  protected select(
    name: QueryName,
    order: (one: Row, other: Row) => number,
    limit: number,
    conditions: (row: Row) => Conditions,
  ): OperationRecord[] {
    const found = [...this.database.rows.values()].filter((row) =>
      this.holds(name, conditions(row)),
    );
    return found
      .toSorted(order)
      .slice(0, limit)
      .map((row) => this.toRecord(row));
  }

  protected newRow(params: ClaimParams): Row {
    const { detail: _, leaseMs, quietMs, arm, ...given } = params;
    const nowMs = this.now("claim");
    return {
      ...given,
      status: "IN_PROGRESS",
      token: this.nextToken(),
      leaseUntilMs: nowMs + leaseMs,
      generation: 0,
      attempts: 0,
      attemptsInGeneration: Number(arm),
      firstArmedAtMs: arm ? nowMs : null,
      lastArmedAtMs: arm ? nowMs : null,
      quietUntilMs: arm ? nowMs + quietMs : 0,
      resultKind: null,
      result: null,
      error: null,
      providerId: null,
      reviewReason: null,
      incident: null,
      supersededBy: null,
      version: 1,
      journalSeq: 0,
      createdAtMs: nowMs,
      settledAtMs: null,
      purgedAtMs: null,
      sweeps: 0,
      dueAtMs: nowMs + leaseMs,
    };
  }
}
