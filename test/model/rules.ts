/**
 * The pure functions under test, handed to the model as one bundle, so that a negative run can put a
 * wrong one in a right one's place.
 */
import { decide, decideNext, mayFail, mayResend, quietUntilMs } from "../../src/ledger/decide.ts";
import { maySendNow, quietSpanMs, resendSpanMs } from "../../src/ledger/window.ts";

export interface Rules {
  readonly decide: typeof decide;
  readonly decideNext: typeof decideNext;
  readonly mayFail: typeof mayFail;
  readonly mayResend: typeof mayResend;
  readonly quietUntilMs: typeof quietUntilMs;
  readonly maySendNow: typeof maySendNow;
  readonly quietSpanMs: typeof quietSpanMs;
  readonly resendSpanMs: typeof resendSpanMs;
}

/** The product's own. */
export const realRules: Rules = {
  decide,
  decideNext,
  mayFail,
  mayResend,
  quietUntilMs,
  maySendNow,
  quietSpanMs,
  resendSpanMs,
};
