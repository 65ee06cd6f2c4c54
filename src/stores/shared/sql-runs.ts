/**
 * Runs, steps and approvals, each method bound to the statement of the same name.
 *
 * @module
 */
import { assert } from "../../base/errors.ts";
import type {
  ApprovalRecord,
  ApprovalStatus,
  RunRecord,
  RunStatus,
  Runs,
  StepKind,
  StepRecord,
} from "../../ledger/runs.ts";
import { toPlaceParams, toSqlParams } from "./parameters.ts";
import { count, countOrNull, text, textOrNull } from "./rows.ts";
import { waitMsOf } from "./sql-events.ts";
import type { SqlRow, SqlStatements, StatementName } from "./statement.ts";

/** The runs over an executor, or over an open transaction. */
export function runsOver(statements: SqlStatements): Runs {
  const rowsOf = (name: StatementName, params: object): Promise<readonly SqlRow[]> =>
    statements.run(name, toSqlParams(params));
  const runOf = async (name: StatementName, params: object): Promise<RunRecord | undefined> =>
    (await rowsOf(name, params)).map(toRunRecord)[0];
  const stepOf = async (params: object): Promise<StepRecord | undefined> =>
    (await rowsOf("step-record", params)).map(toStepRecord)[0];
  const approvalOf = async (
    name: StatementName,
    params: object,
  ): Promise<ApprovalRecord | undefined> => (await rowsOf(name, params)).map(toApprovalRecord)[0];
  return {
    start: async (params) => {
      const record = await runOf("run-start", params);
      assert(record !== undefined, "a started run always has a row");
      return record;
    },
    claim: async ({ flows, run, leaseMs, limit }) => {
      const tenant = run?.tenant ?? null;
      const runId = run?.runId ?? null;
      const params = { flows: JSON.stringify(flows), tenant, runId, leaseMs, limit };
      return (await rowsOf("run-claim", params)).map(toRunRecord);
    },
    renew: (params) => runOf("run-renew", params),
    suspend: (params) => runOf("run-suspend", params),
    settle: (params) => runOf("run-settle", params),
    wake: ({ tenant, runId }) => runOf("run-wake", { tenant, runId }),
    retry: ({ tenant, runId }) => runOf("run-retry", { tenant, runId }),
    read: ({ tenant, runId }) => runOf("run-read", { tenant, runId }),
    list: async ({ after, ...rest }) => {
      const place = toPlaceParams(after, ["createdAtMs", "tenant", "runId"]);
      return (await rowsOf("run-list", { ...rest, ...place })).map(toRunRecord);
    },
    nextDueInMs: async (flows) =>
      waitMsOf(await statements.run("run-next", { flows: JSON.stringify(flows) })),
    purge: async (params) => (await rowsOf("run-purge", params)).length,
    recordStep: (params) => stepOf(params),
    listSteps: async ({ tenant, runId }) =>
      (await rowsOf("step-list", { tenant, runId })).map(toStepRecord),
    openApproval: (params) => approvalOf("approval-open", params),
    decideApproval: (params) => approvalOf("approval-decide", params),
    readApproval: ({ tenant, runId, name }) => approvalOf("approval-read", { tenant, runId, name }),
    listApprovals: async ({ after, ...rest }) => {
      const place = toPlaceParams(after, ["createdAtMs", "tenant", "runId", "name"]);
      return (await rowsOf("approval-list", { ...rest, ...place })).map(toApprovalRecord);
    },
  };
}

function toRunRecord(row: SqlRow): RunRecord {
  return {
    tenant: text(row["tenant"]),
    runId: text(row["run_id"]),
    flow: text(row["flow"]),
    version: count(row["version"]),
    input: text(row["input"]),
    status: text(row["status"]) as RunStatus,
    waitsFor: textOrNull(row["waits_for"]),
    output: textOrNull(row["output"]),
    error: textOrNull(row["error"]),
    token: count(row["token"]),
    wakes: count(row["wakes"]),
    attempts: count(row["attempts"]),
    dueAtMs: countOrNull(row["due_at_ms"]),
    createdAtMs: count(row["created_at_ms"]),
    updatedAtMs: count(row["updated_at_ms"]),
    settledAtMs: countOrNull(row["settled_at_ms"]),
    purgedAtMs: countOrNull(row["purged_at_ms"]),
    readAtMs: count(row["read_at_ms"]),
  };
}

function toStepRecord(row: SqlRow): StepRecord {
  return {
    tenant: text(row["tenant"]),
    runId: text(row["run_id"]),
    name: text(row["name"]),
    position: count(row["position"]),
    concurrent: count(row["concurrent"]) === 1,
    kind: text(row["kind"]) as StepKind,
    status: text(row["status"]) as StepRecord["status"],
    key: textOrNull(row["key"]),
    fingerprint: textOrNull(row["fingerprint"]),
    value: textOrNull(row["value"]),
    startedAtMs: count(row["started_at_ms"]),
    settledAtMs: countOrNull(row["settled_at_ms"]),
    readAtMs: count(row["read_at_ms"]),
  };
}

function toApprovalRecord(row: SqlRow): ApprovalRecord {
  return {
    tenant: text(row["tenant"]),
    runId: text(row["run_id"]),
    name: text(row["name"]),
    key: text(row["key"]),
    fingerprint: text(row["fingerprint"]),
    payload: text(row["payload"]),
    status: text(row["status"]) as ApprovalStatus,
    version: count(row["version"]),
    decidedBy: textOrNull(row["decided_by"]),
    why: textOrNull(row["why"]),
    createdAtMs: count(row["created_at_ms"]),
    expiresAtMs: count(row["expires_at_ms"]),
    decidedAtMs: countOrNull(row["decided_at_ms"]),
    readAtMs: count(row["read_at_ms"]),
  };
}
