/**
 * Late looks: asks the provider again about operations that closed some time ago, so that an effect
 * which came later than every bound said becomes an incident (R22). Nothing is sent, and no outcome
 * is changed.
 *
 * @module
 */
import { days, hours, isSpan, minutes } from "../base/duration.ts";
import {
  NeverTwiceError,
  assert,
  errorText,
  isNeverTwiceError,
  storableText,
} from "../base/errors.ts";
import {
  type FoundLate,
  type LateLooks,
  type LookPosition,
  judgeLateFind,
} from "../ledger/late-looks.ts";
import { type OperationRecord, findRecordFault } from "../ledger/record.ts";
import type { FoundEffect } from "./contract.ts";
import type { GuardEnvironment } from "./environment.ts";
import { lookUp } from "./look-up.ts";
import { fingerprintFor } from "./prepare.ts";
import type { GuardedParts, Tool } from "./tool.ts";
import { type Turn, storedArguments } from "./turn.ts";

/** When closed operations are looked at again. */
export interface LateLookOptions {
  /** How long after it closed, in milliseconds. Default an hour, a day, three days; none: `[]`. */
  readonly afterMs?: readonly number[];
  /**
   * Also those that were sent once and are DONE, of which nothing else can be under way unless the
   * network itself doubles requests. Default false, for each look costs a request to the provider.
   */
  readonly all?: boolean;
}

/** {@link LateLookOptions} with their defaults. */
export type LateLookPlan = Required<LateLookOptions>;

/** What became of a late look at one operation. */
export interface LookedAgain {
  readonly tenant: string;
  readonly key: string;
  /** `unchanged`; `incident`, flagged for a person; `unsure`, no answer, and the next look may have one; `skipped`. */
  readonly outcome: "unchanged" | "incident" | "unsure" | "skipped";
}

/** A new stage begins this long before its time. */
const beginMs = days(7);
const leaseMs = minutes(5);

/** @throws {NeverTwiceError} CONFIGURATION_INVALID for a span that is none. */
export function planLateLooks(options: LateLookOptions = {}): LateLookPlan {
  const { afterMs = [hours(1), days(1), days(3)], all = false } = options;
  for (const span of afterMs) {
    if (isSpan(span) && span > 0) continue;
    throw new NeverTwiceError(
      "CONFIGURATION_INVALID",
      `\`lateLooks.afterMs\` holds ${String(span)}, which is no span above zero in milliseconds.`,
    );
  }
  return { afterMs, all };
}

/** Looks at no more than `limit` operations of each tool and stage. */
export async function lookAgain(
  env: GuardEnvironment,
  tools: ReadonlyMap<string, Tool>,
  plan: LateLookPlan,
  limit: number,
): Promise<readonly LookedAgain[]> {
  const { lateLooks: looks } = env.store;
  const looked: LookedAgain[] = [];
  if (looks === undefined) return looked;
  for (const tool of tools.values()) {
    const { guarded: parts } = tool;
    if (parts?.contract.lookUp === undefined) continue;
    for (const afterMs of plan.afterMs)
      looked.push(
        ...(await lookAtStage(env, looks, { tool, parts, afterMs, all: plan.all, limit })),
      );
  }
  return looked;
}

interface Round {
  readonly tool: Tool;
  readonly parts: GuardedParts;
  readonly afterMs: number;
  readonly all: boolean;
  readonly limit: number;
}

async function lookAtStage(
  env: GuardEnvironment,
  looks: LateLooks,
  round: Round,
): Promise<LookedAgain[]> {
  const { afterMs, all, limit } = round;
  const stage = { tool: round.tool.name, afterMs };
  const mark = await looks.claim({ ...stage, beginMs, leaseMs });
  if (mark === undefined) return [];
  const { settledAtMs, tenant, key, readAtMs } = mark;
  const untilMs = readAtMs - afterMs;
  const from = { tool: stage.tool, settledAtMs, tenant, key };
  const closed = await looks.find({ ...from, untilMs, all, limit });
  const looked: LookedAgain[] = [];
  for (const record of closed) {
    const outcome = await lookAtOne(env, round, record);
    looked.push({ tenant: record.tenant, key: record.key, outcome });
  }
  const last = closed.length < limit ? undefined : closed.at(-1);
  // With less than a whole round there is nothing else before `untilMs`.
  const reached = { settledAtMs: untilMs, tenant: "", key: "" };
  await looks.pass({ ...stage, ...(last === undefined ? reached : positionOf(last)) });
  return looked;
}

function positionOf({ tenant, key, settledAtMs }: OperationRecord): LookPosition {
  assert(settledAtMs !== null, "what is closed was settled");
  return { tenant, key, settledAtMs };
}

/** One that fails doesn't stop the others. */
async function lookAtOne(
  env: GuardEnvironment,
  round: Round,
  record: OperationRecord,
): Promise<LookedAgain["outcome"]> {
  try {
    return await look(env, round, record);
  } catch (error) {
    // Without the store an incident can't be told: the position stays, and the round is repeated.
    if (isNeverTwiceError(error, "STORE_UNAVAILABLE")) throw error;
    const { tenant, key } = record;
    env.warn({ tenant, key, message: `a late look stopped here: ${errorText(error)}` });
    return "skipped";
  }
}

async function look(
  env: GuardEnvironment,
  { tool, parts }: Round,
  record: OperationRecord,
): Promise<LookedAgain["outcome"]> {
  if (findRecordFault(record) !== undefined) return "skipped";
  const captured = storedArguments(record);
  // Another account or endpoint knows nothing of this operation.
  if (fingerprintFor(tool, parts, captured) !== record.fingerprint) return "skipped";
  const turn: Turn = {
    tool,
    parts,
    record,
    leaseEndsAtMonotonicMs: 0,
    arguments: captured,
    signal: undefined,
    warnings: [],
  };
  const { finding, named } = await lookUp(env, turn);
  const incident = judgeLateFind(record, named.map(foundLate));
  if (incident === undefined) return finding.kind === "unsure" ? "unsure" : "unchanged";
  return flag(env, record, storableText(incident));
}

function foundLate({ status, providerId }: FoundEffect<unknown>): FoundLate {
  return { status, providerId: providerId ?? null };
}

/** What a person was told once is not told again. */
async function flag(
  env: GuardEnvironment,
  record: OperationRecord,
  incident: string,
): Promise<LookedAgain["outcome"]> {
  const { tenant, key } = record;
  if (await wasTold(env, record, incident)) return "unchanged";
  const detail = JSON.stringify({ incident });
  await env.store.recordIncident({ tenant, key, incident, detail });
  return "incident";
}

async function wasTold(
  env: GuardEnvironment,
  { tenant, key }: OperationRecord,
  incident: string,
): Promise<boolean> {
  const limit = 1000;
  for (let seq = 0; ;) {
    const after = { tenant, key, seq };
    const lines = await env.store.readJournal({ tenant, key, after, limit });
    const told = lines.some(
      ({ event, detail }) =>
        event === "operation.incident" &&
        (JSON.parse(detail) as { incident?: unknown }).incident === incident,
    );
    const last = lines.at(-1);
    if (told || last === undefined || lines.length < limit) return told;
    seq = last.seq;
  }
}
