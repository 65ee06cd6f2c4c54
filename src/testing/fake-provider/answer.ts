import type { JsonValue } from "./json.ts";

/** What the provider says: HTTP status, extra headers, JSON body. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonValue;
}

/** What reaches the client: a whole answer, half of one, or a cut connection. */
export type Reply =
  | { readonly kind: "answer"; readonly answer: Answer }
  | { readonly kind: "truncated"; readonly answer: Answer }
  | { readonly kind: "cut" };

/** The header that marks an answer replayed for a known key; its value is `"true"`. */
export const REPLAYED_HEADER = "idempotent-replayed";

/** Builds an answer without extra headers. */
export function answerOf(status: number, body: JsonValue): Answer {
  return { status, headers: {}, body };
}

/** Builds an error answer; every error of the provider has the body `{error: {code, message}}`. */
export function errorAnswer(
  status: number,
  code: string,
  message: string,
  details: Readonly<Record<string, JsonValue>> = {},
): Answer {
  return answerOf(status, { error: { code, message, ...details } });
}

/** True for a 2xx answer. */
export function isSuccess(answer: Answer): boolean {
  return answer.status >= 200 && answer.status < 300;
}
