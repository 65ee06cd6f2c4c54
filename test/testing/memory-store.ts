/**
 * A store in memory: the port in the fewest lines, to be read. Each method looks and writes in one
 * turn of the event loop, which is what one statement is to a database. Conditions have names, so
 * that a wrong store can leave one out (wrong-stores.ts).
 */
import type { JournalLine } from "../../src/ledger/journal.ts";
import type { OperationRecord } from "../../src/ledger/record.ts";
import type * as port from "../../src/ledger/store.ts";
import type { StoreKit } from "../../src/testing/index.ts";
import {
  type Conditions,
  MemoryDatabase,
  MemoryTable,
  type Row,
  type Write,
} from "./memory-table.ts";

/** One connection. */
export class MemoryStore extends MemoryTable implements port.Store {
  async migrate(): Promise<port.MigrationReport> {
    return { applied: [], schemaVersion: 1 };
  }

  async inspect(): Promise<port.StoreInspection> {
    const versions = { schemaVersion: 1, programVersion: 1, breakingVersion: 1 };
    // Nothing here is kept.
    return { dialect: "memory", ...versions, settings: {}, unsafe: ["memory"], warnings: [] };
  }

  async claim(params: port.ClaimParams): Promise<OperationRecord> {
    await this.turn();
    return this.claimOver(params, this.find(params));
  }

  /** Claims in view of the row that the key has, or hasn't. */
  protected claimOver(params: port.ClaimParams, met: Row | undefined): OperationRecord {
    if (met !== undefined) return this.save(met, "operation.repeated", params.detail);
    const claimed = this.save(this.newRow(params), "operation.claimed", params.detail);
    if (!params.arm) return claimed;
    const { readAtMs: _, ...row } = claimed;
    const dueAtMs = row.leaseUntilMs;
    const armed = { ...row, dueAtMs, attempts: 1 };
    return this.save(armed, "operation.armed", JSON.stringify({ wireKey: row.wireKey }));
  }

  takeOver(params: port.TakeOverParams): Promise<OperationRecord | undefined> {
    return this.write("takeOver", params, {
      event: "operation.taken-over",
      detail: params.detail,
      when: (row, nowMs) => ({
        token: row.token === params.token,
        open: row.status === "UNKNOWN" || row.status === "IN_PROGRESS",
        leaseOver: row.status !== "IN_PROGRESS" || row.leaseUntilMs <= nowMs,
      }),
      set: (row, nowMs) => ({
        token: this.nextToken(),
        acquisitionId: params.acquisitionId,
        status: "IN_PROGRESS",
        leaseUntilMs: nowMs + params.leaseMs,
        dueAtMs: nowMs + params.leaseMs,
        sweeps: row.sweeps + 1,
      }),
    });
  }

  arm(params: port.ArmParams): Promise<OperationRecord | undefined> {
    const { newGeneration, lookedAtMs, resendSpanMs } = params;
    return this.write("arm", params, {
      event: (row) => (row.attemptsInGeneration === 0 ? "operation.armed" : "operation.resent"),
      detail: params.detail,
      when: (row, nowMs) => ({
        token: row.token === params.token,
        inProgress: row.status === "IN_PROGRESS",
        attempts: row.attempts === params.attempts,
        window:
          newGeneration ||
          row.attemptsInGeneration === 0 ||
          nowMs < (row.firstArmedAtMs ?? 0) + resendSpanMs,
        windowDeclared: newGeneration || row.attemptsInGeneration === 0 || resendSpanMs > 0,
        lookedUp: !newGeneration || lookedAtMs !== null,
        quiet: !newGeneration || lookedAtMs === null || lookedAtMs > row.quietUntilMs,
      }),
      set: (row, nowMs) => ({
        attempts: row.attempts + 1,
        generation: row.generation + Number(newGeneration),
        attemptsInGeneration: newGeneration ? 1 : row.attemptsInGeneration + 1,
        firstArmedAtMs: newGeneration ? nowMs : (row.firstArmedAtMs ?? nowMs),
        lastArmedAtMs: nowMs,
        quietUntilMs: Math.max(row.quietUntilMs, nowMs + params.quietMs),
        wireKey: params.wireKey,
        leaseUntilMs: nowMs + params.leaseMs,
        dueAtMs: nowMs + params.leaseMs,
      }),
    });
  }

  renew(params: port.RenewParams): Promise<OperationRecord | undefined> {
    return this.write("renew", params, {
      event: "operation.renewed",
      detail: params.detail,
      when: (row, nowMs) => ({ ...owns(row, params), leaseAlive: row.leaseUntilMs > nowMs }),
      set: (_, nowMs) => ({
        leaseUntilMs: nowMs + params.leaseMs,
        dueAtMs: nowMs + params.leaseMs,
      }),
    });
  }

  release(params: port.ReleaseParams): Promise<OperationRecord | undefined> {
    return this.write("release", params, {
      event: "operation.released",
      detail: params.detail,
      when: (row) => ({
        ...owns(row, params),
        attempts: row.attempts === params.attempts,
        armed: row.attemptsInGeneration > 0,
      }),
      set: (row, nowMs) => ({
        attempts: row.attempts - 1,
        attemptsInGeneration: row.attemptsInGeneration - 1,
        firstArmedAtMs: row.attemptsInGeneration === 1 ? null : row.firstArmedAtMs,
        status: row.attempts === 1 ? "IN_PROGRESS" : "UNKNOWN",
        leaseUntilMs: nowMs,
        dueAtMs: nowMs + params.sweepAfterMs,
        error: params.error,
      }),
    });
  }

  complete(params: port.CompleteParams): Promise<OperationRecord | undefined> {
    return this.write("complete", params, {
      event: params.event,
      detail: params.detail,
      when: (row) => ({ notDone: row.status !== "DONE", notFailed: row.status !== "FAILED" }),
      set: (_, nowMs) => ({
        status: "DONE",
        resultKind: params.resultKind,
        result: params.result,
        providerId: params.providerId,
        reviewReason: null,
        error: null,
        leaseUntilMs: nowMs,
        settledAtMs: nowMs,
      }),
    });
  }

  fail(params: port.FailParams): Promise<OperationRecord | undefined> {
    const { lookedAtMs, replaysDeclines } = params;
    return this.write("fail", params, {
      event: "operation.failed",
      detail: params.detail,
      when: (row) => ({
        ...owns(row, params),
        onlyAttempt: lookedAtMs !== null || row.attemptsInGeneration === 1 || replaysDeclines,
        quiet: lookedAtMs === null || lookedAtMs > row.quietUntilMs,
      }),
      set: (_, nowMs) => ({
        status: "FAILED",
        error: params.error,
        leaseUntilMs: nowMs,
        settledAtMs: nowMs,
      }),
    });
  }

  markUnknown(params: port.MarkUnknownParams): Promise<OperationRecord | undefined> {
    return this.write("markUnknown", params, {
      event: params.event,
      detail: params.detail,
      when: (row) => owns(row, params),
      set: (_, nowMs) => ({
        status: "UNKNOWN",
        error: params.error,
        leaseUntilMs: nowMs,
        dueAtMs: nowMs + params.sweepAfterMs,
      }),
    });
  }

  escalate(params: port.EscalateParams): Promise<OperationRecord | undefined> {
    return this.write("escalate", params, {
      event: "review.opened",
      detail: params.detail,
      when: (row) => owns(row, params),
      set: (_, nowMs) => ({
        status: "NEEDS_REVIEW",
        reviewReason: params.reason,
        leaseUntilMs: nowMs,
      }),
    });
  }

  resolve(params: port.ResolveParams): Promise<OperationRecord | undefined> {
    const { status, runAgain, repair } = params;
    const saysNo = status === "FAILED" || runAgain;
    return this.write("resolve", params, {
      event: "review.resolved",
      detail: params.detail,
      when: (row, nowMs) => ({
        version: row.version === params.version,
        asked: row.status === "NEEDS_REVIEW" || row.incident !== null,
        doneStays: row.status !== "DONE" || status === "DONE",
        failedIsFinal: row.status !== "FAILED" || status !== "UNKNOWN",
        final: !repair || status !== "UNKNOWN",
        quiet: !saysNo || nowMs > row.quietUntilMs,
      }),
      set: (row, nowMs) => ({
        status,
        ...(status === "DONE" && (row.status !== "DONE" || repair)
          ? { resultKind: params.resultKind, result: params.result }
          : {}),
        providerId: row.providerId ?? params.providerId,
        error: params.error ?? row.error,
        generation: row.generation + Number(runAgain),
        ...(runAgain ? { attemptsInGeneration: 0, firstArmedAtMs: null } : {}),
        ...(repair ? { arguments: "{}", wireKey: row.wireKey ?? "" } : {}),
        reviewReason: null,
        incident: null,
        settledAtMs: status === "UNKNOWN" ? null : nowMs,
        dueAtMs: nowMs,
        sweeps: 0,
      }),
    });
  }

  recordIncident(params: port.RecordIncidentParams): Promise<OperationRecord | undefined> {
    return this.write("recordIncident", params, {
      event: "operation.incident",
      detail: params.detail,
      when: () => ({}),
      set: () => ({ incident: params.incident }),
    });
  }

  recordIntent(params: port.RecordIntentParams): Promise<OperationRecord | undefined> {
    return this.write("recordIntent", params, {
      event: "intent.recorded",
      detail: params.detail,
      when: (row) => ({
        settled: row.status === "DONE" || row.status === "FAILED",
        undisputed: row.incident === null,
        free: row.supersededBy === null || row.supersededBy === params.supersededBy,
      }),
      set: () => ({ supersededBy: params.supersededBy }),
    });
  }

  async read(id: port.OperationId): Promise<OperationRecord | undefined> {
    const row = this.find(id);
    return row === undefined ? undefined : this.toRecord(row);
  }

  async findLookAlikes(params: port.LookAlikeParams): Promise<readonly OperationRecord[]> {
    const sinceMs = this.now("check") - params.windowMs;
    return this.select("findLookAlikes", newestFirst, 10, (row) => ({
      tenant: row.tenant === params.tenant,
      operation: row.operation === params.operation,
      mark: row.lookAlike === params.lookAlike,
      other: row.key !== params.key,
      window: row.createdAtMs >= sinceMs,
      notFailed: row.status !== "FAILED",
    }));
  }

  async list(params: port.ListParams): Promise<readonly OperationRecord[]> {
    const { tenant, status, operation, review, after } = params;
    return this.select("list", newestFirst, params.limit, (row) => ({
      tenant: tenant === null || row.tenant === tenant,
      status: status === null || row.status === status,
      operation: operation === null || row.operation === operation,
      review: !review || row.status === "NEEDS_REVIEW" || row.incident !== null,
      page: after === null || newestFirst(row, after) > 0,
    }));
  }

  async findDue(params: port.DueParams): Promise<readonly OperationRecord[]> {
    const nowMs = this.now("check");
    return this.select(
      "findDue",
      (one, other) => one.dueAtMs - other.dueAtMs,
      params.limit,
      (row) => ({
        open: row.status === "UNKNOWN" || row.status === "IN_PROGRESS",
        sent: row.status === "UNKNOWN" || row.attempts > 0,
        due: row.dueAtMs <= nowMs,
        undisputed: row.incident === null,
        tool: params.tools.includes(row.tool),
      }),
    );
  }

  async purge(params: port.PurgeParams): Promise<number> {
    await this.turn();
    const purged = this.purgeable().slice(0, params.limit);
    for (const row of purged) {
      const write: Write = {
        event: "operation.purged",
        detail: "{}",
        when: () => ({}),
        set: (_, nowMs) => ({
          arguments: null,
          resultKind: null,
          result: null,
          error: null,
          lookAlike: null,
          purgedAtMs: nowMs,
        }),
      };
      this.apply("purge", row, write);
    }
    return purged.length;
  }

  async countPurgeable(): Promise<number> {
    return this.purgeable().length;
  }

  async readJournal(params: port.ReadJournalParams): Promise<readonly JournalLine[]> {
    const { tenant, key, after } = params;
    const lines = this.database.lines.filter((line) =>
      this.holds("readJournal", {
        tenant: tenant === null || line.tenant === tenant,
        key: key === null || line.key === key,
        page: after === null || compareLines(line, after) > 0,
      }),
    );
    return lines.toSorted(compareLines).slice(0, params.limit);
  }

  protected purgeable(): Row[] {
    const nowMs = this.now("check");
    const found = [...this.database.rows.values()].filter((row) =>
      this.holds("purge", {
        settled: row.status === "DONE" || row.status === "FAILED",
        notPurged: row.purgedAtMs === null,
        undisputed: row.incident === null,
        old: (row.settledAtMs ?? row.createdAtMs) < nowMs - row.retentionMs,
      }),
    );
    return found.toSorted((one, other) => (one.settledAtMs ?? 0) - (other.settledAtMs ?? 0));
  }
}

function owns(row: Row, { token }: port.Fenced): Conditions {
  return { token: row.token === token, inProgress: row.status === "IN_PROGRESS" };
}

function newestFirst(one: port.ListPlace, other: port.ListPlace): number {
  return (
    other.createdAtMs - one.createdAtMs ||
    compare(one.tenant, other.tenant) ||
    compare(one.key, other.key)
  );
}

function compare(one: string, other: string): number {
  return one === other ? 0 : one < other ? -1 : 1;
}

type Place = Pick<JournalLine, "tenant" | "key" | "seq">;

function compareLines(one: Place, other: Place): number {
  if (one.tenant !== other.tenant) return one.tenant < other.tenant ? -1 : 1;
  if (one.key !== other.key) return one.key < other.key ? -1 : 1;
  return one.seq - other.seq;
}

/** A kit on a fresh database in memory, for the right store or a wrong one. */
export function memoryKit(Kind: typeof MemoryStore = MemoryStore): StoreKit {
  const database = new MemoryDatabase();
  return {
    open: async () => new Kind(database),
    clock: { advance: (spanMs) => void (database.nowMs += spanMs) },
  };
}
