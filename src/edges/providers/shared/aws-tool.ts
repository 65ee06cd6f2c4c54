/**
 * What the tools on AWS have in common: credentials, one send, and what an error proves.
 *
 * @module
 */
import type { ErrorClass } from "../../../guard/contract.ts";
import { refuseProvider } from "./contract-parts.ts";
import { checkOwnMethods } from "./own-methods.ts";
import type { SendGate } from "./send-once.ts";

/** What is used of a client of the AWS SDK, version 3. */
export interface AwsClient {
  readonly config: { readonly credentials: () => Promise<unknown> };
}

/**
 * Refuses a client that can't get at credentials, and one whose `send` was replaced.
 *
 * @throws {NeverTwiceError} TOOL_INVALID
 */
export async function checkAwsClient(title: string, client: AwsClient): Promise<void> {
  checkOwnMethods(title, client, ["send"]);
  try {
    await client.config.credentials();
  } catch (error) {
    refuseProvider(
      title,
      `the client has no credentials (${error instanceof Error ? error.message : String(error)})`,
    );
  }
}

/** Inside the SDK's retry and behind its signature, so that each send comes by. */
export const sendSlot = {
  step: "finalizeRequest",
  priority: "low",
  name: "neverTwiceSendOnce",
} as const;

/** A middleware for {@link sendSlot} that lets one send through. */
export function oneSend(gate: SendGate) {
  return <Input, Output>(next: (args: Input) => Promise<Output>) =>
    async (args: Input): Promise<Output> => {
      gate.pass();
      try {
        return await next(args);
      } catch (error) {
        gate.failed(error);
        throw error;
      }
    };
}

/**
 * What all services answer for credentials, permissions and rates
 * (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/CommonErrors.html, and the same page of the others;
 * the signature's code is in the SDK's `service-error-classification/constants.ts`,
 * https://github.com/smithy-lang/smithy-typescript).
 */
const turnedAway: ReadonlySet<string> = new Set([
  "AccessDeniedException",
  "ExpiredTokenException",
  "IncompleteSignature",
  "InvalidClientTokenId",
  "InvalidSignatureException",
  "MissingAuthenticationToken",
  "NotAuthorized",
  "OptInRequired",
  "RequestExpired",
  "ThrottlingException",
  "UnrecognizedClientException",
]);

/** The service's own codes beside those that all services share. */
export interface AwsErrorCodes {
  /** The request was refused for good. Counts with status 400 only. */
  readonly refused: ReadonlySet<string>;
  /** Another try may do better. */
  readonly notExecuted?: ReadonlySet<string>;
}

/** The name of an error, as far as AWS named it: a proxy doesn't know the codes. */
export function awsCodeOf(error: unknown): string {
  const { name } = (error ?? {}) as { name?: unknown };
  return typeof name === "string" ? name : "";
}

/** By the service's own codes. One that isn't named proves nothing. */
export function classifyAws(error: unknown, codes: AwsErrorCodes): ErrorClass {
  const code = awsCodeOf(error);
  const { $metadata } = (error ?? {}) as { $metadata?: { httpStatusCode?: number } };
  if (turnedAway.has(code) || codes.notExecuted?.has(code) === true) return "not-executed";
  return codes.refused.has(code) && $metadata?.httpStatusCode === 400 ? "refused" : "unknown";
}
