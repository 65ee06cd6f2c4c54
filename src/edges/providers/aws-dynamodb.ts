/**
 * AWS DynamoDB: TransactWriteItems, over the official `@aws-sdk/client-dynamodb` package.
 *
 * DynamoDB remembers a request's token for ten minutes
 * (https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html). The
 * adapter adds one more item to the transaction, a marker with the operation's key, on the condition
 * that it isn't there yet: so the writes can't be made a second time for as long as the marker is kept,
 * and a consistent read of it says whether they were made.
 *
 * @module
 */
import {
  type DynamoDBClient,
  GetItemCommand,
  type TransactWriteItem,
  TransactWriteItemsCommand,
  type TransactWriteItemsCommandInput,
} from "@aws-sdk/client-dynamodb";
import { sha256Hex } from "../../base/canonical-json.ts";
import type { ErrorClass, LookUpAnswer } from "../../guard/contract.ts";
import { dynamodb } from "./contracts/aws.ts";
import { type AdapterOptions, type AdapterParts, difference } from "./shared/adapter.ts";
import { awsCodeOf, checkAwsClient, classifyAws, oneSend, sendSlot } from "./shared/aws-tool.ts";
import { contractParts, lookUpFacts, refuseProvider } from "./shared/contract-parts.ts";
import { sendOnce } from "./shared/send-once.ts";

/** What is kept of a transaction: the key of its marker. */
export interface DynamodbTransaction {
  readonly marker: string;
}

/** The parameters of a transaction, of 99 items at most; the token is the adapter's. */
export type DynamodbRequest = Omit<TransactWriteItemsCommandInput, "ClientRequestToken">;

/** Options of {@link dynamodbTransact}. */
export interface DynamodbOptions<Args> extends AdapterOptions<Args, DynamodbRequest> {
  /**
   * Where the marker goes: a table of this account and region with a partition key of type S and no
   * sort key. Keep its items at least as long as the guard keeps operations.
   */
  readonly marker: { readonly table: string; readonly partitionKey: string };
}

/**
 * A tool that writes items in one transaction, all or none.
 *
 * @throws {NeverTwiceError} TOOL_INVALID when the client has no credentials, or there is no marker.
 */
export async function dynamodbTransact<Args>(
  client: DynamoDBClient,
  options: DynamodbOptions<Args>,
): Promise<AdapterParts<Args, DynamodbTransaction>> {
  const { request, marker, ...bounds } = options;
  if (typeof marker?.table !== "string" || typeof marker.partitionKey !== "string")
    refuseProvider(dynamodb.title, "`marker` must name a table and its partition key");
  await checkAwsClient(dynamodb.title, client);
  const find = async (
    args: Args,
    key: string,
    abortSignal: AbortSignal,
  ): Promise<LookUpAnswer<DynamodbTransaction>> => {
    const command = new GetItemCommand({
      TableName: marker.table,
      Key: { [marker.partitionKey]: { S: key } },
      ConsistentRead: true,
    });
    const { Item, $metadata } = await client.send(command, { abortSignal });
    if ($metadata.requestId === undefined) throw new Error("the answer isn't DynamoDB's");
    if (Item === undefined) return { answer: "absent" };
    if (Item[marker.partitionKey]?.S !== key) throw new Error("the item isn't the marker");
    const found = Item[digestName]?.S;
    const differs = difference({ TransactItems: [digestOf(request(args)), found] });
    const result = { marker: key };
    const effects = [{ status: "succeeded", result, providerId: key, ...differs } as const];
    return { answer: "found", effects };
  };
  return {
    contract: {
      ...contractParts(dynamodb, bounds),
      classify,
      providerId: (transaction) => transaction.marker,
      lookUp: {
        ...lookUpFacts(dynamodb),
        find: ({ arguments: args, key, signal }) => find(args, key, signal),
      },
    },
    execute: async (args, call) => {
      const { $metadata } = await sendOnce(call, (gate) => {
        const asked = request(args);
        const command = new TransactWriteItemsCommand({
          ...asked,
          TransactItems: [
            ...(asked.TransactItems ?? []),
            markerItem(marker, call.key, digestOf(asked)),
          ],
          ClientRequestToken: call.wireKey,
        });
        command.middlewareStack.add(oneSend(gate), sendSlot);
        return client.send(command, { abortSignal: call.signal });
      });
      // The answer is empty: only the request's id tells it from a proxy's.
      if ($metadata.requestId === undefined) throw new Error("the answer isn't DynamoDB's");
      return { marker: call.key };
    },
  };
}

/** The marker's attribute that tells one request from another. */
const digestName = "nevertwice_request";

function digestOf({ TransactItems }: DynamodbRequest): string {
  return sha256Hex(JSON.stringify(TransactItems ?? []));
}

function markerItem(
  { table, partitionKey }: { readonly table: string; readonly partitionKey: string },
  key: string,
  digest: string,
): TransactWriteItem {
  return {
    Put: {
      TableName: table,
      Item: { [partitionKey]: { S: key }, [digestName]: { S: digest } },
      ConditionExpression: "attribute_not_exists(#key)",
      ExpressionAttributeNames: { "#key": partitionKey },
    },
  };
}

/** By the errors of https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html. */
const codes = {
  refused: new Set(["ResourceNotFoundException", "ValidationException"]),
  notExecuted: new Set(["ProvisionedThroughputExceededException", "RequestLimitExceeded"]),
};

/** Reasons that another try may get over; the collection's size is one once items are deleted. */
const passing: ReadonlySet<string> = new Set([
  "ItemCollectionSizeLimitExceeded",
  "None",
  "ProvisionedThroughputExceeded",
  "ThrottlingError",
  "TransactionConflict",
]);

/**
 * A transaction that was cancelled wrote nothing. Where the marker was there already, an earlier send
 * did. A mismatch and a transaction in progress prove nothing.
 */
function classify(error: unknown): ErrorClass {
  if (awsCodeOf(error) !== "TransactionCanceledException") return classifyAws(error, codes);
  const { CancellationReasons = [] } = error as {
    CancellationReasons?: readonly { readonly Code?: string }[];
  };
  const reasons = CancellationReasons.map(({ Code = "" }) => Code);
  if (reasons.length === 0 || reasons.at(-1) === "ConditionalCheckFailed") return "unknown";
  return reasons.every((reason) => passing.has(reason)) ? "not-executed" : "refused";
}
