/**
 * EC2's counterpart: the query protocol in XML, with client tokens as RunInstances takes them.
 */
import { hours } from "../../../src/index.ts";
import { type Answer, Counterpart, type Incoming, type ProviderRules } from "./counterpart.ts";

function formOf({ body }: Incoming): URLSearchParams {
  return new URLSearchParams(body);
}

function xml(status: number, body: string): Answer {
  return { status, headers: { "content-type": "text/xml;charset=UTF-8" }, body };
}

function ec2Error(status: number, code: string): Answer {
  return xml(
    status,
    `<?xml version="1.0"?><Response><Errors><Error><Code>${code}</Code><Message>what EC2 says</Message></Error></Errors><RequestID>req-1</RequestID></Response>`,
  );
}

const codes: Readonly<Record<number, string>> = {
  400: "InvalidParameterValue",
  401: "AuthFailure",
  403: "UnauthorizedOperation",
  404: "InvalidAction",
  409: "OperationNotPermitted",
  429: "Throttling",
  500: "InternalError",
  503: "RequestLimitExceeded",
};

function reservationXml(resource: Record<string, unknown>): string {
  const { id, image, type, state, token } = resource as Record<string, string>;
  return `<reservationId>${id}</reservationId><instancesSet><item><instanceId>i-${id}</instanceId><imageId>${image}</imageId><instanceType>${type}</instanceType><clientToken>${token}</clientToken><instanceState><code>16</code><name>${state}</name></instanceState></item></instancesSet>`;
}

const space = 'xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"';

const rules: ProviderRules = {
  isCreate: (request) => formOf(request).get("Action") === "RunInstances",
  keyOf: (request) => formOf(request).get("ClientToken") ?? undefined,
  keys: {
    retentionMs: hours(24),
    saves: ({ status }) => status === 200,
    mismatch: ec2Error(400, "IdempotentParameterMismatch"),
    inFlight: ec2Error(409, "OperationNotPermitted"),
  },
  create: (request, id) => {
    const form = formOf(request);
    return {
      resource: {
        id: `r-${id}`,
        token: form.get("ClientToken"),
        image: form.get("ImageId"),
        type: form.get("InstanceType"),
        state: "running",
      },
    };
  },
  show: ({ resource }) =>
    xml(200, `<RunInstancesResponse ${space}>${reservationXml(resource)}</RunInstancesResponse>`),
  refusal: (status, code) => ec2Error(status, code ?? codes[status] ?? "ServiceUnavailable"),
  look: (request, visible) => {
    const form = formOf(request);
    const values = [...form].filter(([name]) => name.startsWith("Filter.1.Value"));
    const tokens = new Set(values.map(([, value]) => value));
    const shown = visible.filter(({ resource }) => tokens.has(String(resource["token"])));
    const items = shown.map(({ resource }) => `<item>${reservationXml(resource)}</item>`).join("");
    return xml(
      200,
      `<DescribeInstancesResponse ${space}><reservationSet>${items}</reservationSet></DescribeInstancesResponse>`,
    );
  },
};

export function startEc2(): Promise<Counterpart> {
  return Counterpart.start(rules);
}
