/**
 * Contracts of AWS. Limits are those of the service models; every SDK fills in a fresh token for each
 * call where none is given.
 *
 * @module
 */
import { days, hours, minutes } from "../../../base/duration.ts";
import { type ProviderDeclaration, declareProvider } from "../shared/declare-provider.ts";
import type { ProviderContract } from "../shared/provider-contract.ts";

const models = { url: "https://github.com/boto/botocore", asOf: "2026-08" };
const common = {
  kind: "replay",
  sources: [models],
  checkedOn: "2026-12-02",
} as const satisfies Partial<ProviderDeclaration>;
const token = { transport: "argument", maxLength: 64, charset: "[!-~]" } as const;
const unknownAfter = ["key.retentionMs", "key.inFlight", "key.atomic", "key.afterError"] as const;

/** EC2's creates with a client token. */
export const ec2 = declareProvider({
  ...common,
  name: "aws-ec2",
  title: "AWS EC2",
  covers: "RunInstances and some 150 others with a ClientToken",
  key: {
    ...token,
    field: "ClientToken",
    scope: "region, sometimes zone: another region launches again",
    mismatch: { status: 400, code: "IdempotentParameterMismatch" },
    replay: { note: "the reservation, perhaps in a newer state" },
  },
  lookUp: { by: "DescribeInstances, filter client-token; eventually consistent" },
  tag: { field: "ClientToken", maxLength: 64 },
  sdkMintsKey: true,
  uncertain: [...unknownAfter, "lookUp.lagMs"],
  sources: [
    models,
    { url: "https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html" },
  ],
  notes: [
    "An older page kept tokens for at least 24 h after the instance's end; today's is silent.",
    "The token is case-sensitive.",
  ],
});

/** ECS tasks. */
export const ecsTasks = declareProvider({
  ...common,
  name: "aws-ecs-tasks",
  title: "AWS ECS tasks",
  covers: "RunTask, StartTask",
  key: {
    ...token,
    field: "clientToken",
    mismatch: { status: 400, code: "ConflictException" },
  },
  lookUp: { by: "ListTasks by startedBy, which must be the only filter" },
  tag: { field: "startedBy", maxLength: 128, charset: "[A-Za-z0-9_/-]" },
  sdkMintsKey: true,
  uncertain: [...unknownAfter, "lookUp.lagMs"],
});

/** ECS services. */
export const ecsServices = declareProvider({
  ...common,
  name: "aws-ecs-services",
  title: "AWS ECS services",
  covers: "CreateService, CreateTaskSet, CreateDaemon",
  key: { ...token, field: "clientToken", maxLength: 36 },
  lookUp: { by: "DescribeServices by name" },
  tag: { field: "tags" },
  sdkMintsKey: true,
  uncertain: [...unknownAfter, "key.mismatch", "lookUp.lagMs"],
});

/** RDS: the identifier is the key. */
export const rds = declareProvider({
  ...common,
  name: "aws-rds",
  title: "AWS RDS",
  covers: "CreateDBInstance and the like",
  kind: "natural-key",
  key: {
    transport: "name",
    field: "DBInstanceIdentifier",
    shape: "uuid",
    replay: { status: 400, code: "DBInstanceAlreadyExists" },
    scope: "account and region",
  },
  lookUp: { by: "DescribeDBInstances by identifier" },
  tag: { field: "Tags" },
  uncertain: ["key.retentionMs", "key.scope", "lookUp.lagMs"],
  notes: ["An identifier must begin with a letter: put a prefix before the key."],
});

/** SQS FIFO queues. */
export const sqsFifo = declareProvider({
  ...common,
  name: "aws-sqs-fifo",
  title: "AWS SQS FIFO",
  covers: "SendMessage to a FIFO queue",
  key: {
    transport: "argument",
    field: "MessageDeduplicationId",
    maxLength: 128,
    charset: "[!-~]",
    retentionMs: minutes(5),
    scope: "queue, or message group",
    replay: { note: "accepted, and not delivered" },
  },
  uncertain: ["key.scope", "key.atomic", "key.afterError"],
  notes: [
    "After five minutes a resend is a second message.",
    "Content-based deduplication hashes the body alone, without attributes.",
  ],
});

/** SNS FIFO topics. */
export const snsFifo = declareProvider({
  ...common,
  name: "aws-sns-fifo",
  title: "AWS SNS FIFO",
  covers: "Publish to a FIFO topic",
  key: {
    transport: "argument",
    field: "MessageDeduplicationId",
    maxLength: 128,
    charset: "[!-~]",
    retentionMs: minutes(5),
    scope: "topic or message group",
  },
  uncertain: ["key.atomic", "key.afterError"],
});

/** DynamoDB transactions. */
export const dynamodb = declareProvider({
  ...common,
  name: "aws-dynamodb",
  title: "AWS DynamoDB",
  covers: "TransactWriteItems",
  key: {
    transport: "argument",
    field: "ClientRequestToken",
    minLength: 1,
    maxLength: 36,
    retentionMs: minutes(10),
    scope: "account and region",
    mismatch: { status: 400, code: "IdempotentParameterMismatchException" },
    inFlight: { status: 400, code: "TransactionInProgressException", note: "recovery after 5 s" },
    atomic: true,
  },
  lookUp: { by: "reading the items" },
  sdkMintsKey: true,
  uncertain: ["key.scope", "key.afterError"],
  notes: ["Ten minutes from the end of the request."],
});

/** Step Functions: the execution's name is the key. */
export const stepFunctions = declareProvider({
  ...common,
  name: "aws-step-functions",
  title: "AWS Step Functions",
  covers: "StartExecution of a STANDARD state machine",
  kind: "natural-key",
  key: {
    transport: "name",
    field: "name",
    shape: "hex",
    minLength: 1,
    maxLength: 80,
    charset: "[A-Za-z0-9_-]",
    retentionMs: days(90),
    scope: "account, region and state machine",
    mismatch: { status: 400, code: "ExecutionAlreadyExists", note: "also once it is closed" },
    inFlight: { status: 200, note: "the running execution" },
    replay: { status: 200, note: "the running execution" },
    atomic: true,
    afterError: "re-executes",
  },
  lookUp: { by: "DescribeExecution by ARN" },
  tag: { field: "name", maxLength: 80 },
  uncertain: ["lookUp.lagMs"],
  notes: ["EXPRESS state machines start anew each time."],
});

/** Lambda. */
export const lambda = declareProvider({
  ...common,
  name: "aws-lambda",
  title: "AWS Lambda",
  covers: "Invoke of a durable function; a plain Invoke takes no key",
  kind: "natural-key",
  key: {
    transport: "name",
    field: "DurableExecutionName",
    mismatch: { code: "DurableExecutionAlreadyStartedException" },
    replay: { note: "the execution that exists" },
  },
  lookUp: { by: "ListDurableExecutionsByFunction by name" },
  uncertain: ["key.retentionMs", "key.atomic", "lookUp.lagMs"],
  notes: ["Asynchronous invokes may run more than once, also without an error."],
});

/** CloudFormation. */
export const cloudformation = declareProvider({
  ...common,
  name: "aws-cloudformation",
  title: "AWS CloudFormation",
  covers: "CreateStack, UpdateStack …",
  key: {
    transport: "argument",
    field: "ClientRequestToken",
    minLength: 1,
    maxLength: 128,
    charset: "[a-zA-Z0-9-]",
    replay: { code: "TokenAlreadyExistsException" },
  },
  lookUp: { by: "DescribeStackEvents, which carry the token; the stack's name is unique" },
  tag: { field: "ClientRequestToken", maxLength: 128 },
  uncertain: [...unknownAfter, "lookUp.lagMs"],
  notes: ["The first character must be a letter or a digit."],
});

/** Batch. */
export const batch = declareProvider({
  ...common,
  name: "aws-batch",
  title: "AWS Batch",
  covers: "SubmitServiceJob",
  kind: "pointer",
  key: {
    ...token,
    field: "clientToken",
    retentionMs: hours(8),
    replay: { note: "the second request is refused, not replayed" },
  },
  sdkMintsKey: true,
  uncertain: ["key.inFlight", "key.atomic", "key.afterError"],
});

/** CodeBuild. */
export const codebuild = declareProvider({
  ...common,
  name: "aws-codebuild",
  title: "AWS CodeBuild",
  covers: "StartBuild",
  key: {
    transport: "argument",
    field: "idempotencyToken",
    retentionMs: minutes(5),
    mismatch: { note: "an error" },
  },
  sdkMintsKey: true,
  uncertain: ["key.inFlight", "key.atomic", "key.afterError"],
});

/** Cloud Control API. */
export const cloudControl = declareProvider({
  ...common,
  name: "aws-cloud-control",
  title: "AWS Cloud Control API",
  covers: "CreateResource, UpdateResource, DeleteResource",
  key: { transport: "argument", field: "ClientToken", retentionMs: hours(36) },
  sdkMintsKey: true,
  uncertain: ["key.mismatch", "key.inFlight", "key.atomic", "key.afterError"],
  sources: [{ url: "https://docs.aws.amazon.com/cloudcontrolapi/latest/APIReference" }],
});

/** EventBridge Scheduler, Auto Scaling and Systems Manager. */
export const scheduler = declareProvider({
  ...common,
  name: "aws-scheduler",
  title: "AWS EventBridge Scheduler",
  covers: "CreateSchedule; Auto Scaling and Systems Manager are alike",
  key: { ...token, field: "ClientToken", mismatch: { note: "an error" } },
  sdkMintsKey: true,
  uncertain: unknownAfter,
});

/** Secrets Manager, whose token must be long. */
export const secretsManager = declareProvider({
  ...common,
  name: "aws-secrets-manager",
  title: "AWS Secrets Manager",
  covers: "CreateSecret, PutSecretValue",
  key: { transport: "argument", field: "ClientRequestToken", minLength: 32, maxLength: 64 },
  sdkMintsKey: true,
  uncertain: unknownAfter,
});

/** Bedrock agents, whose token must be longer than a bare UUID. */
export const bedrockAgents = declareProvider({
  ...common,
  name: "aws-bedrock-agents",
  title: "AWS Bedrock agents",
  covers: "CreateAgent and the like",
  key: { transport: "argument", field: "clientToken", minLength: 33, maxLength: 256 },
  sdkMintsKey: true,
  uncertain: unknownAfter,
});

/** Route 53. */
export const route53 = declareProvider({
  ...common,
  name: "aws-route53",
  title: "AWS Route 53",
  covers: "CreateHostedZone, CreateHealthCheck",
  key: { transport: "argument", field: "CallerReference", minLength: 1, maxLength: 64 },
  uncertain: unknownAfter,
  notes: ["128 characters for hosted zones, 64 for health checks."],
});

/** All of AWS. */
export const awsContracts: readonly ProviderContract[] = [
  ec2,
  ecsTasks,
  ecsServices,
  rds,
  sqsFifo,
  snsFifo,
  dynamodb,
  stepFunctions,
  lambda,
  cloudformation,
  batch,
  codebuild,
  cloudControl,
  scheduler,
  secretsManager,
  bedrockAgents,
  route53,
];
