/**
 * The side of an engine's flows that has store, guard and tools: does what a step asks for. An engine
 * runs a step again when the process dies before its answer is recorded; the guard, the approval's
 * row and the event's id make that harmless.
 *
 * @module
 */
import { canonicalJson, sha256Hex } from "../../../base/canonical-json.ts";
import { days, isSpan } from "../../../base/duration.ts";
import { NeverTwiceError, isNeverTwiceError } from "../../../base/errors.ts";
import { compensate, findActEffect, isCompensable } from "../../../effects/compensate.ts";
import { emit } from "../../../effects/emit.ts";
import { callingStep, readApproval } from "../../../flow/approval.ts";
import { isDoubtful } from "../../../flow/call-guard.ts";
import { storeFailure, storeOutcome, storeValue } from "../../../flow/step-value.ts";
import type { CallIdentity, Guard } from "../../../guard/create-guard.ts";
import type { RunContext } from "../../../guard/prepare.ts";
import type { Tool } from "../../../guard/tool.ts";
import type { RunRecord } from "../../../ledger/runs.ts";
import type { EffectStore } from "../../../ledger/transaction.ts";
import type { EngineRun, StepAnswer, StepRequest } from "./requests.ts";

/** What the flows of an engine work with, whichever engine it is. */
export interface EngineOptions {
  readonly store: EffectStore;
  readonly guard: Guard;
  /** Every tool that the flows name, those whose effects they undo included. */
  readonly tools: readonly Tool[];
  /** Where outgoing events say they come from, a URI reference. Default `nevertwice`. */
  readonly source?: string;
  /** How long an ended run's approvals are kept, in milliseconds. Default 45 d. */
  readonly retentionMs?: number;
}

/** Does what the steps of runs ask for. */
export interface EngineWorker {
  /**
   * An error that it throws is the engine's to retry: the same request is safe.
   *
   * @throws {NeverTwiceError} of a code whose same call is safe; whatever a driver throws.
   */
  perform(run: EngineRun, request: StepRequest): Promise<StepAnswer>;
}

interface Workshop {
  readonly store: EffectStore;
  readonly guard: Guard;
  readonly tools: ReadonlyMap<string, Tool>;
  readonly source: string;
  readonly retentionMs: number;
}

/**
 * Makes the worker of a process.
 *
 * @throws {NeverTwiceError} CONFIGURATION_INVALID for a retention that is none.
 */
export function createEngineWorker(options: EngineOptions): EngineWorker {
  const { retentionMs = days(45) } = options;
  if (!isSpan(retentionMs) || retentionMs === 0) {
    throw new NeverTwiceError(
      "CONFIGURATION_INVALID",
      `\`retentionMs\` must be a number above zero, not ${String(retentionMs)}.`,
    );
  }
  const shop: Workshop = {
    store: options.store,
    guard: options.guard,
    tools: new Map(options.tools.map((tool) => [tool.name, tool])),
    source: options.source ?? "nevertwice",
    retentionMs,
  };
  return {
    perform: async (run, request) => {
      try {
        return await perform(shop, run, request);
      } catch (error) {
        return answerOf(error);
      }
    },
  };
}

async function perform(shop: Workshop, run: EngineRun, request: StepRequest): Promise<StepAnswer> {
  switch (request.kind) {
    case "act":
      return act(shop, run, request);
    case "approve":
      return approve(shop, run, request);
    case "emit":
      return emitEvent(shop, run, request);
    case "compensate":
      return undo(shop, run, request);
    case "end":
      return end(shop, run, request);
  }
}

/** A doubt may be had otherwise by the same call; everything else that is ours stands. */
function answerOf(error: unknown): StepAnswer {
  if (!isNeverTwiceError(error)) throw error;
  if (isDoubtful(error.code)) {
    const retryAfterMs = Number(error.details["retryAfterMs"] ?? 0);
    return { kind: "doubt", code: error.code, retryAfterMs };
  }
  return { kind: "ended", value: storeFailure(error), key: error.key ?? null };
}

type Request<Kind extends StepRequest["kind"]> = Extract<StepRequest, { kind: Kind }>;

async function act(
  shop: Workshop,
  run: EngineRun,
  { step, tool: name, args, options, approved }: Request<"act">,
): Promise<StepAnswer> {
  const tool = toolOf(shop, name);
  const context = callContext(run, step, options);
  const identity = await shop.guard.identify(tool, args, context);
  const approval = approved.find(({ key }) => key === identity?.key);
  if (approval !== undefined && approval.fingerprint !== identity?.fingerprint) {
    throw notApproved(step, approval.by, approval.key);
  }
  const result = storeOutcome(step, await shop.guard.run(tool, args, context));
  return { kind: "ended", value: result, key: identity?.key ?? null };
}

async function approve(
  shop: Workshop,
  run: EngineRun,
  { step: name, tool, forStep, payload, options, waitMs }: Request<"approve">,
): Promise<StepAnswer> {
  const { store } = shop;
  const { tenant, runId } = run;
  const text = canonicalJson(payload);
  const called = tool === null ? undefined : toolOf(shop, tool);
  const context = callContext(run, callingStep(name, called, forStep), options);
  const identity: CallIdentity | null =
    called === undefined ? null : await shop.guard.identify(called, payload, context);
  const key = identity?.key ?? sha256Hex(canonicalJson({ tenant, runId, step: name }));
  const fingerprint = identity?.fingerprint ?? sha256Hex(text);
  const { token } = await anchor(shop, run);
  const question = { key, fingerprint, payload: text, waitMs };
  const asked = await store.runs.openApproval({ tenant, runId, token, name, ...question });
  const approval = asked ?? (await store.runs.readApproval({ tenant, runId, name }));
  if (approval === undefined) throw runEnded(runId, name);
  const answer = await readApproval(store, approval, question);
  if (typeof answer === "string") return { kind: "ended", value: answer, key };
  return { kind: "open", leftMs: Math.max(answer.expiresAtMs - answer.readAtMs, 0) };
}

/** The row that approvals hang on. No embedded runner has a flow of this name, so none takes it up. */
async function anchor({ store, retentionMs }: Workshop, run: EngineRun): Promise<RunRecord> {
  const { tenant, runId, version } = run;
  const flow = `engine:${run.flow}`;
  const input = "null";
  const row = await store.runs.start({ tenant, runId, flow, version, input, retentionMs });
  if (row.flow === flow) return row;
  throw new NeverTwiceError(
    "PAYLOAD_MISMATCH",
    `The run ${runId} is already recorded with another flow, ${row.flow}, so nobody can be asked in its name. Nothing was sent. Give each flow's runs ids of their own.`,
    { details: { runId, flow: row.flow } },
  );
}

/** The id is the step's, so that an event that is written again stays the one that it is. */
async function emitEvent(
  { store, source }: Workshop,
  { tenant, flow, runId }: EngineRun,
  { step, type, data, subject }: Request<"emit">,
): Promise<StepAnswer> {
  const id = sha256Hex(canonicalJson({ tenant, flow, runId, step }));
  const event = { tenant, id, source, type, subject: subject ?? undefined, data };
  await store.transaction((tx) => emit(tx.outbox, event));
  return { kind: "ended", value: storeValue(step, id), key: null };
}

/** Ends with true when the effect was undone, with false when there is none that can be. */
async function undo(
  shop: Workshop,
  run: EngineRun,
  request: Request<"compensate">,
): Promise<StepAnswer> {
  const { store, guard, tools } = shop;
  const { tenant } = run;
  const key = request.key ?? (await keyOfEffect(shop, run, request));
  const record = key === null ? undefined : await store.read({ tenant, key });
  const tool = tools.get(record?.tool ?? request.act.tool);
  const leave = key === null || (tool !== undefined && !isCompensable(tool));
  if (!leave) await compensate(guard, store, [...tools.values()], { tenant, key });
  return { kind: "ended", value: storeValue(request.step, !leave), key };
}

/** Of an act that the engine gave up before it had the answer; null when that had no effect. */
async function keyOfEffect(
  shop: Workshop,
  run: EngineRun,
  { act: { tool: name, args, options, step } }: Request<"compensate">,
): Promise<string | null> {
  const tool = toolOf(shop, name);
  const identity = await shop.guard.identify(tool, args, callContext(run, step, options));
  if (identity === null) return null;
  const found = await findActEffect(shop.store, identity);
  // In doubt `compensate` refuses, until the guard has found out.
  return found === "none" ? null : identity.key;
}

async function end(
  shop: Workshop,
  run: EngineRun,
  { step, error }: Request<"end">,
): Promise<StepAnswer> {
  const { tenant, runId } = run;
  const { token } = await anchor(shop, run);
  const status = error === null ? "DONE" : "FAILED";
  await shop.store.runs.settle({ tenant, runId, token, status, output: null, error });
  return { kind: "ended", value: storeValue(step, undefined), key: null };
}

/** An engine may know two flows' runs by one id: with the flow they are two workflows. */
function callContext(
  { tenant, flow, runId }: EngineRun,
  stepId: string,
  options: Request<"act">["options"],
): RunContext {
  return { ...options, tenant, workflowId: `${flow}:${runId}`, stepId };
}

function toolOf({ tools }: Workshop, name: string): Tool {
  const tool = tools.get(name);
  if (tool !== undefined) return tool;
  throw new NeverTwiceError(
    "TOOL_INVALID",
    `The tool ${name} is not among the \`tools\` of this process. Nothing was sent.`,
    { details: { tool: name } },
  );
}

function notApproved(step: string, by: string, key: string): NeverTwiceError {
  return new NeverTwiceError(
    "APPROVAL_MISMATCH",
    `The step "${step}" would run with other business arguments than ${by} approved. Nothing was sent. Ask for an approval of what is to run.`,
    { key, details: { step } },
  );
}

function runEnded(runId: string, step: string): NeverTwiceError {
  return new NeverTwiceError(
    "RUN_FAILED",
    `The run ${runId} has ended, so nobody can be asked about "${step}" any more. Nothing was sent.`,
    { details: { runId, step } },
  );
}
