/**
 * TransactWriteItems over the official SDK and real HTTP: a marker in the transaction keeps the writes
 * from being made twice, and tells whether they were made.
 */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { expect, it } from "vitest";
import { minutes } from "../../../src/index.ts";
import { dynamodbTransact } from "../../../src/edges/providers/aws-dynamodb.ts";
import { awsBodyOf, startDynamodb } from "../../support/providers/aws-json.ts";
import { describeAdapter } from "./conformance.ts";

/** With the SDK's own retries on: the adapter has to keep them in check. */
function connect(url: string): DynamoDBClient {
  const credentials = { accessKeyId: "AKIA1", secretAccessKey: "secret" };
  return new DynamoDBClient({ region: "eu-west-1", endpoint: url, credentials, maxAttempts: 3 });
}

const marker = { table: "markers", partitionKey: "pk" };
const put = (order: string): object => ({
  TransactItems: [{ Put: { TableName: "orders", Item: { id: { S: order } } } }],
});

describeAdapter({
  title: "DynamoDB TransactWriteItems",
  args: { order: "8812" },
  start: startDynamodb,
  parts: (url, bounds) =>
    dynamodbTransact(connect(url), {
      ...bounds,
      marker,
      request: ({ order }) => put(order) as never,
    }),
  tagOf: (send) => {
    const items = awsBodyOf(send)["TransactItems"] as { Put: { Item: { pk?: { S: string } } } }[];
    return items.at(-1)?.Put.Item.pk?.S;
  },
  classes: { 400: "refused", 401: "not-executed", 403: "not-executed", 429: "not-executed" },
  passing: {
    credentials: [[401], [400, "IncompleteSignature"]],
    permission: [[403]],
    rate: [[429], [400, "ProvisionedThroughputExceededException"]],
    quota: [[400, "RequestLimitExceeded"]],
  },
  keepsError: () => false,
  foreign: (resource) => ({ ...resource, pk: { S: "somebody-else's" } }),
  differing: (resource) => ({ ...resource, nevertwice_request: { S: "another" } }),
});

const options = { request: () => put("1") as never, marker, timeoutMs: 1000, flightMs: 1000 };

it("a tool needs a marker", async () => {
  const client = connect("http://127.0.0.1:9");
  await expect(
    dynamodbTransact(client, { ...options, marker: undefined as never }),
  ).rejects.toMatchObject({ code: "TOOL_INVALID" });
});

it("a send after the token is forgotten writes nothing, and proves nothing", async () => {
  const counterpart = await startDynamodb();
  const { contract, execute } = await dynamodbTransact(connect(counterpart.url), options);
  const { signal } = new AbortController();
  const call = { key: "k", wireKey: "w", beforeWrite: () => {}, signal } as never;
  await execute({}, call);
  counterpart.advance(minutes(11));
  const error = await execute({}, call).catch((thrown: unknown) => thrown);
  expect(counterpart.sends).toHaveLength(2);
  expect(counterpart.effects).toHaveLength(1);
  expect(contract.classify?.(error)).toBe("unknown");
  await counterpart.close();
});

it.each([
  [["ConditionalCheckFailed", "None"], "refused"],
  [["TransactionConflict", "None"], "not-executed"],
  [["ItemCollectionSizeLimitExceeded", "None"], "not-executed"],
  [["None", "ConditionalCheckFailed"], "unknown"],
  [[], "unknown"],
])("a transaction that was cancelled for %j proves: %s", async (codes, proves) => {
  const { contract } = await dynamodbTransact(connect("http://127.0.0.1:9"), options);
  const CancellationReasons = codes.map((Code) => ({ Code }));
  const error = { name: "TransactionCanceledException", CancellationReasons };
  expect(contract.classify?.(error)).toBe(proves);
});
