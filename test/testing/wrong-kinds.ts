/**
 * Wrong stores that need a method of their own.
 */
import type { OperationRecord } from "../../src/ledger/record.ts";
import type * as port from "../../src/ledger/store.ts";
import { MemoryStore } from "./memory-store.ts";

type Claimed = Promise<OperationRecord>;

export class ClaimInTwoStatements extends MemoryStore {
  override async claim(params: port.ClaimParams): Claimed {
    const met = this.find(params);
    await this.turn();
    return this.claimOver(params, met);
  }
}

export class OwnClaimUnknown extends MemoryStore {
  override async claim(params: port.ClaimParams): Claimed {
    const isFree = this.find(params) === undefined;
    const row = await super.claim(params);
    return isFree ? row : { ...row, acquisitionId: "somebody" };
  }
}

export class ClaimAgainTakesAnotherTurn extends MemoryStore {
  override async claim(params: port.ClaimParams): Claimed {
    const met = this.find(params);
    if (met?.acquisitionId === params.acquisitionId) this.database.rows.delete(this.idOf(params));
    return super.claim(params);
  }
}

export class ClaimsMixedUp extends MemoryStore {
  override async claim(params: port.ClaimParams): Claimed {
    const row = await super.claim(params);
    await this.turn();
    const last = [...this.database.rows.values()].at(-1);
    return last === undefined ? row : this.toRecord(last);
  }
}

export class CompletionsMixedUp extends MemoryStore {
  override async complete(params: port.CompleteParams): Promise<OperationRecord | undefined> {
    const row = await super.complete(params);
    await this.turn();
    const last = [...this.database.rows.values()].findLast(({ status }) => status === "DONE");
    return row === undefined || last === undefined ? row : this.toRecord(last);
  }
}

/** A duplicate that writes what it brought. */
export function overwriting(change: (params: port.ClaimParams) => object): typeof MemoryStore {
  return class extends MemoryStore {
    override async claim(params: port.ClaimParams): Claimed {
      const met = this.find(params);
      if (met !== undefined)
        this.database.rows.set(this.idOf(params), { ...met, ...change(params) });
      return super.claim(params);
    }
  };
}

export function claiming(
  change: (params: port.ClaimParams) => Partial<port.ClaimParams>,
): typeof MemoryStore {
  return class extends MemoryStore {
    override claim(params: port.ClaimParams): Claimed {
      return super.claim({ ...params, ...change(params) });
    }
  };
}

export class TokenPerConnection extends MemoryStore {
  #last = 0;
  protected override nextToken(): number {
    this.#last += 1;
    return this.#last;
  }
}

export class TokenPerKey extends MemoryStore {
  protected override newRow(params: port.ClaimParams) {
    return { ...super.newRow(params), token: 1 };
  }
}

export class ReadIgnoresTenant extends MemoryStore {
  override async read(id: port.OperationId): Promise<OperationRecord | undefined> {
    const row = [...this.database.rows.values()].find(({ key }) => key === id.key);
    return row === undefined ? undefined : this.toRecord(row);
  }
}

export class ReadMakesRows extends MemoryStore {
  override async read(id: port.OperationId): Promise<OperationRecord | undefined> {
    return (await super.read(id)) ?? [...(await super.list(anyRow))].at(0);
  }
}
const anyRow: port.ListParams = {
  tenant: null,
  status: null,
  operation: null,
  review: false,
  limit: 1,
  after: null,
};

/** A write that makes the row which it doesn't find. */
export class CompleteMakesRows extends MemoryStore {
  override async complete(params: port.CompleteParams): Promise<OperationRecord | undefined> {
    if (this.find(params) === undefined) await super.claim(claimOf(params));
    return super.complete(params);
  }
}

export class IncidentMakesRows extends MemoryStore {
  override async recordIncident(
    params: port.RecordIncidentParams,
  ): Promise<OperationRecord | undefined> {
    if (this.find(params) === undefined) await super.claim(claimOf(params));
    return super.recordIncident(params);
  }
}

function claimOf(id: port.OperationId): port.ClaimParams {
  return {
    tenant: id.tenant,
    key: id.key,
    keyAlgorithm: "",
    operation: "",
    tool: "",
    intent: "{}",
    fingerprint: "",
    arguments: "{}",
    acquisitionId: "",
    leaseMs: 0,
    arm: false,
    wireKey: "",
    quietMs: 0,
    retentionMs: 0,
    supersedes: null,
    lookAlike: null,
    detail: "{}",
  };
}

export class PurgeDeletes extends MemoryStore {
  override async purge(params: port.PurgeParams): Promise<number> {
    const count = await super.purge(params);
    for (const [id, row] of this.database.rows) {
      if (row.purgedAtMs !== null) this.database.rows.delete(id);
    }
    return count;
  }
}

export class PurgeInTwoStatements extends MemoryStore {
  override async purge(params: port.PurgeParams): Promise<number> {
    const found = (await super.countPurgeable()) > 0;
    const before = new Map(this.database.rows);
    const count = await super.purge(params);
    if (!found) return count;
    const purged = [...this.database.rows].filter(([id, row]) => before.get(id) !== row);
    for (const [id] of purged) this.database.rows.delete(id);
    await this.turn();
    for (const [id, row] of purged) this.database.rows.set(id, row);
    return count;
  }
}

export class PurgesTwice extends MemoryStore {
  override async purge(params: port.PurgeParams): Promise<number> {
    const found = Math.min(await super.countPurgeable(), params.limit);
    await super.purge(params);
    return found;
  }
}

export class PurgeUnlimited extends MemoryStore {
  override purge(): Promise<number> {
    return super.purge({ limit: 10_000 });
  }
}

export class PurgeableMiscounted extends MemoryStore {
  override async countPurgeable(): Promise<number> {
    return 0;
  }
}

export class PurgeNewestFirst extends MemoryStore {
  protected override purgeable() {
    return super.purgeable().toReversed();
  }
}

export class RetentionFromTheClaim extends MemoryStore {
  protected override purgeable() {
    const isOld = (row: { createdAtMs: number; retentionMs: number }): boolean =>
      row.createdAtMs < this.database.nowMs - row.retentionMs;
    const settled = [...this.database.rows.values()].filter(
      ({ settledAtMs }) => settledAtMs !== null,
    );
    return settled.filter((row) => row.purgedAtMs === null && row.incident === null && isOld(row));
  }
}

export class PurgeOneMsEarly extends MemoryStore {
  protected override purgeable() {
    this.database.nowMs += 1;
    const rows = super.purgeable();
    this.database.nowMs -= 1;
    return rows;
  }
}

export class TombstoneIsFree extends MemoryStore {
  override async claim(params: port.ClaimParams): Claimed {
    if (typeof this.find(params)?.purgedAtMs === "number")
      this.database.rows.delete(this.idOf(params));
    return super.claim(params);
  }
}

export class MigrationNotRepeatable extends MemoryStore {
  override async migrate(): Promise<port.MigrationReport> {
    return { applied: ["0001-ledger"], schemaVersion: 1 };
  }
}

export class MigrationWipes extends MemoryStore {
  override async migrate(): Promise<port.MigrationReport> {
    this.database.rows.clear();
    return super.migrate();
  }
}

export class SchemaMisreported extends MemoryStore {
  override async inspect(): Promise<port.StoreInspection> {
    return { ...(await super.inspect()), schemaVersion: 0 };
  }
}

export class ListPagesByTime extends MemoryStore {
  override list(params: port.ListParams) {
    const { after } = params;
    const last = "\u{10ffff}";
    return super.list({ ...params, after: after && { ...after, tenant: last, key: last } });
  }
}

export class JournalPagesRepeat extends MemoryStore {
  override readJournal(params: port.ReadJournalParams) {
    const { after } = params;
    const before = after === null ? null : { ...after, seq: after.seq - 1 };
    return super.readJournal({ ...params, after: before });
  }
}

export class JournalPagesByKey extends MemoryStore {
  override readJournal(params: port.ReadJournalParams) {
    const { after } = params;
    const skipped = after === null ? null : { ...after, seq: Number.MAX_SAFE_INTEGER };
    return super.readJournal({ ...params, after: skipped });
  }
}

export class JournalUnlimited extends MemoryStore {
  override readJournal(params: port.ReadJournalParams) {
    return super.readJournal({ ...params, limit: 10_000 });
  }
}

export class JournalAsWritten extends MemoryStore {
  override async readJournal(params: port.ReadJournalParams) {
    const found = new Set(await super.readJournal({ ...params, limit: 10_000 }));
    return this.database.lines.filter((line) => found.has(line)).slice(0, params.limit);
  }
}

export class ChainForks extends MemoryStore {
  override async claim(params: port.ClaimParams): Claimed {
    const seq = this.find(params)?.journalSeq;
    await this.turn();
    const met = this.find(params);
    if (met === undefined || seq === undefined) return super.claim(params);
    return this.save({ ...met, journalSeq: seq }, "operation.repeated", params.detail);
  }
}
