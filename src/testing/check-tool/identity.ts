/**
 * What two calls have in common: one intent or two, and why.
 *
 * @module
 */
import type { PreparedCall } from "../../guard/prepare.ts";
import type { Requirement } from "./judge.ts";

/** Two calls that the business means as one must be one intent. */
export function sameIntent(
  first: PreparedCall,
  second: PreparedCall,
  secondIs: string,
): Requirement {
  const names = differingNames(JSON.parse(first.intent), JSON.parse(second.intent));
  return {
    holds: first.key === second.key,
    found: `${secondIs} is another intent: it differs in ${names.join(", ")}`,
    advice: names.every((name) => name === "workflowId" || name === "stepId")
      ? `set \`scope: "business"\`: with scope "${first.parts.scope}" each ${first.parts.scope} has an intent of its own`
      : `make \`intent\` of trusted ids alone: it was ${shorten(first.intent)}, then ${shorten(second.intent)}`,
  };
}

/** Two calls in other words must have one payload. */
export function samePayload(first: PreparedCall, second: PreparedCall): Requirement {
  const names = differingNames(first.arguments.value, second.arguments.value);
  return {
    holds: first.fingerprint === second.fingerprint,
    found: `the free text counts as a business argument: ${names.join(", ")}`,
    advice: `take ${names.join(", ")} out of \`businessArguments\`: it is text that is worded anew each time`,
  };
}

/** Names of the members in which two objects differ. */
export function differingNames(one: unknown, other: unknown): string[] {
  const [a, b] = [membersOf(one), membersOf(other)];
  return [...new Set([...a.keys(), ...b.keys()])].filter((name) => a.get(name) !== b.get(name));
}

function membersOf(value: unknown): Map<string, string> {
  const entries = typeof value === "object" && value !== null ? Object.entries(value) : [];
  return new Map(entries.map(([name, member]) => [name, JSON.stringify(member) ?? "undefined"]));
}

function shorten(text: string): string {
  return text.length <= 200 ? text : `${text.slice(0, 199)}…`;
}
