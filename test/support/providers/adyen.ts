/**
 * Adyen's counterpart: keys of seven days with the first answer, and no way to look a modification up.
 */
import { days } from "../../../src/index.ts";
import { type Answer, Counterpart, type ProviderRules, json } from "./counterpart.ts";

const types: Readonly<Record<number, readonly [errorType: string, errorCode: string]>> = {
  400: ["validation", "702"],
  401: ["security", "000"],
  403: ["security", "010"],
  409: ["validation", "704"],
  422: ["validation", "167"],
};

function refusal(status: number, code?: string): Answer {
  const [errorType, errorCode] = types[status] ?? ["internal", "905"];
  return json(status, {
    status,
    errorCode: code ?? errorCode,
    errorType,
    message: "what Adyen says",
  });
}

const rules: ProviderRules = {
  isCreate: ({ method, path }) => method === "POST" && /\/(refunds|captures|cancels)$/.test(path),
  keyOf: ({ headers }) => headers["idempotency-key"],
  keys: {
    retentionMs: days(7),
    saves: ({ status }) => status < 400,
    mismatch: refusal(422),
    inFlight: refusal(409),
  },
  create: ({ path, body }, id) => ({
    resource: {
      pspReference: `PSP${id}`,
      paymentPspReference: path.split("/").at(-2),
      status: "received",
      ...(JSON.parse(body) as Record<string, unknown>),
    },
  }),
  show: ({ resource }) => json(201, resource),
  refusal,
  look: () => refusal(404),
};

export function startAdyen(): Promise<Counterpart> {
  return Counterpart.start(rules);
}
