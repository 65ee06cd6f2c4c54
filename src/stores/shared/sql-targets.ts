/**
 * Targets, each method bound to the statement of the same name.
 *
 * @module
 */
import { assert } from "../../base/errors.ts";
import type { TargetRecord, TargetStatus, Targets } from "../../ledger/targets.ts";
import { toSqlParams } from "./parameters.ts";
import { count, countOrNull, text } from "./rows.ts";
import type { SqlRow, SqlStatements, StatementName } from "./statement.ts";

/** The targets over an executor. */
export function targetsOver(statements: SqlStatements): Targets {
  const targetOf = async (name: StatementName, params: object): Promise<TargetRecord | undefined> =>
    (await statements.run(name, toSqlParams(params))).map(toTargetRecord)[0];
  return {
    claim: async (params) => {
      const record = await targetOf("target-claim", params);
      assert(record !== undefined, "a claimed target always has a row");
      return record;
    },
    arm: (params) => targetOf("target-arm", params),
    settle: (params) => targetOf("target-settle", params),
    read: ({ tenant, operation, target }) => targetOf("target-read", { tenant, operation, target }),
  };
}

function toTargetRecord(row: SqlRow): TargetRecord {
  return {
    tenant: text(row["tenant"]),
    operation: text(row["operation"]),
    target: text(row["target"]),
    version: count(row["version"]),
    fingerprint: text(row["fingerprint"]),
    round: count(row["round"]),
    status: text(row["status"]) as TargetStatus,
    armedVersion: countOrNull(row["armed_version"]),
    quietUntilMs: count(row["quiet_until_ms"]),
    token: count(row["token"]),
    acquisitionId: text(row["acquisition_id"]),
    leaseUntilMs: count(row["lease_until_ms"]),
    readAtMs: count(row["read_at_ms"]),
  };
}
