/**
 * What both stores share: the port's methods, each bound to the statement of the same name. Nothing
 * here decides anything; the conditions are in the .sql files.
 *
 * @module
 */
import { assert } from "../../base/errors.ts";
import type { JournalLine } from "../../ledger/journal.ts";
import type { OperationRecord } from "../../ledger/record.ts";
import type { Inbox, Outbox } from "../../ledger/events.ts";
import type { LateLooks } from "../../ledger/late-looks.ts";
import type { Runs } from "../../ledger/runs.ts";
import type * as port from "../../ledger/store.ts";
import type { Targets } from "../../ledger/targets.ts";
import type { EffectStore, Transaction } from "../../ledger/transaction.ts";
import { Coalescer } from "./coalescer.ts";
import { isRejectedStatement } from "./store-error.ts";
import { count, toJournalLine, toRecord } from "./rows.ts";
import { toPlaceParams, toSqlParams } from "./parameters.ts";
import { inboxOver, outboxOver } from "./sql-events.ts";
import { lateLooksOver } from "./sql-late-looks.ts";
import { runsOver } from "./sql-runs.ts";
import { targetsOver } from "./sql-targets.ts";
import { transactionOver } from "./sql-transaction.ts";
import type { SqlExecutor, StatementName } from "./statement.ts";

const maxBatch = 256;

/** A store over an executor. */
export abstract class SqlStore<Driver> implements EffectStore<Driver> {
  readonly inbox: Inbox;
  readonly outbox: Outbox;
  readonly runs: Runs;
  readonly targets: Targets;
  readonly lateLooks: LateLooks;
  readonly #executor: SqlExecutor<Driver>;
  readonly #claims: Coalescer<port.ClaimParams, OperationRecord>;
  readonly #completions: Coalescer<port.CompleteParams, OperationRecord>;

  constructor(executor: SqlExecutor<Driver>, defer: (flush: () => void) => void) {
    this.#executor = executor;
    this.inbox = inboxOver(executor);
    this.outbox = outboxOver(executor);
    this.runs = runsOver(executor);
    this.targets = targetsOver(executor);
    this.lateLooks = lateLooksOver(executor);
    const nameOf = (id: port.OperationId): string => `${id.tenant}\n${id.key}`;
    const coalesce = <Item extends port.OperationId & object>(
      name: StatementName,
    ): Coalescer<Item, OperationRecord> =>
      new Coalescer<Item, OperationRecord>({
        nameOf,
        defer,
        maxItems: maxBatch,
        isPoison: isRejectedStatement,
        run: (items) => this.#runRows(name, items),
      });
    this.#claims = coalesce("claim");
    this.#completions = coalesce("complete");
  }

  abstract migrate(): Promise<port.MigrationReport>;
  abstract inspect(): Promise<port.StoreInspection>;

  transaction<T>(work: (tx: Transaction<Driver>) => Promise<T> | T): Promise<T> {
    return this.#executor.transaction((statements, driver) =>
      work(transactionOver(statements, driver)),
    );
  }

  async claim(params: port.ClaimParams): Promise<OperationRecord> {
    // Here, for a batch runs in the surroundings of whoever began it.
    this.#executor.checkOutside();
    const record = await this.#claims.add(params);
    assert(record !== undefined, "a claim always returns the row (R8)");
    return record;
  }

  async complete(params: port.CompleteParams): Promise<OperationRecord | undefined> {
    this.#executor.checkOutside();
    return this.#completions.add(params);
  }

  takeOver(params: port.TakeOverParams): Promise<OperationRecord | undefined> {
    return this.#runOne("take-over", params);
  }

  arm(params: port.ArmParams): Promise<OperationRecord | undefined> {
    return this.#runOne("arm", params);
  }

  renew(params: port.RenewParams): Promise<OperationRecord | undefined> {
    return this.#runOne("renew", params);
  }

  release(params: port.ReleaseParams): Promise<OperationRecord | undefined> {
    return this.#runOne("release", params);
  }

  fail(params: port.FailParams): Promise<OperationRecord | undefined> {
    return this.#runOne("fail", params);
  }

  markUnknown(params: port.MarkUnknownParams): Promise<OperationRecord | undefined> {
    return this.#runOne("mark-unknown", params);
  }

  escalate(params: port.EscalateParams): Promise<OperationRecord | undefined> {
    return this.#runOne("escalate", params);
  }

  resolve(params: port.ResolveParams): Promise<OperationRecord | undefined> {
    return this.#runOne("resolve", params);
  }

  recordIncident(params: port.RecordIncidentParams): Promise<OperationRecord | undefined> {
    return this.#runOne("record-incident", params);
  }

  recordIntent(params: port.RecordIntentParams): Promise<OperationRecord | undefined> {
    return this.#runOne("record-intent", params);
  }

  read(id: port.OperationId): Promise<OperationRecord | undefined> {
    return this.#runOne("read", { tenant: id.tenant, key: id.key });
  }

  findLookAlikes(params: port.LookAlikeParams): Promise<readonly OperationRecord[]> {
    return this.#runMany("find-look-alikes", params);
  }

  list(params: port.ListParams): Promise<readonly OperationRecord[]> {
    const { after, ...rest } = params;
    return this.#runMany("list", {
      ...rest,
      ...toPlaceParams(after, ["createdAtMs", "tenant", "key"]),
    });
  }

  findDue(params: port.DueParams): Promise<readonly OperationRecord[]> {
    return this.#runMany("find-due", { ...params, tools: JSON.stringify(params.tools) });
  }

  async purge(params: port.PurgeParams): Promise<number> {
    return (await this.#executor.run("purge", toSqlParams(params))).length;
  }

  async countPurgeable(): Promise<number> {
    const [row] = await this.#executor.run("count-purgeable", {});
    return count(row?.["count"]);
  }

  async readJournal(params: port.ReadJournalParams): Promise<readonly JournalLine[]> {
    const { after, ...rest } = params;
    const page = toPlaceParams(after, ["tenant", "key", "seq"]);
    const rows = await this.#executor.run("read-journal", { ...toSqlParams(rest), ...page });
    return rows.map(toJournalLine);
  }

  async #runRows(name: StatementName, items: readonly object[]): Promise<OperationRecord[]> {
    const rows = JSON.stringify(items.map((item) => toSqlParams(item)));
    return (await this.#executor.run(name, { rows })).map(toRecord);
  }

  async #runMany(name: StatementName, params: object): Promise<OperationRecord[]> {
    return (await this.#executor.run(name, toSqlParams(params))).map(toRecord);
  }

  async #runOne(name: StatementName, params: object): Promise<OperationRecord | undefined> {
    const [record, ...more] = await this.#runMany(name, params);
    assert(more.length === 0, `${name} touches one row at most`);
    return record;
  }
}
