/**
 * What an open transaction can write of ours, bound to the same statements as outside.
 *
 * @module
 */
import { assert } from "../../base/errors.ts";
import type { OperationRecord } from "../../ledger/record.ts";
import type { Transaction } from "../../ledger/transaction.ts";
import { toSqlParams } from "./parameters.ts";
import { toRecord } from "./rows.ts";
import { inboxOver, outboxOver } from "./sql-events.ts";
import { runsOver } from "./sql-runs.ts";
import type { SqlParams, SqlStatements, StatementName } from "./statement.ts";

/** The writers over the statements of an open transaction. */
export function transactionOver<Driver>(
  statements: SqlStatements,
  driver: Driver,
): Transaction<Driver> {
  const run = async (
    name: StatementName,
    params: SqlParams,
  ): Promise<OperationRecord | undefined> => (await statements.run(name, params)).map(toRecord)[0];
  const rowsOf = (params: object): SqlParams => ({ rows: JSON.stringify([toSqlParams(params)]) });
  return {
    driver,
    operations: {
      claim: async (params) => {
        const record = await run("claim", rowsOf(params));
        assert(record !== undefined, "a claim always returns the row (R8)");
        return record;
      },
      complete: (params) => run("complete", rowsOf(params)),
      read: ({ tenant, key }) => run("read", { tenant, key }),
      recordIntent: (params) => run("record-intent", toSqlParams(params)),
    },
    inbox: inboxOver(statements),
    outbox: outboxOver(statements),
    runs: runsOver(statements),
  };
}
