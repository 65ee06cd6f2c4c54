/**
 * AWS Step Functions: StartExecution of a STANDARD state machine, over the official
 * `@aws-sdk/client-sfn` package.
 *
 * The execution's name is the key: while it runs, the same name and input get the same answer, and for
 * 90 days after its end the name is refused
 * (https://docs.aws.amazon.com/step-functions/latest/apireference/API_StartExecution.html). An EXPRESS
 * state machine starts anew each time, and its ARN looks the same: so you have to say which it is.
 *
 * @module
 */
import {
  DescribeExecutionCommand,
  type DescribeExecutionCommandOutput,
  type SFNClient,
  StartExecutionCommand,
  type StartExecutionCommandInput,
} from "@aws-sdk/client-sfn";
import type { ErrorClass, LookUpAnswer } from "../../guard/contract.ts";
import { stepFunctions } from "./contracts/aws.ts";
import { type AdapterOptions, type AdapterParts, difference } from "./shared/adapter.ts";
import { awsCodeOf, checkAwsClient, classifyAws, oneSend, sendSlot } from "./shared/aws-tool.ts";
import { contractParts, lookUpFacts, refuseProvider } from "./shared/contract-parts.ts";
import { sendOnce } from "./shared/send-once.ts";

/** What is kept of an execution. */
export interface StepFunctionsExecution {
  readonly executionArn: string;
}

/** The parameters of an execution; the name is the adapter's. */
export type StepFunctionsRequest = Omit<StartExecutionCommandInput, "name">;

/** Options of {@link stepFunctionsStart}. */
export interface StepFunctionsOptions<Args> extends AdapterOptions<Args, StepFunctionsRequest> {
  /** That of every state machine that `request` names. No other is idempotent. */
  readonly stateMachineType: "STANDARD";
}

/**
 * A tool that starts an execution. Done means started: how it ends is another question.
 *
 * @throws {NeverTwiceError} TOOL_INVALID when the client has no credentials, and for another type of
 * state machine.
 */
export async function stepFunctionsStart<Args>(
  client: SFNClient,
  options: StepFunctionsOptions<Args>,
): Promise<AdapterParts<Args, StepFunctionsExecution>> {
  const { request, stateMachineType, ...bounds } = options;
  if (stateMachineType !== "STANDARD")
    refuseProvider(stepFunctions.title, "only a STANDARD state machine keeps an execution's name");
  await checkAwsClient(stepFunctions.title, client);
  return {
    contract: {
      ...contractParts(stepFunctions, bounds),
      classify: (error): ErrorClass => classifyAws(error, codes),
      providerId: ({ executionArn }) => executionArn,
      lookUp: {
        ...lookUpFacts(stepFunctions),
        find: ({ arguments: args, wireKeys, signal }) =>
          find(client, request(args), wireKeys, signal),
      },
    },
    execute: async (args, call) => {
      const { executionArn, startDate } = await sendOnce(call, (gate) => {
        const command = new StartExecutionCommand({ ...request(args), name: call.wireKey });
        command.middlewareStack.add(oneSend(gate), sendSlot);
        return client.send(command, { abortSignal: call.signal });
      });
      if (executionArn === undefined || startDate === undefined)
        throw new Error("the answer of Step Functions holds no execution");
      return { executionArn };
    },
  };
}

async function find(
  client: SFNClient,
  asked: StepFunctionsRequest,
  names: readonly string[],
  abortSignal: AbortSignal,
): Promise<LookUpAnswer<StepFunctionsExecution>> {
  const effects = [];
  for (const name of names) {
    const executionArn = executionArnOf(asked.stateMachineArn, name);
    const found = await describeExecution(client, executionArn, abortSignal);
    if (found === undefined) continue;
    effects.push({
      // An execution that has ended, in whatever way, is one that was started.
      status: "succeeded",
      result: { executionArn },
      providerId: executionArn,
      ...difference({ input: [asked.input ?? "{}", found.input ?? asked.input ?? "{}"] }),
    } as const);
  }
  return effects.length === 0 ? { answer: "absent" } : { answer: "found", effects };
}

async function describeExecution(
  client: SFNClient,
  executionArn: string,
  abortSignal: AbortSignal,
): Promise<DescribeExecutionCommandOutput | undefined> {
  try {
    const found = await client.send(new DescribeExecutionCommand({ executionArn }), {
      abortSignal,
    });
    if (found.executionArn === executionArn) return found;
  } catch (error) {
    if (awsCodeOf(error) === "ExecutionDoesNotExist") return undefined;
    throw error;
  }
  throw new Error("the answer of Step Functions holds no execution");
}

/** `arn:aws:states:REGION:ACCOUNT:stateMachine:NAME`, and perhaps a version or an alias. */
function executionArnOf(stateMachineArn: string | undefined, name: string): string {
  const parts = (stateMachineArn ?? "").split(":");
  if (parts[5] !== "stateMachine" || parts[6] === undefined)
    throw new Error("`stateMachineArn` is no ARN of a state machine");
  return [...parts.slice(0, 5), "execution", parts[6], name].join(":");
}

/**
 * By the errors of https://docs.aws.amazon.com/step-functions/latest/apireference/API_StartExecution.html.
 * `ExecutionAlreadyExists` is none of them: it says that something has landed.
 */
const codes = {
  refused: new Set([
    "InvalidArn",
    "InvalidExecutionInput",
    "InvalidName",
    "StateMachineDeleting",
    "StateMachineDoesNotExist",
    "ValidationException",
  ]),
  notExecuted: new Set([
    "ExecutionLimitExceeded",
    "KmsAccessDeniedException",
    "KmsInvalidStateException",
    "KmsThrottlingException",
  ]),
};
