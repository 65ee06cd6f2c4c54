/**
 * RunInstances over the official SDK and real HTTP: one send, found again by its client token.
 */
import { EC2Client } from "@aws-sdk/client-ec2";
import { expect, it } from "vitest";
import { ec2RunInstances } from "../../../src/edges/providers/aws-ec2.ts";
import { startEc2 } from "../../support/providers/aws-ec2.ts";
import { describeAdapter } from "./conformance.ts";

/** With the SDK's own retries on: the adapter has to keep them in check. */
function connect(url: string): EC2Client {
  const credentials = { accessKeyId: "AKIA1", secretAccessKey: "secret" };
  return new EC2Client({ region: "eu-west-1", endpoint: url, credentials, maxAttempts: 3 });
}

describeAdapter({
  title: "EC2 RunInstances",
  args: { imageId: "ami-1" },
  start: startEc2,
  parts: (url, bounds) =>
    ec2RunInstances(connect(url), {
      ...bounds,
      endpoint: "eu-west-1",
      request: ({ imageId }) => ({
        ImageId: imageId,
        InstanceType: "t3.micro",
        MinCount: 1,
        MaxCount: 1,
      }),
    }),
  tagOf: ({ body }) => new URLSearchParams(body).get("ClientToken"),
  classes: {
    400: "refused",
    401: "not-executed",
    403: "not-executed",
    429: "not-executed",
    503: "not-executed",
  },
  passing: {
    credentials: [[401], [403, "SignatureDoesNotMatch"], [400, "RequestExpired"]],
    permission: [[403], [401, "OptInRequired"], [400, "PendingVerification"]],
    rate: [[429], [503]],
    quota: [
      [400, "InstanceLimitExceeded"],
      [400, "VcpuLimitExceeded"],
      [400, "MaxSpotInstanceCountExceeded"],
    ],
    capacity: [
      [500, "InsufficientInstanceCapacity"],
      [400, "InsufficientFreeAddressesInSubnet"],
    ],
  },
  keepsError: () => false,
  twin: (resource) => ({ ...resource, id: `${String(resource["id"])}-twin` }),
  foreign: (resource) => ({ ...resource, id: "r-foreign", token: "somebody-else's" }),
  differing: (resource) => ({ ...resource, type: "u-24tb1.metal" }),
  pending: (resource) => ({ ...resource, state: "pending" }),
});

const options = { request: () => ({ MinCount: 1, MaxCount: 1 }), timeoutMs: 1000, flightMs: 1000 };

it("a client without credentials makes no tool, and nothing is sent", async () => {
  const credentials = (): Promise<never> => Promise.reject(new Error("no profile"));
  const client = new EC2Client({ region: "eu-west-1", credentials });
  await expect(ec2RunInstances(client, options)).rejects.toMatchObject({
    code: "TOOL_INVALID",
    message: expect.stringContaining("no profile") as string,
  });
});

it("credentials that are gone by the time of the send are a fact: nothing was sent", async () => {
  const counterpart = await startEc2();
  let present = true;
  const client = new EC2Client({
    region: "eu-west-1",
    endpoint: counterpart.url,
    credentials: async () => {
      if (!present) throw new Error("expired");
      return { accessKeyId: "AKIA1", secretAccessKey: "s", expiration: new Date(0) };
    },
  });
  const { execute } = await ec2RunInstances(client, options);
  present = false;
  const notSent = (cause: unknown): Error => new Error("not sent", { cause });
  const call = { key: "k", wireKey: "w", beforeWrite: () => {}, notSent } as never;
  await expect(execute({}, call)).rejects.toThrow("not sent");
  expect(counterpart.sends).toEqual([]);
  await counterpart.close();
});

it("missing credentials are no missing parameter", async () => {
  const counterpart = await startEc2();
  const { contract } = await ec2RunInstances(connect(counterpart.url), options);
  const proves = (name: string): unknown =>
    contract.classify?.({ name, $metadata: { httpStatusCode: 400 } });
  expect(proves("MissingAuthenticationToken")).toBe("not-executed");
  expect(proves("MissingParameter")).toBe("refused");
  expect(proves("IdempotentParameterMismatch")).toBe("unknown");
  await counterpart.close();
});
