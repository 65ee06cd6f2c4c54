/**
 * Approvals: a person's yes or no to exactly one key and fingerprint, decided once.
 *
 * @module
 */
import { NeverTwiceError, storableText } from "../base/errors.ts";
import type { Tool } from "../guard/tool.ts";
import { checkedId } from "../intent/intent.ts";
import type { ApprovalRecord, RunRecord, StepRecord } from "../ledger/runs.ts";
import type { EffectStore } from "../ledger/transaction.ts";
import type { RunScope } from "./run-context.ts";
import type { Step } from "./run-step.ts";
import { storeFailure, storeValue } from "./step-value.ts";

/** What is to be approved. */
interface Question {
  readonly key: string;
  readonly fingerprint: string;
  readonly payload: string;
  readonly waitMs: number;
}

/** Asks, or finds what was asked; returns what the step is to record, or waits. */
export async function awaitApproval(
  scope: RunScope,
  step: Step,
  question: Question,
): Promise<string> {
  const { env, pass } = scope;
  const { tenant, runId, token } = pass.run;
  const { name } = step;
  const asked = await env.store.runs.openApproval({ tenant, runId, token, name, ...question });
  if (asked === undefined) throw lost(runId);
  const answer = await readApproval(env.store, asked, question);
  if (typeof answer === "string") return answer;
  return scope.suspension.wait({ waitsFor: `${name}: approval`, wakeAtMs: answer.expiresAtMs });
}

/**
 * The step that the approved call is to be made by.
 *
 * @throws {NeverTwiceError} STEP_INVALID when the key depends on it and it is not named: what was approved
 * would be the key of no call.
 */
export function callingStep(
  name: string,
  tool: Tool | undefined,
  forStep: string | undefined,
): string {
  if (forStep !== undefined) return checkedId(forStep, "forStep");
  if (tool?.guarded?.scope !== "step") return name;
  throw new NeverTwiceError(
    "STEP_INVALID",
    `The approval "${name}" would hold for no call: the tool ${tool.name} has the scope step, so its key is made of the step that calls it. Name that step: \`forStep\`. Nobody was asked, and nothing was sent.`,
    { details: { step: name, tool: tool.name } },
  );
}

/**
 * What the step is to record about an approval that was asked for; the approval itself while nobody
 * has decided.
 *
 * @throws {NeverTwiceError} APPROVAL_MISMATCH when it was asked for about something else.
 */
export async function readApproval(
  store: EffectStore,
  asked: ApprovalRecord,
  { key, fingerprint }: Pick<Question, "key" | "fingerprint">,
): Promise<string | ApprovalRecord> {
  const approval = await expire(store, asked);
  const { runId, name, decidedBy, why } = approval;
  if (approval.key !== key || approval.fingerprint !== fingerprint)
    throw mismatch(runId, name, key);
  switch (approval.status) {
    case "OPEN":
      return approval;
    case "APPROVED":
      return storeValue(name, { by: decidedBy, why, key, fingerprint });
    case "DECLINED":
      return storeFailure(declined(approval));
    case "EXPIRED":
      return storeFailure(expired(approval));
  }
}

/** What the step recorded, if it was about this very question. */
export function recordedApproval(
  { pass }: RunScope,
  recorded: StepRecord,
  { key, fingerprint }: Question,
): string {
  const same = recorded.key === key && recorded.fingerprint === fingerprint;
  if (!same) throw mismatch(pass.run.runId, recorded.name, key);
  return recorded.value ?? "";
}

/** An approval whose time is over; the statement compares with the database's clock. */
async function expire(store: EffectStore, approval: ApprovalRecord): Promise<ApprovalRecord> {
  if (approval.status !== "OPEN" || approval.readAtMs < approval.expiresAtMs) return approval;
  const { tenant, runId, name, version, fingerprint } = approval;
  const done = { status: "EXPIRED", decidedBy: null, why: null } as const;
  const id = { tenant, runId, name };
  return (
    (await store.runs.decideApproval({ ...id, version, fingerprint, ...done })) ??
    (await store.runs.readApproval(id)) ??
    approval
  );
}

/** A person's decision about an approval. */
export interface ApprovalDecision {
  readonly tenant: string;
  readonly runId: string;
  /** The step's name. */
  readonly name: string;
  /** `version` and `fingerprint` of the approval as the person saw it. */
  readonly version: number;
  readonly fingerprint: string;
  readonly decision: "approve" | "decline";
  readonly by: string;
  readonly why: string;
}

/**
 * Records the decision and wakes the run, in one transaction. Of two decisions one is recorded.
 *
 * @throws {NeverTwiceError} APPROVAL_CONFLICT when it was decided, has expired, its run has ended, or it
 * is about something else than was looked at; INTENT_INVALID when `by` or `why` is blank; CONFIGURATION_INVALID.
 */
export async function decideApproval(
  store: EffectStore,
  decision: ApprovalDecision,
): Promise<ApprovalRecord> {
  const { tenant, runId, name, version, fingerprint } = decision;
  const status = statusOf(decision.decision);
  const decidedBy = checkedId(decision.by, "by");
  if (typeof decision.why !== "string" || decision.why.trim() === "") throw noReason();
  const why = storableText(decision.why);
  const id = { tenant, runId, name };
  const decided = await store.transaction(async (tx) => {
    const made = await tx.runs.decideApproval({
      ...id,
      version,
      fingerprint,
      status,
      decidedBy,
      why,
    });
    if (made !== undefined) await tx.runs.wake({ tenant, runId });
    return made;
  });
  if (decided !== undefined) return decided;
  const now = await store.runs.readApproval(id);
  throw conflict(decision, now, await store.runs.read({ tenant, runId }));
}

function statusOf(decision: unknown): "APPROVED" | "DECLINED" {
  if (decision === "approve") return "APPROVED";
  if (decision === "decline") return "DECLINED";
  throw new NeverTwiceError(
    "CONFIGURATION_INVALID",
    `${JSON.stringify(decision)} is no decision: use approve or decline. Nothing was recorded.`,
  );
}

function noReason(): NeverTwiceError {
  return new NeverTwiceError(
    "INTENT_INVALID",
    "A decision needs a reason: `why` is missing or blank. Nothing was recorded.",
  );
}

function conflict(
  { runId, name, fingerprint }: ApprovalDecision,
  now: ApprovalRecord | undefined,
  run: RunRecord | undefined,
): NeverTwiceError {
  const why =
    now === undefined
      ? "no such approval was asked for"
      : now.status !== "OPEN"
        ? `it is ${now.status}${now.decidedBy === null ? "" : `, decided by ${now.decidedBy}`}`
        : now.fingerprint !== fingerprint
          ? "it is about another payload than was looked at"
          : now.readAtMs >= now.expiresAtMs
            ? "its time is over"
            : run?.settledAtMs === null
              ? "it changed since it was looked at"
              : "its run has ended";
  return new NeverTwiceError(
    "APPROVAL_CONFLICT",
    `The decision about "${name}" of run ${runId} was not recorded: ${why}.`,
    { details: { runId, name, status: now?.status ?? null } },
  );
}

function mismatch(runId: string, name: string, key: string): NeverTwiceError {
  return new NeverTwiceError(
    "APPROVAL_MISMATCH",
    `The run ${runId} asked for the approval "${name}" of another payload than it has now. Nothing was sent. Ask under another step's name for an approval of what is to run.`,
    { key, details: { runId, step: name } },
  );
}

function declined({ name, decidedBy, why, key }: ApprovalRecord): NeverTwiceError {
  return new NeverTwiceError(
    "APPROVAL_DECLINED",
    `${decidedBy} declined "${name}": ${why}. Nothing was sent. The same call gives this same answer.`,
    { key, details: { step: name, by: decidedBy, why } },
  );
}

function expired({ name, key }: ApprovalRecord): NeverTwiceError {
  return new NeverTwiceError(
    "APPROVAL_EXPIRED",
    `Nobody decided about "${name}" in time. Nothing was sent. The same call gives this same answer.`,
    { key, details: { step: name } },
  );
}

function lost(runId: string): NeverTwiceError {
  return new NeverTwiceError(
    "LEASE_LOST",
    `Another process works on the run ${runId} by now; this one goes no further.`,
    { details: { runId } },
  );
}
