/**
 * Counterparts of the AWS services that speak JSON: ECS, Step Functions, DynamoDB and SQS.
 */
import { createHash } from "node:crypto";
import { days, minutes } from "../../../src/index.ts";
import { type Answer, Counterpart, type Incoming, type ProviderRules } from "./counterpart.ts";

type Body = Record<string, unknown>;

function answer(status: number, body: unknown): Answer {
  const headers = { "content-type": "application/x-amz-json-1.0", "x-amzn-requestid": "req-1" };
  return { status, headers, body: JSON.stringify(body) };
}

function fail(status: number, code: string, more: Body = {}): Answer {
  return answer(status, { __type: code, message: "what AWS says", ...more });
}

function actionOf({ headers }: Incoming): string {
  return headers["x-amz-target"]?.split(".").at(-1) ?? "";
}

/** The body of a request. */
export function awsBodyOf({ body }: Pick<Incoming, "body">): Body {
  return JSON.parse(body) as Body;
}

/** Codes by status, as far as all services share them. */
const shared: Readonly<Record<number, string>> = {
  401: "UnrecognizedClientException",
  403: "AccessDeniedException",
  404: "UnknownOperationException",
  429: "ThrottlingException",
};

function refusals(invalid: string): ProviderRules["refusal"] {
  return (status, code) =>
    fail(status, code ?? (status === 400 ? invalid : (shared[status] ?? "InternalServerError")));
}

const ecs: ProviderRules = {
  isCreate: (request) => actionOf(request) === "RunTask",
  keyOf: (request) => awsBodyOf(request)["clientToken"] as string,
  keys: {
    retentionMs: days(1),
    saves: ({ status }) => status === 200,
    mismatch: fail(400, "ConflictException"),
    inFlight: fail(400, "ConflictException"),
  },
  create: (request, id) => {
    const { startedBy, taskDefinition } = awsBodyOf(request);
    if (taskDefinition === "too-large:1")
      return { refusal: answer(200, { tasks: [], failures: [{ reason: "RESOURCE:MEMORY" }] }) };
    const arn = "arn:aws:ecs:eu-west-1:1:";
    const definition = `${arn}task-definition/${String(taskDefinition)}`;
    return {
      resource: {
        taskArn: `${arn}task/jobs/${id}`,
        taskDefinitionArn: definition,
        startedBy,
        lastStatus: "PROVISIONING",
        desiredStatus: "RUNNING",
      },
    };
  },
  show: ({ resource }) => answer(200, { tasks: [resource], failures: [] }),
  refusal: refusals("InvalidParameterException"),
  look: (request, visible) => {
    const { startedBy, desiredStatus = "RUNNING", tasks } = awsBodyOf(request);
    const resources = visible.map(({ resource }) => resource);
    if (actionOf(request) === "DescribeTasks") {
      const asked = new Set(tasks as string[]);
      const shown = resources.filter(({ taskArn }) => asked.has(String(taskArn)));
      return answer(200, { tasks: shown, failures: [] });
    }
    const ours = resources.filter(
      (task) => task["startedBy"] === startedBy && task["desiredStatus"] === desiredStatus,
    );
    return answer(200, { taskArns: ours.map(({ taskArn }) => taskArn) });
  },
};

const stepFunctions: ProviderRules = {
  isCreate: (request) => actionOf(request) === "StartExecution",
  keyOf: (request) => awsBodyOf(request)["name"] as string,
  keys: {
    retentionMs: days(90),
    saves: ({ status }) => status === 200,
    mismatch: fail(400, "ExecutionAlreadyExists"),
    inFlight: fail(400, "ThrottlingException"),
  },
  create: (request) => {
    const { name, stateMachineArn, input } = awsBodyOf(request);
    const machine = String(stateMachineArn).replace(":stateMachine:", ":execution:");
    return {
      resource: {
        executionArn: `${machine}:${String(name)}`,
        stateMachineArn,
        name,
        input,
        status: "RUNNING",
        startDate: 1_780_000_000,
      },
    };
  },
  show: ({ resource: { executionArn, startDate } }) => answer(200, { executionArn, startDate }),
  refusal: refusals("InvalidExecutionInput"),
  look: (request, visible) => {
    const { executionArn } = awsBodyOf(request);
    const found = visible.find(({ resource }) => resource["executionArn"] === executionArn);
    return found === undefined ? fail(400, "ExecutionDoesNotExist") : answer(200, found.resource);
  },
};

type Put = { readonly Put: { readonly Item: Record<string, { readonly S: string }> } };

const dynamodb: ProviderRules = {
  isCreate: (request) => actionOf(request) === "TransactWriteItems",
  keyOf: (request) => awsBodyOf(request)["ClientRequestToken"] as string,
  keys: {
    retentionMs: minutes(10),
    saves: ({ status }) => status === 200,
    mismatch: fail(400, "IdempotentParameterMismatchException"),
    inFlight: fail(400, "TransactionInProgressException"),
  },
  create: (request, _id, ledger) => {
    const items = awsBodyOf(request)["TransactItems"] as Put[];
    const { Item = {} } = items.at(-1)?.Put ?? {};
    const isThere = ledger.some(({ resource }) => markerOf(resource) === Item["pk"]?.S);
    const codes = [...items.slice(1).map(() => "None"), "ConditionalCheckFailed"];
    const CancellationReasons = codes.map((Code) => ({ Code }));
    if (isThere)
      return { refusal: fail(400, "TransactionCanceledException", { CancellationReasons }) };
    return { resource: Item };
  },
  show: () => answer(200, {}),
  refusal: refusals("ValidationException"),
  look: (request, visible) => {
    const { Key } = awsBodyOf(request) as { Key: { pk: { S: string } } };
    const found = visible.find(({ resource }) => markerOf(resource) === Key.pk.S);
    return answer(200, found === undefined ? {} : { Item: found.resource });
  },
};

function markerOf(resource: Body): unknown {
  return (resource["pk"] as { S: string }).S;
}

const sqs: ProviderRules = {
  isCreate: (request) => actionOf(request) === "SendMessage",
  keyOf: (request) => awsBodyOf(request)["MessageDeduplicationId"] as string,
  keys: {
    retentionMs: minutes(5),
    saves: ({ status }) => status === 200,
    // The queue compares nothing but the id.
    mismatch: answer(200, { MessageId: "m-0", SequenceNumber: "0" }),
    inFlight: answer(200, { MessageId: "m-0", SequenceNumber: "0" }),
  },
  create: (request, id) => ({
    resource: { id, text: awsBodyOf(request)["MessageBody"] },
  }),
  show: ({ resource: { id, text } }) =>
    answer(200, {
      MessageId: `m-${String(id)}`,
      SequenceNumber: String(id),
      MD5OfMessageBody: createHash("md5").update(String(text)).digest("hex"),
    }),
  refusal: refusals("InvalidMessageContents"),
  look: () => fail(400, "InvalidAction"),
};

export const startEcs = (): Promise<Counterpart> => Counterpart.start(ecs);
export const startStepFunctions = (): Promise<Counterpart> => Counterpart.start(stepFunctions);
export const startDynamodb = (): Promise<Counterpart> => Counterpart.start(dynamodb);
export const startSqs = (): Promise<Counterpart> => Counterpart.start(sqs);
