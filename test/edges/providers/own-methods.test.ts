/**
 * An instance whose sends would go by the gate makes no tool, for every adapter: what fails in such a method
 * would count as "nothing was sent", and the effect may be there.
 */
import { CheckoutAPI, Client as AdyenClient, Config, EnvironmentEnum } from "@adyen/api-library";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { EC2Client } from "@aws-sdk/client-ec2";
import { ECSClient } from "@aws-sdk/client-ecs";
import { SFNClient } from "@aws-sdk/client-sfn";
import { SQSClient } from "@aws-sdk/client-sqs";
import { LinearClient } from "@linear/sdk";
import { Octokit } from "@octokit/rest";
import { Client as PaypalClient } from "@paypal/paypal-server-sdk";
import { WebClient } from "@slack/web-api";
import jsforce from "jsforce";
import { Resend } from "resend";
import { SquareClient } from "square";
import { Stripe } from "stripe";
import { describe, expect, it } from "vitest";
import type { NeverTwiceError } from "../../../src/index.ts";
import { type Adapter, adapterOptions, allAdapters } from "./all-adapters.ts";

const aws = {
  region: "eu-west-1",
  credentials: { accessKeyId: "AKIA1", secretAccessKey: "secret" },
};
const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const retrying = (): Promise<never> => Promise.reject(new Error("after three tries"));

/** The SDK as it is, and what a user may have replaced in it. */
interface Replaced {
  readonly sdk: () => unknown;
  readonly replace: (sdk: never) => void;
}

function method<Sdk>(sdk: () => Sdk, name: string, of: (sdk: Sdk) => object): Replaced {
  return { sdk, replace: (made: Sdk) => void Object.assign(of(made), { [name]: retrying }) };
}

const stripe = (): Stripe => new Stripe("sk_test_1");
const adyen: Replaced = {
  sdk: () =>
    new CheckoutAPI(
      new AdyenClient(new Config({ apiKey: "AQE", environment: EnvironmentEnum.TEST })),
    ),
  // The SDK makes it anew each time that it is asked for.
  replace: (made: CheckoutAPI) =>
    void Object.defineProperty(made, "ModificationsApi", { value: {} }),
};
const paypal = (): PaypalClient =>
  new PaypalClient({
    clientCredentialsAuthCredentials: { oAuthClientId: "id", oAuthClientSecret: "secret" },
  });
const octokit: Replaced = {
  sdk: () => new Octokit({ auth: "ghp_1", log }),
  replace: ({ hook }: Octokit) => hook.wrap("request", retrying),
};
const withPaypal = method(paypal, "withConfiguration", (made) => made);

const replaced: Readonly<Record<string, Replaced>> = {
  adyenCancel: adyen,
  adyenCapture: adyen,
  adyenRefund: adyen,
  dynamodbTransact: method(
    () => new DynamoDBClient(aws),
    "send",
    (made) => made,
  ),
  ec2RunInstances: method(
    () => new EC2Client(aws),
    "send",
    (made) => made,
  ),
  ecsRunTask: method(
    () => new ECSClient(aws),
    "send",
    (made) => made,
  ),
  githubDeployment: octokit,
  githubIssue: octokit,
  githubRelease: octokit,
  linearIssue: method(
    () => new LinearClient({ apiKey: "lin_1" }),
    "request",
    ({ client }) => client,
  ),
  paypalPayout: withPaypal,
  paypalRefund: withPaypal,
  resendEmail: method(
    () => new Resend("re_1"),
    "fetchRequest",
    (made) => made,
  ),
  salesforceUpsert: method(
    () => new jsforce.Connection({ instanceUrl: "https://a.example", accessToken: "t" }),
    "request",
    (made) => made,
  ),
  slackMessage: method(
    () => new WebClient("xoxb-1"),
    "apiCall",
    (made) => made,
  ),
  sqsSendMessage: method(
    () => new SQSClient(aws),
    "send",
    (made) => made,
  ),
  squareRefund: method(
    () => new SquareClient({ token: "EAAA" }),
    "refundPayment",
    ({ refunds }) => refunds,
  ),
  stepFunctionsStart: method(
    () => new SFNClient(aws),
    "send",
    (made) => made,
  ),
  stripePaymentIntent: method(stripe, "create", ({ paymentIntents }) => paymentIntents),
  stripeRefund: method(stripe, "create", ({ refunds }) => refunds),
  stripeTransfer: method(stripe, "create", ({ transfers }) => transfers),
};

/** These take no instance that sends: a configuration, a function that is tried, and our own client. */
const safe = ["kubernetesApply", "mollieRefund", "shopifyRefund"];

async function making(make: Adapter | undefined, sdk: unknown): Promise<string> {
  const made = Promise.resolve().then(() => make?.(sdk, adapterOptions));
  return made.then(
    () => "made",
    ({ code, message }: NeverTwiceError) => `${code} ${message}`,
  );
}

it("every adapter is in the table, or takes nothing that could be replaced", async () => {
  const names = [...Object.keys(replaced), ...safe];
  expect([...(await allAdapters()).keys()].toSorted()).toEqual(names.toSorted());
});

describe.each(Object.entries(replaced))("%s", (name, { sdk, replace }) => {
  it("is made of the SDK as it is, and not where sends could go by the gate", async () => {
    const make = (await allAdapters()).get(name);
    expect(await making(make, sdk())).toBe("made");
    const made = sdk();
    replace(made as never);
    expect(await making(make, made)).toMatch(/TOOL_INVALID.*go by the gate/);
  });
});

it("a subclass that sends in its own way makes no tool", async () => {
  class Insistent extends WebClient {
    override readonly apiCall = retrying as never;
  }
  class Quiet extends Resend {
    override fetchRequest = retrying as never;
  }
  class Eager extends EC2Client {
    override send = retrying as never;
  }
  const adapters = await allAdapters();
  const made = await Promise.all([
    making(adapters.get("slackMessage"), new Insistent("xoxb-1")),
    making(adapters.get("resendEmail"), new Quiet("re_1")),
    making(adapters.get("ec2RunInstances"), new Eager(aws)),
  ]);
  for (const told of made) expect(told).toContain("go by the gate");
});
