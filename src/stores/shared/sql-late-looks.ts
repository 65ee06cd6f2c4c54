/**
 * Late looks, each method bound to the statement of the same name.
 *
 * @module
 */
import type { LateLooks } from "../../ledger/late-looks.ts";
import { toSqlParams } from "./parameters.ts";
import { count, text, toRecord } from "./rows.ts";
import type { SqlStatements } from "./statement.ts";

/** The late looks over an executor. */
export function lateLooksOver(statements: SqlStatements): LateLooks {
  return {
    claim: async (params) => {
      const [row] = await statements.run("look-claim", toSqlParams(params));
      if (row === undefined) return undefined;
      return {
        settledAtMs: count(row["settled_at_ms"]),
        tenant: text(row["tenant"]),
        key: text(row["key"]),
        readAtMs: count(row["read_at_ms"]),
      };
    },
    find: async (params) => (await statements.run("look-find", toSqlParams(params))).map(toRecord),
    pass: async (params) => {
      await statements.run("look-pass", toSqlParams(params));
    },
  };
}
