/**
 * StartExecution over the official SDK and real HTTP: the name is the key, and a resend is safe.
 */
import { SFNClient } from "@aws-sdk/client-sfn";
import { expect, it } from "vitest";
import { stepFunctionsStart } from "../../../src/edges/providers/aws-step-functions.ts";
import { awsBodyOf, startStepFunctions } from "../../support/providers/aws-json.ts";
import { describeAdapter } from "./conformance.ts";

/** With the SDK's own retries on: the adapter has to keep them in check. */
function connect(url: string): SFNClient {
  const credentials = { accessKeyId: "AKIA1", secretAccessKey: "secret" };
  return new SFNClient({ region: "eu-west-1", endpoint: url, credentials, maxAttempts: 3 });
}

const stateMachineArn = "arn:aws:states:eu-west-1:1:stateMachine:orders";

describeAdapter({
  title: "Step Functions StartExecution",
  args: { order: "8812" },
  start: startStepFunctions,
  parts: (url, bounds) =>
    stepFunctionsStart(connect(url), {
      ...bounds,
      stateMachineType: "STANDARD",
      request: ({ order }) => ({ stateMachineArn, input: JSON.stringify({ order }) }),
    }),
  tagOf: (send) => awsBodyOf(send)["name"],
  classes: { 400: "refused", 401: "not-executed", 403: "not-executed", 429: "not-executed" },
  passing: {
    credentials: [[401], [400, "MissingAuthenticationToken"]],
    permission: [[403], [400, "KmsAccessDeniedException"]],
    rate: [[429], [400, "KmsThrottlingException"]],
    quota: [[400, "ExecutionLimitExceeded"]],
  },
  keepsError: () => false,
  foreign: (resource) => ({ ...resource, executionArn: "arn:foreign", name: "foreign" }),
  differing: (resource) => ({ ...resource, input: '{"order":"8813"}' }),
});

it("an EXPRESS state machine makes no tool", async () => {
  const options = {
    stateMachineType: "EXPRESS",
    request: () => ({ stateMachineArn }),
    timeoutMs: 1000,
    flightMs: 1000,
  };
  const client = connect("http://127.0.0.1:9");
  await expect(stepFunctionsStart(client, options as never)).rejects.toMatchObject({
    code: "TOOL_INVALID",
  });
});
