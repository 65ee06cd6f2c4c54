/**
 * AWS EC2: RunInstances, over the official `@aws-sdk/client-ec2` package.
 *
 * The client token makes a launch idempotent
 * (https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html), but for how long is not
 * published: so it is sent once, and after a doubt the instances are looked up by the same token. The
 * token is scoped to a region; name it as `endpoint`, so that another region is another payload.
 *
 * @module
 */
import {
  DescribeInstancesCommand,
  type EC2Client,
  type Instance,
  type Reservation,
  RunInstancesCommand,
  type RunInstancesCommandInput,
} from "@aws-sdk/client-ec2";
import type { ErrorClass, FoundEffect, LookUpAnswer } from "../../guard/contract.ts";
import { ec2 } from "./contracts/aws.ts";
import { type AdapterOptions, type AdapterParts, difference } from "./shared/adapter.ts";
import { awsCodeOf, checkAwsClient, classifyAws, oneSend, sendSlot } from "./shared/aws-tool.ts";
import { contractParts, lookUpFacts } from "./shared/contract-parts.ts";
import { sendOnce } from "./shared/send-once.ts";

/** What is kept of a launch. */
export interface Ec2Launch {
  readonly reservationId: string;
  readonly instances: readonly { readonly instanceId: string; readonly state: string | null }[];
}

/** The parameters of a launch; the token is the adapter's. */
export type Ec2LaunchRequest = Omit<RunInstancesCommandInput, "ClientToken" | "DryRun">;

/**
 * A tool that launches instances.
 *
 * @throws {NeverTwiceError} TOOL_INVALID when the client has no credentials.
 *
 * @example
 * const launch = await ec2RunInstances(client, {
 *   request: (args: { imageId: string; instanceType: "t3.micro" }) => ({
 *     ImageId: args.imageId, InstanceType: args.instanceType, MinCount: 1, MaxCount: 1,
 *   }),
 *   endpoint: "eu-west-1", timeoutMs: 30_000, flightMs: 120_000,
 * });
 */
export async function ec2RunInstances<Args>(
  client: EC2Client,
  options: AdapterOptions<Args, Ec2LaunchRequest>,
): Promise<AdapterParts<Args, Ec2Launch>> {
  const { request, ...bounds } = options;
  await checkAwsClient(ec2.title, client);
  const find = async (
    args: Args,
    tokens: readonly string[],
    abortSignal: AbortSignal,
  ): Promise<LookUpAnswer<Ec2Launch>> => {
    const reservations = await reservationsOf(client, tokens, abortSignal);
    const asked = request(args);
    const effects = reservations.map((each) => effectOf(asked, each));
    return effects.length === 0 ? { answer: "absent" } : { answer: "found", effects };
  };
  return {
    contract: {
      ...contractParts(ec2, bounds),
      classify,
      providerId: ({ reservationId }) => reservationId,
      lookUp: {
        ...lookUpFacts(ec2),
        find: ({ arguments: args, wireKeys, signal }) => find(args, wireKeys, signal),
      },
    },
    execute: async (args, call) => {
      const launched = await sendOnce(call, (gate) => {
        const command = new RunInstancesCommand({ ...request(args), ClientToken: call.wireKey });
        command.middlewareStack.add(oneSend(gate), sendSlot);
        return client.send(command, { abortSignal: call.signal });
      });
      return launchOf(launched);
    },
  };
}

/** One reservation is one launch, however many instances it has. */
async function reservationsOf(
  client: EC2Client,
  tokens: readonly string[],
  abortSignal: AbortSignal,
): Promise<readonly Reservation[]> {
  const found: Reservation[] = [];
  const seen = new Set<string>();
  const Filters = [{ Name: "client-token", Values: [...tokens] }];
  for (let next: string | undefined; ;) {
    const command = new DescribeInstancesCommand({
      Filters,
      ...(next === undefined ? {} : { NextToken: next }),
    });
    const page = await client.send(command, { abortSignal });
    // A list that isn't there is no empty list; only EC2 itself can say "none".
    if (page.Reservations === undefined) throw new Error("EC2's answer holds no list");
    for (const each of page.Reservations) {
      const id = each.ReservationId ?? "";
      if (!seen.has(id)) found.push(each);
      seen.add(id);
    }
    if ((page.NextToken ?? "") === "") return found;
    next = page.NextToken;
  }
}

function launchOf({ ReservationId, Instances }: Reservation): Ec2Launch {
  if (ReservationId === undefined || Instances === undefined || Instances.length === 0)
    throw new Error("EC2's answer holds no reservation");
  return {
    reservationId: ReservationId,
    instances: Instances.map(({ InstanceId = "", State }) => ({
      instanceId: InstanceId,
      state: State?.Name ?? null,
    })),
  };
}

function effectOf(asked: Ec2LaunchRequest, reservation: Reservation): FoundEffect<Ec2Launch> {
  const result = launchOf(reservation);
  const [first]: readonly Instance[] = reservation.Instances ?? [];
  return {
    // Also a launch that somebody has terminated since is a launch.
    status: result.instances.some(({ state }) => state === "pending") ? "pending" : "succeeded",
    result,
    providerId: result.reservationId,
    ...difference({
      ImageId: [asked.ImageId, first?.ImageId],
      InstanceType: [asked.InstanceType, first?.InstanceType],
    }),
  };
}

/**
 * EC2's own codes for credentials, accounts and rates, beside those of all services
 * (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html). `SignatureDoesNotMatch` and
 * `Throttling` are on no page: the SDK lists them as what a wrong clock and a rate limit are answered with
 * (https://github.com/smithy-lang/smithy-typescript, `service-error-classification/constants.ts`).
 */
const turnedAway: ReadonlySet<string> = new Set([
  "AuthFailure",
  "Blocked",
  "PendingVerification",
  "RequestLimitExceeded",
  "SignatureDoesNotMatch",
  "Throttling",
  "UnauthorizedOperation",
]);

/** A quota that can be raised, or room that there isn't now; by the names of the same page. */
const noRoom = /LimitExceeded$|^MaxSpotInstanceCountExceeded$|^Insufficient/;

/** A parameter that can't be, by the names of the same page. */
const refusal = /^(Invalid|Missing|Malformed|Unsupported)/;

/**
 * By EC2's own codes, which a proxy doesn't know. `IdempotentParameterMismatch` is none of them: under that
 * token something may have landed.
 */
function classify(error: unknown): ErrorClass {
  const code = awsCodeOf(error);
  return classifyAws(error, {
    notExecuted: new Set(turnedAway.has(code) || noRoom.test(code) ? [code] : []),
    refused: new Set(refusal.test(code) ? [code] : []),
  });
}
