/**
 * AWS SQS: SendMessage to a FIFO queue, over the official `@aws-sdk/client-sqs` package.
 *
 * The queue drops a second message with the same deduplication id for five minutes
 * (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html), and
 * nothing can look a message up. So it is sent once, and after a doubt a person decides. The operation's
 * key is an attribute of the message, so that its reader can tell a second one too.
 *
 * @module
 */
import {
  SendMessageCommand,
  type SendMessageCommandInput,
  type SQSClient,
} from "@aws-sdk/client-sqs";
import type { ErrorClass } from "../../guard/contract.ts";
import { sqsFifo } from "./contracts/aws.ts";
import { type AdapterOptions, type AdapterParts, tagName } from "./shared/adapter.ts";
import { checkAwsClient, classifyAws, oneSend, sendSlot } from "./shared/aws-tool.ts";
import { contractParts } from "./shared/contract-parts.ts";
import { sendOnce } from "./shared/send-once.ts";

/** What is kept of a message. */
export interface SqsMessage {
  readonly messageId: string;
  readonly sequenceNumber: string;
}

/** The parameters of a message, with nine attributes at most; the deduplication id is the adapter's. */
export type SqsMessageRequest = Omit<SendMessageCommandInput, "MessageDeduplicationId"> & {
  readonly MessageGroupId: string;
};

/**
 * A tool that sends a message to a FIFO queue. `request` for any other queue sends nothing.
 *
 * @throws {NeverTwiceError} TOOL_INVALID when the client has no credentials.
 */
export async function sqsSendMessage<Args>(
  client: SQSClient,
  options: AdapterOptions<Args, SqsMessageRequest>,
): Promise<AdapterParts<Args, SqsMessage>> {
  const { request, ...bounds } = options;
  await checkAwsClient(sqsFifo.title, client);
  return {
    contract: {
      ...contractParts(sqsFifo, bounds),
      classify: (error): ErrorClass => classifyAws(error, codes),
      providerId: ({ messageId }) => messageId,
    },
    execute: async (args, call) => {
      const { MessageId, SequenceNumber } = await sendOnce(call, (gate) => {
        const asked = request(args);
        // A standard queue has no deduplication.
        if (asked.QueueUrl?.endsWith(".fifo") !== true)
          throw new Error("`QueueUrl` must be that of a FIFO queue, which ends with .fifo");
        const command = new SendMessageCommand({
          ...asked,
          MessageAttributes: {
            ...asked.MessageAttributes,
            [tagName]: { DataType: "String", StringValue: call.key },
          },
          MessageDeduplicationId: call.wireKey,
        });
        command.middlewareStack.add(oneSend(gate), sendSlot);
        return client.send(command, { abortSignal: call.signal });
      });
      if (MessageId === undefined || SequenceNumber === undefined)
        throw new Error("SQS's answer holds no message of a FIFO queue");
      return { messageId: MessageId, sequenceNumber: SequenceNumber };
    },
  };
}

/**
 * By SQS's own codes (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html;
 * those for parameters are in CommonErrors.html beside it). The queue's KMS key may be opened again. A queue that isn't found may be one that the credentials don't reach
 * (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/troubleshooting-api-errors.html).
 */
const codes = {
  refused: new Set([
    "InvalidMessageContents",
    "InvalidParameterValue",
    "MissingParameter",
    "UnsupportedOperation",
  ]),
  notExecuted: new Set([
    "AWS.SimpleQueueService.NonExistentQueue",
    "KmsAccessDenied",
    "KmsDisabled",
    "KmsInvalidState",
    "KmsOptInRequired",
    "KmsThrottled",
    "QueueDoesNotExist",
    "RequestThrottled",
  ]),
};
