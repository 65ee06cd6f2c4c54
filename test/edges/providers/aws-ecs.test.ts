/**
 * RunTask over the official SDK and real HTTP: one send, found again by who started it.
 */
import { ECSClient } from "@aws-sdk/client-ecs";
import { expect, it } from "vitest";
import { ecsRunTask } from "../../../src/edges/providers/aws-ecs.ts";
import { awsBodyOf, startEcs } from "../../support/providers/aws-json.ts";
import { describeAdapter } from "./conformance.ts";

/** With the SDK's own retries on: the adapter has to keep them in check. */
function connect(url: string): ECSClient {
  const credentials = { accessKeyId: "AKIA1", secretAccessKey: "secret" };
  return new ECSClient({ region: "eu-west-1", endpoint: url, credentials, maxAttempts: 3 });
}

describeAdapter({
  title: "ECS RunTask",
  args: { job: "invoice:7" },
  start: startEcs,
  parts: (url, bounds) =>
    ecsRunTask(connect(url), {
      ...bounds,
      request: ({ job }) => ({ cluster: "jobs", taskDefinition: job }),
    }),
  tagOf: (send) => awsBodyOf(send)["startedBy"],
  classes: { 400: "refused", 401: "not-executed", 403: "not-executed", 429: "not-executed" },
  passing: {
    credentials: [[401], [403, "ExpiredTokenException"]],
    permission: [[403], [400, "BlockedException"]],
    rate: [[429]],
  },
  keepsError: () => false,
  twin: (resource) => ({ ...resource, taskArn: `${String(resource["taskArn"])}-twin` }),
  foreign: (resource) => ({ ...resource, taskArn: "arn/foreign", startedBy: "somebody-else" }),
  differing: (resource) => ({ ...resource, taskDefinitionArn: "arn:task-definition/other:7" }),
});

const options = { timeoutMs: 1000, flightMs: 1000 };

it("a client without credentials makes no tool", async () => {
  const credentials = (): Promise<never> => Promise.reject(new Error("no profile"));
  const client = new ECSClient({ region: "eu-west-1", credentials });
  const request = (): { taskDefinition: string } => ({ taskDefinition: "t" });
  await expect(ecsRunTask(client, { ...options, request })).rejects.toMatchObject({
    code: "TOOL_INVALID",
  });
});

it("a task for which there is no room was not run, and another try may do better", async () => {
  const counterpart = await startEcs();
  const { contract, execute } = await ecsRunTask(connect(counterpart.url), {
    ...options,
    request: () => ({ taskDefinition: "too-large:1" }),
  });
  const { signal } = new AbortController();
  const call = { key: "k", wireKey: "w", beforeWrite: () => {}, signal } as never;
  const error = await execute({}, call).catch((thrown: unknown) => thrown);
  expect(String(error)).toContain("RESOURCE:MEMORY");
  expect(contract.classify?.(error)).toBe("not-executed");
  await counterpart.close();
});

it("a task that has stopped is found too", async () => {
  const counterpart = await startEcs();
  const { contract, execute } = await ecsRunTask(connect(counterpart.url), {
    ...options,
    request: () => ({ taskDefinition: "invoice" }),
  });
  const { signal } = new AbortController();
  const { taskArn } = await execute({}, {
    key: "k",
    wireKey: "w",
    beforeWrite: () => {},
    signal,
  } as never);
  const [effect] = counterpart.effects;
  if (effect !== undefined)
    effect.resource = {
      ...effect.resource,
      desiredStatus: "STOPPED",
      taskDefinitionArn: "arn:aws:ecs:eu-west-1:1:task-definition/invoice:9",
    };
  const question = { tenant: "acme", key: "k", wireKeys: ["w"], arguments: {}, signal };
  expect(await contract.lookUp?.find(question)).toMatchObject({
    answer: "found",
    effects: [{ providerId: taskArn, status: "succeeded" }],
  });
  await counterpart.close();
});

it("an error that is only usually the caller's proves nothing", async () => {
  const { contract } = await ecsRunTask(connect("http://127.0.0.1:9"), {
    ...options,
    request: () => ({ taskDefinition: "invoice" }),
  });
  const proves = (name: string): unknown =>
    contract.classify?.({ name, $metadata: { httpStatusCode: 400 } });
  expect(proves("ClientException")).toBe("unknown");
  expect(proves("ClusterNotFoundException")).toBe("refused");
});
