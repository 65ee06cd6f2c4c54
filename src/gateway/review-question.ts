/**
 * What a person is shown about an operation that waits for a decision, what may be answered, and what
 * an answer decides (R30). What can't be decided yet is not offered.
 *
 * @module
 */
import { canonicalJson } from "../base/canonical-json.ts";
import type { ReviewDecision } from "../guard/review.ts";
import { restoreArguments } from "../intent/business-arguments.ts";
import type { OperationRecord } from "../ledger/record.ts";

type Members = Readonly<Record<string, unknown>>;

/** An answer that decides, and what it decides. `not now` decides nothing. */
const decisions = {
  approve: "run-again",
  decline: "did-not-happen",
  "it took effect": "happened",
  "it did not take effect": "did-not-happen",
} as const satisfies Record<string, ReviewDecision>;

const notNow = "not now";
const longestValue = 500;

/** A form, as an elicitation carries it. */
export interface ReviewQuestion {
  readonly message: string;
  readonly requestedSchema: Members;
}

/** What a person said. Undefined decision: not now. */
export interface ReviewAnswer {
  readonly decision: ReviewDecision | undefined;
  readonly why: string;
}

/** The question about an operation as it was read, or undefined where the review queue alone serves. */
export function questionAbout(record: OperationRecord): ReviewQuestion | undefined {
  // An incident contradicts an outcome: that takes more than a form.
  if (record.status !== "NEEDS_REVIEW" || record.incident !== null) return undefined;
  if (record.arguments === null) return undefined;
  const choices = choicesFor(record);
  return {
    message: [
      ...knownOf(record),
      `Arguments: ${argumentsText(record.arguments)}.`,
      `Why a person is asked: ${record.reviewReason ?? "no reason given"}.`,
      `Intent: ${record.intent}. Key ${record.key}.`,
    ].join("\n"),
    requestedSchema: {
      type: "object",
      properties: {
        decision: { type: "string", title: "Decision", enum: choices, description: help(record) },
        reason: { type: "string", title: "Reason", minLength: 1, description: "Is recorded." },
      },
      required: ["decision", "reason"],
    },
  };
}

function isHeld(record: OperationRecord): boolean {
  return record.attempts === 0;
}

/** "It did not" is no answer while a request may still take effect. */
function choicesFor(record: OperationRecord): readonly string[] {
  if (isHeld(record)) return ["approve", "decline", notNow];
  const settled = record.readAtMs > record.quietUntilMs;
  return ["it took effect", ...(settled ? ["it did not take effect"] : []), notNow];
}

function knownOf(record: OperationRecord): readonly string[] {
  const { tool, attempts, firstArmedAtMs, lastArmedAtMs, quietUntilMs, readAtMs } = record;
  if (isHeld(record)) return [`${tool} waits for a decision. Nothing was sent for it.`];
  const sentAtMs = firstArmedAtMs ?? lastArmedAtMs;
  const since = sentAtMs === null ? "" : `, first ${new Date(sentAtMs).toISOString()}`;
  const times = attempts === 1 ? "once" : `${attempts} times`;
  return [
    `${tool} was sent ${times}${since}, or may have been. Whether it took effect is not known.`,
    readAtMs > quietUntilMs
      ? "Look at the provider before you answer."
      : `It may still take effect until ${new Date(quietUntilMs).toISOString()}, so that it did not can't be decided yet.`,
  ];
}

function help(record: OperationRecord): string {
  return isHeld(record)
    ? "approve: it is sent, once. decline: it is never sent under this intent. not now: it stays in the review queue."
    : "What you saw at the provider. Nothing is sent by any of these answers; not now: it stays in the review queue.";
}

/** As JSON, so that no value can pass for a line of ours. */
function argumentsText(stored: string): string {
  const shown = Object.entries(restoreArguments(stored).value).map(([name, value]) => {
    const text = canonicalJson(value);
    const cut = text.length > longestValue;
    return `${name} ${cut ? `${text.slice(0, longestValue)}… (${text.length} characters)` : text}`;
  });
  return shown.length === 0 ? "none" : shown.join(", ");
}

/**
 * Reads the result of an elicitation about an operation. Undefined: nobody answered, or not what was
 * asked. Only an accepted form counts: hosts dismiss and decline on their own.
 */
export function readAnswer(result: unknown, offered: ReviewQuestion): ReviewAnswer | undefined {
  if (!isMembers(result) || result["action"] !== "accept" || !isMembers(result["content"]))
    return undefined;
  const { decision, reason } = result["content"];
  const { decision: asked } = offered.requestedSchema["properties"] as {
    decision: { enum: readonly unknown[] };
  };
  if (typeof decision !== "string" || !asked.enum.includes(decision)) return undefined;
  if (typeof reason !== "string" || reason.trim() === "") return undefined;
  const decided = decision === notNow ? undefined : decisions[decision as keyof typeof decisions];
  return { decision: decided, why: reason };
}

function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
