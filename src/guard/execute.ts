/**
 * Execute: one send, bounded by the send deadline, the time-out and the lease.
 *
 * @module
 */
import { assert } from "../base/errors.ts";
import { pause } from "../base/runtime.ts";
import type { OperationRecord } from "../ledger/record.ts";
import { maySendNow } from "../ledger/window.ts";
import type { Armed } from "./arm.ts";
import type { GuardEnvironment } from "./environment.ts";
import { startLimits } from "./limits.ts";
import type { ExecuteCall } from "./tool.ts";
import { pointOf } from "./turn.ts";

/** How a call ended. */
export type Ended =
  | { readonly kind: "succeeded"; readonly value: unknown }
  /** A fact that we established: nothing was written to the socket (R13). */
  | { readonly kind: "not-sent"; readonly error: unknown; readonly late: boolean }
  | { readonly kind: "raised"; readonly error: unknown };

/** What became of one attempt. With `given-up` we stopped waiting, and `later` tells how it ended. */
export type AttemptResult =
  Ended | { readonly kind: "given-up"; readonly reason: string; readonly later: Promise<Ended> };

/** How long an aborted call may take to say that it had written nothing. */
const graceMs = 100;

/** Runs the tool once. Never rejects. */
export async function execute(env: GuardEnvironment, armed: Armed): Promise<AttemptResult> {
  const { turn } = armed;
  await env.reach(pointOf(turn, "before-write"));
  if (turn.signal?.aborted === true) {
    return { kind: "not-sent", error: new Error("the caller withdrew"), late: false };
  }
  if (isLate(env, armed)) return { kind: "not-sent", error: tooLate(armed), late: true };
  const result = await executeWithinLimits(env, armed);
  await env.reach(pointOf(turn, "after-execute"));
  return result;
}

async function executeWithinLimits(env: GuardEnvironment, armed: Armed): Promise<AttemptResult> {
  const limits = startLimits(env, armed);
  try {
    const later = callTool(env, armed, limits.signal);
    const first = await Promise.race([later, limits.reached]);
    if (typeof first !== "string") return first;
    const given = pause(env.runtime, graceMs).then(() => first);
    const last = await Promise.race([later, given]);
    return typeof last === "string" ? { kind: "given-up", reason: last, later } : last;
  } finally {
    limits.stop();
  }
}

/** What a tool threw because of us, so that nobody else's error can claim that nothing was sent. */
type NotSentMarks = Map<unknown, { late: boolean }>;

function callTool(env: GuardEnvironment, armed: Armed, signal: AbortSignal): Promise<Ended> {
  const marks: NotSentMarks = new Map();
  const call = executeCall(env, armed, signal, marks);
  return settleCall(() => armed.turn.tool.execute(armed.turn.arguments.value, call), marks);
}

async function settleCall(start: () => unknown, marks: NotSentMarks): Promise<Ended> {
  try {
    return { kind: "succeeded", value: await start() };
  } catch (error) {
    const mark = marks.get(error);
    return mark === undefined
      ? { kind: "raised", error }
      : { kind: "not-sent", error, late: mark.late };
  }
}

function executeCall(
  env: GuardEnvironment,
  armed: Armed,
  signal: AbortSignal,
  marks: NotSentMarks,
): ExecuteCall {
  const { record } = armed.turn;
  const mark = (error: Error, late: boolean): Error => {
    marks.set(error, { late });
    return error;
  };
  return Object.freeze({
    tenant: record.tenant,
    key: record.key,
    wireKey: armedWireKey(record),
    signal,
    beforeWrite: () => {
      if (signal.aborted) throw mark(new Error("the call was given up before the write"), false);
      if (isLate(env, armed)) throw mark(tooLate(armed), true);
    },
    sendWithinMs: armed.turn.parts.terms.bounds.sendWithinMs,
    notSent: (cause?: unknown) =>
      mark(new Error("nothing was written to the socket", { cause }), false),
  });
}

function armedWireKey(record: OperationRecord): string {
  assert(record.wireKey !== null, "an armed attempt has its wire key");
  return record.wireKey;
}

function isLate(env: GuardEnvironment, armed: Armed): boolean {
  const { bounds } = armed.turn.parts.terms;
  return !maySendNow(armed.askedAtMonotonicMs, env.runtime.monotonicMs(), bounds);
}

function tooLate(armed: Armed): Error {
  const { sendWithinMs } = armed.turn.parts.terms.bounds;
  return new Error(`the send deadline of ${sendWithinMs} ms after arming had passed`);
}
