/**
 * Calls of PayPal's REST API through the official SDK's client, and what its errors prove. The client's
 * own builder of requests is used, since its controllers don't know payouts and don't read a 429's body.
 *
 * @module
 */
import type { Client, Configuration } from "@paypal/paypal-server-sdk";
import type { ErrorClass } from "../../../guard/contract.ts";
import { isObject } from "./adapter.ts";
import { refuseProvider } from "./contract-parts.ts";
import { checkOwnMethods } from "./own-methods.ts";
import type { SendGate } from "./send-once.ts";

/** One call. `path` has its parts encoded. */
interface PaypalCall {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
  readonly signal: AbortSignal;
  /** For a call that asks for an effect. */
  readonly gate?: SendGate;
}

/** Calls PayPal and gives the answer's JSON, in the names of the REST API. */
export type PaypalApi = (call: PaypalCall) => Promise<Readonly<Record<string, unknown>>>;

/**
 * A client of our own with the same credentials: without retries, and without redirects, which would
 * be sends out of sight.
 *
 * @throws {NeverTwiceError} TOOL_INVALID for a client without credentials.
 */
export function paypalApi(title: string, client: Client): PaypalApi {
  const { _config: config } = (client ?? {}) as unknown as { _config?: Partial<Configuration> };
  const credentials = config?.clientCredentialsAuthCredentials;
  const { oAuthClientId, oAuthClientSecret, oAuthTokenProvider } = credentials ?? {};
  const known = [oAuthClientId, oAuthClientSecret].every((part = "") => part !== "");
  if (config === undefined || (!known && oAuthTokenProvider === undefined))
    refuseProvider(title, "it needs a Client of @paypal/paypal-server-sdk with an id and a secret");
  checkOwnMethods(title, client, ["withConfiguration", "getRequestBuilderFactory"]);
  const once = client.withConfiguration({
    httpClientOptions: {
      ...config.httpClientOptions,
      retryConfig: { ...config.httpClientOptions?.retryConfig, maxNumberOfRetries: 0 },
    },
    unstable_httpClientOptions: {
      ...(config.unstable_httpClientOptions as object | undefined),
      maxRedirects: 0,
    },
  });
  return (call) => callOnce(once, call);
}

async function callOnce(
  client: Client,
  { method, path, headers = {}, body, signal, gate }: PaypalCall,
): Promise<Readonly<Record<string, unknown>>> {
  const request = client.getRequestBuilderFactory()(method, path);
  for (const [name, value] of Object.entries(headers)) request.header(name, value);
  if (body !== undefined) request.json(body);
  request.authenticate([{ oauth2: true }]);
  // Behind the authentication: a token that can't be had is a send that never began.
  if (gate !== undefined)
    request.interceptRequest((written) => {
      gate.pass();
      return written;
    });
  try {
    const { result } = await request.callAsText({ abortSignal: signal });
    const answer: unknown = JSON.parse(result);
    if (isObject(answer)) return answer;
  } catch (error) {
    throw toPaypalError(error);
  }
  throw new Error("PayPal's answer is no object");
}

/** What PayPal itself answered: a proxy knows neither its names nor its debug ids. */
export class PaypalError extends Error {
  override readonly name = "PaypalError";
  readonly status: number;
  /** PayPal's own name of the error. */
  readonly code: string;
  readonly issues: readonly unknown[];
  readonly body: string;

  constructor(status: number, answer: Readonly<Record<string, unknown>>, body: string) {
    super(`PayPal answered ${status}: ${String(answer["name"])}`);
    this.status = status;
    this.code = String(answer["name"]);
    const details = Array.isArray(answer["details"]) ? (answer["details"] as unknown[]) : [];
    this.issues = details.map((detail) => (isObject(detail) ? detail["issue"] : undefined));
    this.body = body;
  }
}

function toPaypalError(error: unknown): unknown {
  const { statusCode, body } = (error ?? {}) as { statusCode?: unknown; body?: unknown };
  if (typeof statusCode !== "number" || typeof body !== "string") return error;
  const answer = parsed(body);
  const isOwn = typeof answer["name"] === "string" && typeof answer["debug_id"] === "string";
  return isOwn ? new PaypalError(statusCode, answer, body) : error;
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

/**
 * By status and name (https://developer.paypal.com/api/rest/responses/; the rate limit is in
 * https://developer.paypal.com/reference/guidelines/rate-limiting). All others prove nothing.
 */
const errorClasses: Readonly<Record<string, ErrorClass>> = {
  "400 INVALID_REQUEST": "refused",
  "400 VALIDATION_ERROR": "refused",
  "401 AUTHENTICATION_FAILURE": "not-executed",
  "403 NOT_AUTHORIZED": "not-executed",
  "404 RESOURCE_NOT_FOUND": "refused",
  "429 RATE_LIMIT_REACHED": "not-executed",
};

/**
 * Of the 422s only these are sure: the rest are also given where an earlier request runs or landed
 * (https://developer.paypal.com/api/payments/v2/errors/refund_amount_exceeded and its neighbours).
 */
const refusedIssues: ReadonlySet<unknown> = new Set([
  "CANNOT_BE_NEGATIVE",
  "CANNOT_BE_ZERO_OR_NEGATIVE",
  "CAPTURE_FULLY_REFUNDED",
  "CURRENCY_MISMATCH",
  "DECIMALS_NOT_SUPPORTED",
  "DECIMAL_PRECISION",
  "INVALID_CURRENCY_CODE",
  "MAX_NUMBER_OF_REFUNDS_EXCEEDED",
  "REFUND_AMOUNT_EXCEEDED",
  "REFUND_CAPTURE_CURRENCY_MISMATCH",
  "REFUND_TIME_LIMIT_EXCEEDED",
]);

/**
 * A balance that can be filled up
 * (https://developer.paypal.com/api/payments/v2/errors/refund_failed_insufficient_funds).
 */
const passingIssue = "REFUND_FAILED_INSUFFICIENT_FUNDS";

/** What an error of PayPal proves. */
export function classifyPaypal(error: unknown): ErrorClass {
  if (!(error instanceof PaypalError)) return "unknown";
  const { status, code, issues } = error;
  if (status === 422 && code === "UNPROCESSABLE_ENTITY" && issues.length > 0) {
    if (issues.every((issue) => issue === passingIssue)) return "not-executed";
    return issues.every((issue) => refusedIssues.has(issue)) ? "refused" : "unknown";
  }
  return errorClasses[`${status} ${code}`] ?? "unknown";
}
