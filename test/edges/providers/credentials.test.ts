/**
 * Credentials that are missing are said when a tool is made, for every adapter: nothing can be claimed or
 * sent by a tool that isn't there.
 */
import { CheckoutAPI, Client as AdyenClient, Config, EnvironmentEnum } from "@adyen/api-library";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { EC2Client } from "@aws-sdk/client-ec2";
import { ECSClient } from "@aws-sdk/client-ecs";
import { SFNClient } from "@aws-sdk/client-sfn";
import { SQSClient } from "@aws-sdk/client-sqs";
import { KubeConfig } from "@kubernetes/client-node";
import { LinearClient } from "@linear/sdk";
import { Octokit } from "@octokit/rest";
import { Client as PaypalClient } from "@paypal/paypal-server-sdk";
import { WebClient } from "@slack/web-api";
import jsforce from "jsforce";
import { Resend } from "resend";
import { SquareClient } from "square";
import { Stripe } from "stripe";
import { expect, it } from "vitest";
import { adapterOptions, allAdapters } from "./all-adapters.ts";

const aws = {
  region: "eu-west-1",
  credentials: () => Promise.reject(new Error("no profile")),
};
const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const octokit = (): Octokit => new Octokit({ log });
const instanceUrl = "https://acme.my.salesforce.com";

function bareKubeConfig(): KubeConfig {
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    { name: "c", server: "https://10.0.0.1", skipTLSVerify: false },
    { name: "nobody" },
  );
  return config;
}

/** The SDK as one gets it where the credentials are forgotten, and what the refusal says. */
const forgotten: Readonly<Record<string, readonly [says: RegExp, ...sdks: (() => unknown)[]]>> = {
  adyenCancel: [/Adyen/, () => adyenWithoutKey()],
  adyenCapture: [/Adyen/, () => adyenWithoutKey()],
  adyenRefund: [/Adyen/, () => adyenWithoutKey()],
  mollieRefund: [/Mollie/, () => () => {}],
  paypalPayout: [/PayPal/, () => new PaypalClient()],
  paypalRefund: [/PayPal/, () => new PaypalClient()],
  shopifyRefund: [/Shopify/, () => () => undefined],
  squareRefund: [/Square/, () => new SquareClient({ token: undefined as never })],
  dynamodbTransact: [/DynamoDB.*no credentials/, () => new DynamoDBClient(aws)],
  ec2RunInstances: [/EC2.*no credentials/, () => new EC2Client(aws)],
  ecsRunTask: [/ECS.*no credentials/, () => new ECSClient(aws)],
  sqsSendMessage: [/SQS.*no credentials/, () => new SQSClient(aws)],
  stepFunctionsStart: [/Step Functions.*no credentials/, () => new SFNClient(aws)],
  githubDeployment: [/GitHub.*no `auth`/, octokit],
  githubRelease: [/GitHub.*no `auth`/, octokit],
  githubIssue: [/GitHub.*no `auth`/, octokit],
  kubernetesApply: [/Kubernetes.*(cluster|credentials)/, () => new KubeConfig(), bareKubeConfig],
  linearIssue: [/Linear.*LinearClient/, () => linearWithoutKey()],
  resendEmail: [/Resend.*API key/, () => Object.assign(new Resend("re_1"), { key: "" })],
  salesforceUpsert: [
    /Salesforce.*access token/,
    () => new jsforce.Connection({ instanceUrl }),
    () => new jsforce.Connection({ instanceUrl, accessToken: "" }),
  ],
  slackMessage: [/Slack.*token/, () => new WebClient(), () => new WebClient("")],
  stripeRefund: [/Stripe.*API key/, () => stripeWithoutKey()],
  stripePaymentIntent: [/Stripe.*API key/, () => stripeWithoutKey()],
  stripeTransfer: [/Stripe.*API key/, () => stripeWithoutKey()],
};

/** Two SDKs refuse by themselves, when they are made; then there is nothing to hand over. */
function linearWithoutKey(): unknown {
  expect(() => new LinearClient({ apiKey: "" })).toThrow(/apiKey/);
  return undefined;
}

function adyenWithoutKey(): unknown {
  return new CheckoutAPI(new AdyenClient(new Config({ environment: EnvironmentEnum.TEST })));
}

function stripeWithoutKey(): unknown {
  expect(() => new Stripe("")).toThrow(/apiKey/);
  return Object.assign(new Stripe("sk_test_1"), { _authenticator: undefined });
}

it("every adapter is in the table", async () => {
  const adapters = await allAdapters();
  expect([...adapters.keys()].toSorted()).toEqual(Object.keys(forgotten).toSorted());
});

it.each(Object.keys(forgotten))("%s isn't made without credentials, and says so", async (name) => {
  const make = (await allAdapters()).get(name);
  const [says, ...sdks] = forgotten[name] ?? [/never/];
  expect(sdks.length).toBeGreaterThan(0);
  for (const sdk of sdks) {
    const making = Promise.resolve().then(() => make?.(sdk(), adapterOptions));
    const refused = { code: "TOOL_INVALID", message: expect.stringMatching(says) as unknown };
    await expect(making).rejects.toMatchObject(refused);
  }
});
