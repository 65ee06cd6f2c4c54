/**
 * The gateway's own tool: what the ledger knows of an operation, for an agent that lost the answer.
 * It reads one row of the caller's own tenant, runs nothing and records nothing.
 *
 * @module
 */
import type { SameCall } from "../base/error-table.ts";
import { NeverTwiceError, unreachable } from "../base/errors.ts";
import { metaNames } from "../edges/mcp/names.ts";
import type { ToolDefinition } from "../edges/mcp/tool-definition.ts";
import { nothingSent } from "../ledger/decide.ts";
import { type OperationRecord, findRecordFault } from "../ledger/record.ts";
import type { AgentRequest } from "./agent-request.ts";
import type { CatalogueEntry } from "./catalogue.ts";
import { type GuardedCallParts, contextOf } from "./guarded-call.ts";

type Members = Readonly<Record<string, unknown>>;

/** The tool as agents see it. */
export function statusTool(name: string): ToolDefinition {
  return {
    name,
    title: "Operation status",
    description:
      "Says what is recorded of an earlier call: whether it took effect, how often it was sent, and whether the same call is safe. It runs nothing and changes nothing. Give the key that an earlier answer named, or the tool and exactly the arguments of that call.",
    inputSchema: {
      type: "object",
      properties: {
        key: { type: "string", description: "The key that an earlier answer named." },
        tool: { type: "string", description: "Instead of a key: the tool's name." },
        arguments: { type: "object", description: "The arguments of that tool's call." },
      },
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
  };
}

/** What a status call leans on. */
export interface StatusParts extends GuardedCallParts {
  /** Tools by shown name. */
  readonly entries: ReadonlyMap<string, CatalogueEntry>;
}

const isKey = /^[0-9a-f]{64}$/;

/** What is asked about. */
interface Question {
  readonly key: string;
  /** Of the arguments that were given, if they were. */
  readonly fingerprint: string | undefined;
}

/**
 * Answers the tool's call.
 *
 * @throws {NeverTwiceError} INTENT_INVALID when no tenant is known; ARGUMENTS_INVALID when neither a key
 * nor a guarded tool is named; what a call with these arguments would be refused for.
 */
export async function tellStatus(parts: StatusParts, request: AgentRequest): Promise<Members> {
  const { tenant } = contextOf(parts, request, 0);
  const { key, fingerprint } = await questionIn(parts, request);
  const record = await parts.store.read({ tenant, key });
  if (record === undefined) return resultOf({ found: false, key, sameCall: "safe" }, absent(key));
  const { text, sameCall } = known(record, fingerprint);
  const { status, attempts, providerId, supersededBy } = record;
  const times = {
    firstExecutedAt: isoTime(record.firstArmedAtMs),
    settledAt: isoTime(record.settledAtMs),
  };
  return resultOf(
    { found: true, status, attempts, ...times, providerId, supersededBy, sameCall, key },
    `${text} Key ${key}.`,
  );
}

async function questionIn(parts: StatusParts, request: AgentRequest): Promise<Question> {
  const { key, tool, arguments: args = {} } = (request.params["arguments"] ?? {}) as Members;
  if ((key === undefined) === (tool === undefined)) throw unfit("give either a key or a tool");
  if (key !== undefined) {
    if (typeof key === "string" && isKey.test(key)) return { key, fingerprint: undefined };
    throw unfit("a key has 64 hexadecimal digits");
  }
  if (typeof tool !== "string") throw unfit("a tool is named by a text");
  const entry = parts.entries.get(tool);
  if (entry === undefined) throw unfit(`there is no tool ${tool}`);
  if (entry.verdict === "refused") throw entry.refusal;
  const identity =
    entry.verdict === "pass"
      ? null
      : await parts.guard.identify(entry.tool, args, contextOf(parts, request, 0));
  if (identity === null)
    throw unfit(`calls of ${tool} are not recorded, because calling it again is safe`);
  return identity;
}

function unfit(reason: string): NeverTwiceError {
  return new NeverTwiceError(
    "ARGUMENTS_INVALID",
    `No operation can be looked up: ${reason}. Nothing was sent.`,
    { details: { reason } },
  );
}

function absent(key: string): string {
  return `No operation with this key is recorded for this caller. That proves nothing about the effect: it may be recorded under another intent, another tenant or another ledger, or the call may still be on its way. The same call is safe: it runs under its own key, once. Key ${key}.`;
}

interface Known {
  readonly text: string;
  readonly sameCall: SameCall;
}

const changedIsUnsafe = "A changed call, or a new intent for the same matter, is not safe.";

function known(record: OperationRecord, fingerprint: string | undefined): Known {
  const fault = findRecordFault(record);
  if (fault !== undefined)
    return {
      text: `The stored operation can't be read (${fault}), so whether it took effect is not known; a person has to look. ${changedIsUnsafe}`,
      sameCall: "useless",
    };
  const told = knownOf(record);
  const more = [
    ...(record.incident === null
      ? []
      : ["Evidence contradicts this, and a person has been asked about it."]),
    ...(record.supersededBy === null
      ? []
      : [`It was replaced by the intent with key ${record.supersededBy}.`]),
  ];
  if (fingerprint === undefined || fingerprint === record.fingerprint)
    return { ...told, text: [told.text, ...more].join(" ") };
  const other =
    "This intent is recorded with other business arguments than the given ones; a call with the given ones would be refused.";
  return { text: [other, told.text, ...more].join(" "), sameCall: "useless" };
}

function knownOf(record: OperationRecord): Known {
  const { status, purgedAtMs, attempts } = record;
  if (purgedAtMs !== null)
    return {
      text: `This operation was settled (${status}) so long ago that its outcome is no longer stored. The same call is not run again, and doesn't bring the outcome.`,
      sameCall: "useless",
    };
  switch (status) {
    case "DONE":
      return { text: doneText(record), sameCall: "safe" };
    case "FAILED":
      return {
        text: `${attempts === 0 ? "It was declined before anything was sent for it" : "The downstream refused it for good"}: no effect exists. The same call gives this same answer and sends nothing; another attempt is a new intent that names this one and a reason.`,
        sameCall: "useless",
      };
    case "NEEDS_REVIEW":
      return { text: reviewText(record), sameCall: "safe" };
    case "IN_PROGRESS":
    case "UNKNOWN":
      return { text: openText(record), sameCall: "safe" };
    default:
      return unreachable(status);
  }
}

function doneText({ firstArmedAtMs, providerId }: OperationRecord): string {
  const since = isoTime(firstArmedAtMs);
  return [
    `Done: it took effect once${since === null ? "" : `, first sent ${since}`}.`,
    ...(providerId === null ? [] : [`The provider calls it ${providerId}.`]),
    "The same call is safe: it brings the stored outcome and sends nothing new.",
  ].join(" ");
}

function reviewText({ attempts }: OperationRecord): string {
  const what =
    attempts === 0
      ? "Nothing was sent for it: before that, a person has been asked and has not decided yet."
      : "Whether it took effect can't be settled by any rule; a person has been asked and has not decided yet.";
  return `${what} The same call is safe and will bring the decision. ${changedIsUnsafe}`;
}

/** What is under way, what is in doubt, and what was claimed or approved and never sent. */
function openText(record: OperationRecord): string {
  if (record.status === "IN_PROGRESS" && record.leaseUntilMs > record.readAtMs)
    return `It is being executed right now by another call; its outcome is not known yet. The same call is safe and will bring the outcome. ${changedIsUnsafe}`;
  if (nothingSent(record))
    return `It is recorded, and ${record.generation > 0 ? "since a person let it run " : ""}nothing has been sent for it. The same call is safe, and sends it once. ${changedIsUnsafe}`;
  return `A request for it was sent, or may have been, and whether it took effect is not known. The same call is safe: it looks before it sends. ${changedIsUnsafe}`;
}

function resultOf(facts: Members, text: string): Members {
  return {
    content: [{ type: "text", text }],
    structuredContent: facts,
    _meta: { [metaNames.operation]: facts },
  };
}

function isoTime(atMs: number | null): string | null {
  return atMs === null ? null : new Date(atMs).toISOString();
}
