/**
 * Salesforce: brings a record into a state, by an upsert over an external id with the `jsforce` package
 * (https://developer.salesforce.com/docs/atlas.en-us.api_rest.meta/api_rest/dome_upsert.htm).
 *
 * It is for `ensure`: the record is found again by the business's own id, so that a repeat updates what is
 * there. Mark the external-id field as unique, or two requests at once can make two records.
 *
 * @module
 */
import type { Connection } from "jsforce";
import type { Json } from "../../base/plain-json.ts";
import { salesforce } from "./contracts/business.ts";
import { type EnsureBounds, type EnsureParts, isObject } from "./shared/adapter.ts";
import { refuseProvider } from "./shared/contract-parts.ts";
import { checkOwnMethods } from "./shared/own-methods.ts";
import {
  NewerRecord,
  SessionExpired,
  classifySalesforce,
  codeOf,
} from "./shared/salesforce-errors.ts";
import { type SendGate, sendOnce } from "./shared/send-once.ts";

/** A record as an author writes it down. */
export interface SalesforceRecord {
  /** The business's own id: the value of the external-id field. */
  readonly id: string;
  /** All fields that are yours, and no others. */
  readonly fields: Readonly<Record<string, Json>>;
}

/** Options of {@link salesforceUpsert}. */
export interface SalesforceOptions<Desired> extends EnsureBounds {
  /** The record for these business arguments; the same each time. */
  readonly record: (desired: Desired) => SalesforceRecord;
  /** E.g. `Order__c`. */
  readonly sobject: string;
  /** E.g. `Shop_Id__c`: an external id, marked as unique. */
  readonly externalIdField: string;
  /** One name for the org, the same in all workers: part of the target. No white space. */
  readonly org: string;
  /** A number field that keeps the version, so that an older one never follows, of another ledger too. */
  readonly versionField?: string;
}

/** What was observed. */
export interface SalesforceState {
  /** Null: Salesforce itself says that there is no such record. */
  readonly live: Readonly<Record<string, unknown>> | null;
  /** The version that was asked for. */
  readonly version: number;
}

/**
 * The parts of an ensure tool that upserts a record. The state is there when the record's fields are those
 * that were asked for.
 *
 * @throws {NeverTwiceError} TOOL_INVALID when the connection isn't logged in.
 *
 * @example
 * const order = defineEnsureTool({
 *   name: "order_in_crm",
 *   arguments: z.object({ orderId: z.string(), status: z.string(), revision: z.int() }),
 *   version: ({ args }) => args.revision,
 *   businessArguments: ["orderId", "status"],
 *   ...(await salesforceUpsert(connection, {
 *     org: "acme", sobject: "Order__c", externalIdField: "Shop_Id__c", versionField: "Revision__c",
 *     record: (args: { orderId: string; status: string }) => ({
 *       id: args.orderId,
 *       fields: { Status__c: args.status },
 *     }),
 *     timeoutMs: 30_000, flightMs: 120_000,
 *   })),
 * });
 */
export async function salesforceUpsert<Desired>(
  connection: Connection,
  options: SalesforceOptions<Desired>,
): Promise<EnsureParts<Desired, SalesforceState>> {
  const { record, sobject, externalIdField, org, versionField, ...bounds } = options;
  checkConnection(connection);
  if (!/^\S+$/.test(org)) refuseProvider(salesforce.title, "`org` must be one name");
  const urlOf = ({ id }: SalesforceRecord): string =>
    ["", "sobjects", sobject, externalIdField, encodeURIComponent(id)].join("/");
  const fieldsAt = (desired: Desired, version: number): SalesforceRecord["fields"] => ({
    ...record(desired).fields,
    ...(versionField === undefined ? {} : { [versionField]: version }),
  });
  const read = (desired: Desired): Promise<SalesforceState["live"]> =>
    readRecord(connection, urlOf(record(desired)), bounds.timeoutMs);
  return {
    target: ({ args }) => `${org} ${sobject} ${externalIdField} ${record(args).id}`,
    observe: async (desired, { version }) => ({ live: await read(desired), version }),
    isConverged: ({ live, version }, desired) =>
      live !== null &&
      Object.entries(fieldsAt(desired, version)).every(([name, value]) =>
        isSame(value, live[name] ?? null),
      ),
    apply: async (desired, call) => {
      const { version } = call;
      if (versionField !== undefined) {
        const live = await sendOnce(call, () => read(desired));
        const newer = Number(live?.[versionField] ?? -1);
        if (newer > version) throw new NewerRecord(version, newer);
      }
      const body = JSON.stringify(fieldsAt(desired, version));
      const url = urlOf(record(desired));
      await sendOnce(call, (gate) => upsert(connection, { url, body }, bounds.timeoutMs, gate));
    },
    contract: { ...bounds, account: org, classify: classifySalesforce },
  };
}

function checkConnection(connection: Connection): void {
  if (typeof connection?.request !== "function")
    refuseProvider(salesforce.title, "it needs a Connection of the jsforce package");
  checkOwnMethods(salesforce.title, connection, ["request"]);
  const { accessToken } = connection;
  if (typeof accessToken !== "string" || accessToken === "")
    refuseProvider(salesforce.title, "the Connection has no access token: log in first");
}

async function readRecord(
  connection: Connection,
  url: string,
  timeout: number,
): Promise<SalesforceState["live"]> {
  try {
    const live = await connection.request(
      { method: "GET", url },
      { timeout, followRedirect: false },
    );
    if (isObject(live) && typeof live["Id"] === "string") return live;
  } catch (error) {
    if (codeOf(error) === "NOT_FOUND") return null;
    throw error;
  }
  throw new Error("Salesforce's answer holds no record");
}

async function upsert(
  connection: Connection,
  { url, body }: { readonly url: string; readonly body: string },
  timeout: number,
  gate: SendGate,
): Promise<void> {
  const headers = { "content-type": "application/json" };
  const answer = await connection.request(
    { method: "PATCH", url, body, headers },
    {
      timeout,
      followRedirect: false,
      noContentResponse: { success: true },
      transport: transportOnce(connection, gate),
    },
  );
  if (!isObject(answer) || answer["success"] !== true)
    throw new Error("Salesforce's answer holds no success");
}

/** It logs in anew after a 401 and sends again: the second is stopped, and the first is what counts. */
function transportOnce(connection: Connection, gate: SendGate): Connection["_transport"] {
  // oxlint-disable-next-line no-underscore-dangle -- The SDK's own name; public in its types.
  const transport = connection._transport;
  return Object.assign(Object.create(transport) as typeof transport, {
    httpRequest: (...request: Parameters<typeof transport.httpRequest>) => {
      gate.pass();
      const sent = transport.httpRequest(...request);
      const tell = ({ statusCode }: { readonly statusCode: number }): void => {
        if (statusCode === 401) gate.failed(new SessionExpired());
      };
      sent.then(tell, () => {});
      return sent;
    },
  });
}

/** Salesforce shows times with milliseconds and an offset, in whatever form they were written. */
function isSame(asked: Json, found: unknown): boolean {
  if (asked === found) return true;
  if (typeof asked !== "string" || typeof found !== "string") return false;
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d/;
  return isTime.test(asked) && isTime.test(found) && Date.parse(asked) === Date.parse(found);
}
