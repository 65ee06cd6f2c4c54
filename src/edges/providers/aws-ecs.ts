/**
 * AWS ECS: RunTask, over the official `@aws-sdk/client-ecs` package.
 *
 * The client token makes a run idempotent
 * (https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RunTask.html), for how long is not
 * published: so it is sent once, and after a doubt the tasks are looked up by `startedBy`, which holds
 * the operation's key. One operation runs one task: of several, some may be placed and some not.
 *
 * @module
 */
import {
  DescribeTasksCommand,
  type DesiredStatus,
  type ECSClient,
  ListTasksCommand,
  RunTaskCommand,
  type RunTaskCommandInput,
  type RunTaskCommandOutput,
  type Task,
} from "@aws-sdk/client-ecs";
import type { ErrorClass, FoundEffect, LookUpAnswer } from "../../guard/contract.ts";
import { ecsTasks } from "./contracts/aws.ts";
import { type AdapterOptions, type AdapterParts, difference } from "./shared/adapter.ts";
import { checkAwsClient, classifyAws, oneSend, sendSlot } from "./shared/aws-tool.ts";
import { contractParts, lookUpFacts } from "./shared/contract-parts.ts";
import { sendOnce } from "./shared/send-once.ts";

/** What is kept of a task. */
export interface EcsTask {
  readonly taskArn: string;
  readonly taskDefinitionArn: string | null;
  readonly clusterArn: string | null;
}

/** The parameters of a run. Token, `startedBy` and `count` (one) are the adapter's. */
export type EcsTaskRequest = Omit<RunTaskCommandInput, "clientToken" | "count" | "startedBy">;

/**
 * A tool that runs a task. A task that has stopped is shown for about an hour, so that a later look-up
 * finds nothing, and a person decides.
 *
 * @throws {NeverTwiceError} TOOL_INVALID when the client has no credentials.
 *
 * @example
 * const runJob = await ecsRunTask(client, {
 *   request: (args: { job: string }) => ({ cluster: "jobs", taskDefinition: `${args.job}:7` }),
 *   endpoint: "eu-west-1", timeoutMs: 30_000, flightMs: 120_000,
 * });
 */
export async function ecsRunTask<Args>(
  client: ECSClient,
  options: AdapterOptions<Args, EcsTaskRequest>,
): Promise<AdapterParts<Args, EcsTask>> {
  const { request, ...bounds } = options;
  await checkAwsClient(ecsTasks.title, client);
  const find = async (
    args: Args,
    key: string,
    abortSignal: AbortSignal,
  ): Promise<LookUpAnswer<EcsTask>> => {
    const asked = request(args);
    const tasks = await tasksOf(client, asked.cluster, key, abortSignal);
    const effects = tasks.map((task) => effectOf(asked, task));
    return effects.length === 0 ? { answer: "absent" } : { answer: "found", effects };
  };
  return {
    contract: {
      ...contractParts(ecsTasks, bounds),
      classify,
      providerId: ({ taskArn }) => taskArn,
      lookUp: {
        ...lookUpFacts(ecsTasks),
        find: ({ arguments: args, key, signal }) => find(args, key, signal),
      },
    },
    execute: async (args, call) => {
      const answer = await sendOnce(call, (gate) => {
        const command = new RunTaskCommand({
          ...request(args),
          count: 1,
          startedBy: call.key,
          clientToken: call.wireKey,
        });
        command.middlewareStack.add(oneSend(gate), sendSlot);
        return client.send(command, { abortSignal: call.signal });
      });
      return startedTask(answer);
    },
  };
}

/** ECS answered that no task could be placed: there was no room, or no instance would do. */
class NotPlaced extends Error {}

function startedTask({ tasks = [], failures = [] }: RunTaskCommandOutput): EcsTask {
  const [task] = tasks;
  if (task !== undefined) return taskOf(task);
  const [failure] = failures;
  if (failure === undefined) throw new Error("ECS's answer holds no task");
  throw new NotPlaced(`ECS placed no task: ${failure.reason ?? "no reason given"}`);
}

function taskOf({ taskArn, taskDefinitionArn, clusterArn }: Task): EcsTask {
  if (taskArn === undefined) throw new Error("ECS's answer holds no task");
  return {
    taskArn,
    taskDefinitionArn: taskDefinitionArn ?? null,
    clusterArn: clusterArn ?? null,
  };
}

function effectOf(asked: EcsTaskRequest, task: Task): FoundEffect<EcsTask> {
  const result = taskOf(task);
  const isAsked = isNamed(asked.taskDefinition, result.taskDefinitionArn);
  return {
    // A task that has stopped since, for whatever reason, is a task that was run.
    status: "succeeded",
    result,
    providerId: result.taskArn,
    ...difference({
      taskDefinition: [true, isAsked],
      group: [asked.group, task.group],
    }),
  };
}

/** A definition is asked for by its family, with or without a revision, or by its ARN. */
function isNamed(asked: string | undefined, arn: string | null): boolean {
  if (asked === undefined || arn === null) return true;
  const found = arn.slice(arn.lastIndexOf("/") + 1);
  const named = asked.slice(asked.lastIndexOf("/") + 1);
  return found === named || found.startsWith(`${named}:`);
}

/** Running and stopped ones are two lists. */
async function tasksOf(
  client: ECSClient,
  cluster: string | undefined,
  startedBy: string,
  abortSignal: AbortSignal,
): Promise<readonly Task[]> {
  const arns = new Set<string>();
  for (const desiredStatus of ["RUNNING", "STOPPED"] satisfies DesiredStatus[]) {
    for (let nextToken: string | undefined; ;) {
      const command = new ListTasksCommand({ cluster, startedBy, desiredStatus, nextToken });
      const page = await client.send(command, { abortSignal });
      // A list that isn't there is no empty list; only ECS itself can say "none".
      if (page.taskArns === undefined) throw new Error("ECS's answer holds no list");
      for (const arn of page.taskArns) arns.add(arn);
      nextToken = page.nextToken;
      if ((nextToken ?? "") === "") break;
    }
  }
  if (arns.size === 0) return [];
  const command = new DescribeTasksCommand({ cluster, tasks: [...arns].slice(0, 100) });
  const { tasks } = await client.send(command, { abortSignal });
  const ours = (tasks ?? []).filter((task) => task.startedBy === startedBy);
  if (ours.length === 0) throw new Error("ECS lists tasks and doesn't show them");
  return ours;
}

/**
 * What says which part of the request can't be
 * (https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RunTask.html). `ClientException` is none of
 * them: it only says that it was "usually" the caller, and may be about permissions.
 */
const refused: ReadonlySet<string> = new Set([
  "ClusterNotFoundException",
  "InvalidParameterException",
  "PlatformTaskDefinitionIncompatibilityException",
  "PlatformUnknownException",
  "UnsupportedFeatureException",
]);

/** `ConflictException` is none of them: under that token something may have landed. */
function classify(error: unknown): ErrorClass {
  if (error instanceof NotPlaced) return "not-executed";
  return classifyAws(error, { refused, notExecuted: new Set(["BlockedException"]) });
}
