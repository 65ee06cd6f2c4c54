/**
 * SendMessage to a FIFO queue over the official SDK and real HTTP: one send, and nothing to look it up
 * by, so that a doubt goes to a person.
 */
import { SQSClient } from "@aws-sdk/client-sqs";
import { expect, it } from "vitest";
import { sqsSendMessage } from "../../../src/edges/providers/aws-sqs.ts";
import { awsBodyOf, startSqs } from "../../support/providers/aws-json.ts";
import { describeAdapter } from "./conformance.ts";

/** With the SDK's own retries on: the adapter has to keep them in check. */
function connect(url: string): SQSClient {
  const credentials = { accessKeyId: "AKIA1", secretAccessKey: "secret" };
  return new SQSClient({ region: "eu-west-1", endpoint: url, credentials, maxAttempts: 3 });
}

const same = (resource: Record<string, unknown>): Record<string, unknown> => resource;

describeAdapter({
  title: "SQS FIFO SendMessage",
  args: { order: "8812" },
  start: startSqs,
  parts: (url, bounds) =>
    sqsSendMessage(connect(url), {
      ...bounds,
      request: ({ order }) => ({
        QueueUrl: `${url}/1/orders.fifo`,
        MessageGroupId: "orders",
        MessageBody: order,
      }),
    }),
  tagOf: (send) => {
    const { nevertwice_key } = awsBodyOf(send)["MessageAttributes"] as {
      nevertwice_key: { StringValue: string };
    };
    return nevertwice_key.StringValue;
  },
  classes: { 400: "refused", 401: "not-executed", 403: "not-executed", 429: "not-executed" },
  passing: {
    credentials: [[401], [403, "InvalidClientTokenId"]],
    permission: [[403], [400, "QueueDoesNotExist"], [400, "KmsAccessDenied"]],
    rate: [[429], [403, "RequestThrottled"], [400, "KmsThrottled"]],
  },
  keepsError: () => false,
  blind: true,
  foreign: same,
  differing: same,
});

it("a message to a standard queue isn't sent", async () => {
  const { execute } = await sqsSendMessage(connect("http://127.0.0.1:9"), {
    request: () => ({ QueueUrl: "http://sqs/1/orders", MessageGroupId: "g", MessageBody: "b" }),
    timeoutMs: 1000,
    flightMs: 1000,
  });
  const notSent = (cause: unknown): Error => new Error("not sent", { cause });
  const call = { key: "k", wireKey: "w", beforeWrite: () => {}, notSent } as never;
  await expect(execute({}, call)).rejects.toThrow("not sent");
});

it("a queue that isn't found may be one that the credentials don't reach", async () => {
  const { contract } = await sqsSendMessage(connect("http://127.0.0.1:9"), {
    request: () => ({ QueueUrl: "http://sqs/1/o.fifo", MessageGroupId: "g", MessageBody: "b" }),
    timeoutMs: 1000,
    flightMs: 1000,
  });
  const proves = (name: string): unknown =>
    contract.classify?.({ name, $metadata: { httpStatusCode: 400 } });
  expect(proves("QueueDoesNotExist")).toBe("not-executed");
  expect(proves("InvalidMessageContents")).toBe("refused");
});
