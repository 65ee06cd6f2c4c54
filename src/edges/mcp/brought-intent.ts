/**
 * Intents that callers bring along: in `_meta`, a header or a parameter, never in arguments (R2).
 *
 * @module
 */
import { NeverTwiceError } from "../../base/errors.ts";
import type { IntentSource } from "../../guard/tool.ts";
import type { Intent } from "../../intent/intent.ts";
import type { CallerContext } from "./caller-context.ts";
import { type IntentSourceName, intentSources } from "./tool-policy.ts";

/** Where the caller's intents stand among the trusted facts, out of the way of any real name. */
export const intentsFact = "$intents";

/**
 * For a tool's `intent`: the first of the sources that this call brings; `template` is the function that
 * is given. A key that a client makes anew for each attempt protects from nothing: name in `from` only
 * what the orchestration layer sets. Default: `meta`, `header`, `parameter`, `template`, in this order. A
 * server of the official SDK never sees the parameter.
 *
 * @throws {NeverTwiceError} INTENT_INVALID, from the tool's intent, when no source names one.
 *
 * @example
 * intent: broughtIntent(({ args }) => `refund:${args.orderId}`, ["meta", "template"])
 */
export function broughtIntent<Args>(
  template: ((source: IntentSource<Args>) => Intent) | undefined,
  from: readonly IntentSourceName[] = intentSources,
): (source: IntentSource<Args>) => Intent {
  return (source) => {
    const brought = (source.trusted[intentsFact] ?? {}) as CallerContext["intents"];
    for (const name of from) {
      const intent = name === "template" ? template?.(source) : brought[name];
      if (intent !== undefined) return intent;
    }
    throw new NeverTwiceError(
      "INTENT_INVALID",
      "The identity of this operation is incomplete: this call names no intent, and its tool has no template for one. Nothing was recorded and nothing was sent.",
      { details: { part: "intent", reason: "is not named" } },
    );
  };
}
