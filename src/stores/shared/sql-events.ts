/**
 * The inbox and the outbox, each method bound to the statement of the same name.
 *
 * @module
 */
import { assert } from "../../base/errors.ts";
import type {
  Inbox,
  InboxRecord,
  InboxStatus,
  Outbox,
  OutboxRecord,
  OutboxStatus,
} from "../../ledger/events.ts";
import { toPlaceParams, toSqlParams } from "./parameters.ts";
import { count, countOrNull, text, textOrNull } from "./rows.ts";
import type { SqlRow, SqlStatements, StatementName } from "./statement.ts";

/** The inbox over an executor, or over an open transaction. */
export function inboxOver(statements: SqlStatements): Inbox {
  const many = async (name: StatementName, params: object): Promise<InboxRecord[]> =>
    (await statements.run(name, toSqlParams(params))).map(toInboxRecord);
  const one = async (name: StatementName, params: object): Promise<InboxRecord | undefined> =>
    (await many(name, params))[0];
  return {
    receive: (params) => one("inbox-receive", params),
    fail: (params) => one("inbox-fail", params),
    reject: async (params) => {
      const record = await one("inbox-reject", params);
      assert(record !== undefined, "a rejected message always has a row");
      return record;
    },
    read: (params) => one("inbox-read", params),
    due: (params) => many("inbox-due", params),
    list: ({ after, ...rest }) => {
      const parts = ["receivedAtMs", "tenant", "consumer", "source", "id"] as const;
      const any = { subject: null, source: null, id: null };
      return many("inbox-list", { ...any, ...rest, ...toPlaceParams(after, parts) });
    },
    redrive: (id) => one("inbox-redrive", id),
    discard: (params) => one("inbox-discard", params),
    purge: async (params) => (await statements.run("inbox-purge", toSqlParams(params))).length,
  };
}

/** The outbox over an executor, or over an open transaction. */
export function outboxOver(statements: SqlStatements): Outbox {
  const many = async (name: StatementName, params: object): Promise<OutboxRecord[]> =>
    (await statements.run(name, toSqlParams(params))).map(toOutboxRecord);
  const one = async (name: StatementName, params: object): Promise<OutboxRecord | undefined> =>
    (await many(name, params))[0];
  return {
    emit: async (params) => {
      const record = await one("outbox-emit", params);
      assert(record !== undefined, "an emitted event always has a row");
      return record;
    },
    claim: async (params) =>
      (await many("outbox-claim", params)).toSorted((a, b) => a.position - b.position),
    publish: (fence) => one("outbox-publish", fence),
    fail: (params) => one("outbox-fail", params),
    nextDueInMs: async () => waitMsOf(await statements.run("outbox-next", {})),
    list: (params) => many("outbox-list", { subject: null, id: null, ...params }),
    redrive: (id) => one("outbox-redrive", id),
    discard: (params) => one("outbox-discard", params),
    purge: async (params) => (await statements.run("outbox-purge", toSqlParams(params))).length,
  };
}

/** The span in a row of `outbox-next` or `run-next`. */
export function waitMsOf([row]: readonly SqlRow[]): number | undefined {
  return row === undefined ? undefined : count(row["wait_ms"]);
}

function toInboxRecord(row: SqlRow): InboxRecord {
  return {
    tenant: text(row["tenant"]),
    consumer: text(row["consumer"]),
    source: text(row["source"]),
    id: text(row["id"]),
    type: text(row["type"]),
    subject: textOrNull(row["subject"]),
    fact: textOrNull(row["fact"]),
    event: textOrNull(row["event"]),
    raw: textOrNull(row["raw"]),
    status: text(row["status"]) as InboxStatus,
    receipt: text(row["receipt"]),
    attempts: count(row["attempts"]),
    error: textOrNull(row["error"]),
    receivedAtMs: count(row["received_at_ms"]),
    dueAtMs: count(row["due_at_ms"]),
    settledAtMs: countOrNull(row["settled_at_ms"]),
    discardedBy: textOrNull(row["discarded_by"]),
    discardReason: textOrNull(row["discard_reason"]),
    readAtMs: count(row["read_at_ms"]),
  };
}

function toOutboxRecord(row: SqlRow): OutboxRecord {
  return {
    tenant: text(row["tenant"]),
    id: text(row["id"]),
    position: count(row["position"]),
    type: text(row["type"]),
    subject: textOrNull(row["subject"]),
    event: text(row["event"]),
    status: text(row["status"]) as OutboxStatus,
    token: count(row["token"]),
    attempts: count(row["attempts"]),
    error: textOrNull(row["error"]),
    createdAtMs: count(row["created_at_ms"]),
    dueAtMs: count(row["due_at_ms"]),
    settledAtMs: countOrNull(row["settled_at_ms"]),
    discardedBy: textOrNull(row["discarded_by"]),
    discardReason: textOrNull(row["discard_reason"]),
    readAtMs: count(row["read_at_ms"]),
  };
}
