/**
 * Outcomes and errors as results of a tool call, in words that a model can't misread (R29). What is
 * ours stands in a text of its own and in `_meta`, never in `structuredContent`, which belongs to the
 * tool's own schema; result `_meta` alone doesn't reach every model.
 *
 * @module
 */
import { type NeverTwiceError, errorText, isNeverTwiceError } from "../../base/errors.ts";
import type { Outcome } from "../../guard/answers.ts";
import { metaNames } from "./names.ts";
import type { ToolDefinition } from "./tool-definition.ts";

type Members = Readonly<Record<string, unknown>>;

/** The answer of an operation that is DONE: the server's result as it was stored, and one text of ours. */
export function outcomeResult(outcome: Outcome<Members>, definition: ToolDefinition): Members {
  const value = outcome.value ?? {};
  const { resultType: _era, ...result } = value;
  const content = Array.isArray(result["content"]) ? (result["content"] as unknown[]) : [];
  const { status, replayed, recorded, key, attempts, firstExecutedAt } = outcome;
  const { providerId, supersededBy, warnings } = outcome;
  const operation = { status, replayed, recorded, key, attempts, firstExecutedAt };
  const said = [outcome.text, ...warnings.map((warning) => `Note: this ${warning}.`)].join(" ");
  return {
    ...result,
    content: [...content, { type: "text", text: said }],
    ...(lacksStructure(result, definition) ? { isError: true } : {}),
    _meta: {
      ...(result["_meta"] as Members | undefined),
      [metaNames.operation]: { ...operation, providerId, supersededBy },
    },
  };
}

/**
 * A client refuses a result without the structure that the tool's schema promises, unless it is
 * marked as an error. Then the text alone says that it is done.
 */
function lacksStructure(result: Members, definition: ToolDefinition): boolean {
  return definition.outputSchema !== undefined && result["structuredContent"] === undefined;
}

/** The answer for every error of ours. Anything else is a defect, and told as unknown. */
export function errorResult(error: unknown): Members {
  if (!isNeverTwiceError(error)) return defectResult(error);
  const { code, key, details, entry } = error;
  const { status, attempts, firstExecutedAt, retryAfterMs } = details;
  const operation = { code, status, attempts, firstExecutedAt, key, retryAfterMs };
  const told = Object.entries({ ...operation, replayed: false, sameCall: entry.sameCall });
  return {
    isError: true,
    content: [{ type: "text", text: error.message }],
    _meta: {
      [metaNames.operation]: Object.fromEntries(told.filter(([, value]) => value !== undefined)),
    },
  };
}

function defectResult(error: unknown): Members {
  return {
    isError: true,
    content: [
      {
        type: "text",
        text: `The gateway has a defect (${errorText(error)}). Whether this intent took effect is not known. The same call is safe: it looks before it sends. A changed call is not safe.`,
      },
    ],
    _meta: { [metaNames.operation]: { code: "DEFECT", sameCall: "safe" } },
  };
}

/** The result with one more text behind it. */
export function withNote(result: Members, text: string): Members {
  const content = Array.isArray(result["content"]) ? (result["content"] as unknown[]) : [];
  return { ...result, content: [...content, { type: "text", text }] };
}

/** Both values of each field that differs, where the policy lets a caller see what is recorded. */
export function withValues(error: NeverTwiceError, recorded: Members, given: Members): Members {
  const result = errorResult(error);
  const { fields } = error.details as { fields?: readonly string[] };
  const said = (fields ?? []).map(
    (field) => `${field}: recorded ${shown(recorded[field])}, this call ${shown(given[field])}`,
  );
  if (said.length === 0) return result;
  return withNote(result, `${said.join("; ")}.`);
}

function shown(value: unknown): string {
  return value === undefined ? "nothing" : JSON.stringify(value);
}
