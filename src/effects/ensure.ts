/**
 * Ensure: observe; converged, then nothing is done; else one change under the guard, and observe
 * again. An older desired state never overwrites a newer one.
 *
 * @module
 */
import { backOffMs, spread } from "../base/back-off.ts";
import { errorText, isNeverTwiceError } from "../base/errors.ts";
import { type Runtime, pause, startTimer, systemRuntime } from "../base/runtime.ts";
import { captureArguments } from "../intent/business-arguments.ts";
import { fingerprintOf } from "../intent/fingerprint.ts";
import type { JsonObject } from "../base/plain-json.ts";
import type { Guard } from "../guard/create-guard.ts";
import { type RunContext, validateArguments } from "../guard/prepare.ts";
import { checkedId } from "../intent/intent.ts";
import type { TargetId, TargetRecord, TargetStatus } from "../ledger/targets.ts";
import type { EffectStore } from "../ledger/transaction.ts";
import { busyTarget, checkedVersion, doubtful, mismatch, staleVersion } from "./ensure-answers.ts";
import { type Change, type RegisteredEnsureTool, withLeave } from "./ensure-tool.ts";

/** Options of {@link createEnsure}. */
export interface EnsureOptions {
  readonly store: EffectStore;
  readonly guard: Guard;
  readonly runtime?: Runtime;
}

/** What a call may say beside tool and arguments. */
export type EnsureContext = Pick<RunContext, "tenant" | "trusted" | "signal" | "onInProgress">;

/** The desired state is there. */
export interface EnsureOutcome<State> {
  readonly status: "CONVERGED";
  /** True: this call made a change. */
  readonly changed: boolean;
  /** What was observed last. */
  readonly state: State;
  readonly target: string;
  readonly version: number;
  /** Changes of this version so far, this one included: more than one after drifts. */
  readonly round: number;
  /** Of the change that this call made; null for none. */
  readonly key: string | null;
  /** One line that may be shown to a model. */
  readonly text: string;
}

/** Brings a target into its desired state. */
export type Ensure = <State>(
  tool: RegisteredEnsureTool<State>,
  args: unknown,
  context: EnsureContext,
) => Promise<EnsureOutcome<State>>;

/**
 * Returns `ensure`.
 *
 * @throws {NeverTwiceError} STALE_VERSION for an older version than the recorded one; PAYLOAD_MISMATCH
 * for the same version with another desired state; IN_PROGRESS while another call has the target;
 * OUTCOME_UNKNOWN while a change may be under way and the state isn't there yet; NOT_SENT when the
 * state can't be observed and nothing is under way; OPERATION_FAILED when the change was refused; and
 * what `guard.run` throws before a claim. The same call is safe after all of them.
 */
export function createEnsure({ store, guard, runtime = systemRuntime }: EnsureOptions): Ensure {
  return async (tool, args, context) => {
    const job = await prepareJob({ store, guard, runtime }, tool, args, context);
    const outcome = await converge(job, await own(job));
    return outcome as EnsureOutcome<never>;
  };
}

/** One call on its way. */
interface Job {
  readonly store: EffectStore;
  readonly guard: Guard;
  readonly runtime: Runtime;
  readonly tool: RegisteredEnsureTool;
  readonly context: EnsureContext;
  readonly id: TargetId;
  readonly version: number;
  readonly desired: JsonObject;
  readonly fingerprint: string;
  readonly acquisitionId: string;
}

async function prepareJob(
  env: Pick<Job, "store" | "guard" | "runtime">,
  tool: RegisteredEnsureTool,
  args: unknown,
  context: EnsureContext,
): Promise<Job> {
  const { declared, operation } = tool;
  const tenant = checkedId(context.tenant, "tenant");
  const fields = await validateArguments(declared, args);
  const captured = captureArguments(fields, declared.guarded?.fields ?? new Map());
  const source = { args: { ...fields, ...captured.value }, trusted: context.trusted ?? {} };
  const { account, endpoint } = declared.guarded?.contract ?? {};
  const { name } = tool;
  return {
    ...env,
    tool,
    context,
    id: { tenant, operation, target: checkedId(tool.target(source), "target") },
    version: checkedVersion(tool.version(source)),
    desired: captured.value,
    fingerprint: fingerprintOf({ tool: name, arguments: captured.value, account, endpoint }),
    acquisitionId: env.runtime.randomId(),
  };
}

/** A target that is ours for now, and what this call did to it. */
interface Owned {
  readonly row: TargetRecord;
  /** Of the change that this call made; null for none. */
  readonly key: string | null;
  /** That change was answered, so that nothing of it is under way. */
  readonly answered: boolean;
  /** What is known of the round by now; null for nothing new. */
  readonly status: TargetStatus | null;
  /** The answer of a change that was refused, or not sent. */
  readonly refusal: unknown;
}

function leaseMsOf({ terms }: RegisteredEnsureTool): number {
  return terms.convergeWithinMs + terms.timeoutMs + 2 * terms.observeTimeoutMs + 10_000;
}

/** Between two looks at a target that is another's; each look is a write. */
const waits = { firstMs: 25, lastMs: 500 };

/** Takes the target's lease, or waits for it as the caller allows. */
async function own(job: Job): Promise<Owned> {
  const { store, runtime, id, version, fingerprint, acquisitionId, tool, context } = job;
  const { onInProgress = "conflict", signal } = context;
  const waitMs = onInProgress === "conflict" ? 0 : onInProgress.waitMs;
  const untilMs = runtime.monotonicMs() + waitMs;
  const leaseMs = leaseMsOf(tool);
  for (let tries = 1; ; tries += 1) {
    const row = await store.targets.claim({ ...id, version, fingerprint, acquisitionId, leaseMs });
    checkCurrent(job, row);
    if (row.acquisitionId === acquisitionId && row.leaseUntilMs > row.readAtMs)
      return { row, key: null, answered: false, status: null, refusal: undefined };
    const leftMs = untilMs - runtime.monotonicMs();
    if (leftMs <= 0 || signal?.aborted === true) throw busyTarget(row);
    await pause(runtime, Math.min(spread(runtime, backOffMs(waits, tries)), leftMs), signal);
  }
}

function checkCurrent({ version, fingerprint }: Job, row: TargetRecord): void {
  if (row.version > version) throw staleVersion(row, version);
  if (row.fingerprint !== fingerprint) throw mismatch(row);
}

type Seen =
  | { readonly kind: "converged" | "pending" | "apart"; readonly state: unknown }
  | { readonly kind: "doubt"; readonly reason: string };

/** Observes, changes at most once, and observes until the state is there or time is up. */
async function converge(job: Job, owned: Owned): Promise<EnsureOutcome<unknown>> {
  const { runtime, tool, context } = job;
  const untilMs = runtime.monotonicMs() + tool.terms.convergeWithinMs;
  let now = owned;
  try {
    for (;;) {
      const seen = await observe(job);
      if (seen.kind === "converged" && !mayBeOverwritten(job, now.row)) {
        now = settled(now);
        if (!now.answered) await closeRound(job, now.row);
        return outcomeOf(now, seen.state);
      }
      const mayChange = seen.kind === "apart" && now.key === null && !isUnderWay(now.row);
      if (mayChange) {
        now = await makeChange(job, now);
        if (now.refusal !== undefined) throw now.refusal;
      }
      const isOver = runtime.monotonicMs() >= untilMs || context.signal?.aborted === true;
      if (isOver) throw doubtful(now.row, isUnderWay(now.row), reasonOf(seen));
      const restMs = mayChange ? 0 : spread(runtime, tool.terms.observeEveryMs);
      await pause(runtime, restMs, context.signal);
      if (now.key === null) now = withRow(now, await readAgain(job, now.row));
    }
  } finally {
    await giveBack(job, now);
  }
}

/** The desired state was seen; in an open round nothing was sent, so that there is nothing to settle. */
function settled(owned: Owned): Owned {
  return owned.row.status === "OPEN" ? owned : { ...owned, status: "SETTLED" };
}

function withRow(owned: Owned, row: TargetRecord): Owned {
  return { ...owned, row };
}

/** An older change that may still land would take back what is there now. */
function mayBeOverwritten({ version }: Job, row: TargetRecord): boolean {
  return row.armedVersion !== null && row.armedVersion !== version && isUnderWay(row);
}

function isUnderWay(row: TargetRecord): boolean {
  return row.quietUntilMs > row.readAtMs;
}

function reasonOf(seen: Seen): string {
  if (seen.kind === "doubt") return `the state could not be observed: ${seen.reason}`;
  return seen.kind === "pending"
    ? "a change is under way"
    : "the desired state has not been seen yet";
}

/** Asks once, in time. Whatever goes wrong is a doubt. */
async function observe({ runtime, tool, id, version, desired }: Job): Promise<Seen> {
  const controller = new AbortController();
  const { observeTimeoutMs } = tool.terms;
  const timer = startTimer(runtime, observeTimeoutMs);
  const tooSlow = timer.rung.then((): Seen => {
    controller.abort();
    return { kind: "doubt", reason: `no answer within ${observeTimeoutMs} ms` };
  });
  const asking = async (): Promise<Seen> => {
    const { tenant, target } = id;
    const { signal } = controller;
    const state = await tool.observe(desired, { tenant, target, version, signal });
    switch (tool.isConverged(state, desired)) {
      case true:
        return { kind: "converged", state };
      case "pending":
        return { kind: "pending", state };
      case false:
        return { kind: "apart", state };
      default:
        return { kind: "doubt", reason: "`isConverged` gave none of its three answers" };
    }
  };
  const asked = asking().catch((error: unknown): Seen => ({
    kind: "doubt",
    reason: errorText(error),
  }));
  try {
    return await Promise.race([asked, tooSlow]);
  } finally {
    timer.stop();
  }
}

/** One change, armed at the target first, then run under the guard. */
async function makeChange(job: Job, owned: Owned): Promise<Owned> {
  const { store, runtime, tool, id, version } = job;
  const { row } = owned;
  if (row.status === "REFUSED") await runChange(job, row.round, undefined);
  if (row.status === "ARMED") await closeRound(job, row);
  const round = row.status === "OPEN" ? row.round : row.round + 1;
  const askedAtMs = runtime.monotonicMs();
  const { sendWithinMs, flightMs, marginMs } = tool.terms;
  const armed = await store.targets.arm({
    ...id,
    token: row.token,
    version,
    round,
    // The guard arms within W of this, and its own claim must have ended before the next round.
    quietMs: 2 * sendWithinMs + flightMs + marginMs + tool.terms.timeoutMs,
    leaseMs: leaseMsOf(tool),
  });
  if (armed === undefined) return { ...owned, row: await readAgain(job, row) };
  const isLate = (): boolean => runtime.monotonicMs() - askedAtMs > sendWithinMs;
  const made: Owned = { ...owned, row: armed, answered: true };
  try {
    return { ...made, key: await runChange(job, round, { isLate }) };
  } catch (error) {
    if (isNeverTwiceError(error, "OPERATION_FAILED"))
      return { ...made, status: "REFUSED", refusal: error };
    if (isNeverTwiceError(error, "NOT_SENT")) return { ...made, status: "OPEN", refusal: error };
    if (!isNeverTwiceError(error) || !leftInDoubt.has(error.code)) throw error;
    return { ...made, answered: false, key: error.key ?? null };
  }
}

/** Answers after which the next observation tells. */
const leftInDoubt = new Set(["OUTCOME_UNKNOWN", "IN_PROGRESS", "NEEDS_REVIEW", "LEASE_LOST"]);

async function runChange(
  { guard, tool, id, version, desired, context }: Job,
  round: number,
  leave: Parameters<typeof withLeave>[0],
): Promise<string | null> {
  const change: Change = { target: id.target, version, round, desired };
  const { tenant } = id;
  const { signal } = context;
  const call = { tenant, ...(signal === undefined ? {} : { signal }) };
  return withLeave(leave, async () => (await guard.run(tool.change, change, call)).key);
}

/** Lets the guard look at a change that was left in doubt; what it can't tell, the sweeper will. */
async function closeRound(job: Job, row: TargetRecord): Promise<void> {
  const { store, guard, tool, id, version, desired } = job;
  if (row.status !== "ARMED" || row.armedVersion !== version) return;
  const change: Change = { target: id.target, version, round: row.round, desired };
  const { tenant } = id;
  try {
    const identity = await guard.identify(tool.change, change, { tenant });
    const record = identity === null ? undefined : await store.read(identity);
    const isOpen = record?.status === "UNKNOWN" || record?.status === "IN_PROGRESS";
    if (isOpen && record.attempts > 0) await runChange(job, row.round, undefined);
  } catch {
    // The round's own record is not what the target's state depends on.
  }
}

async function readAgain(job: Job, seen: TargetRecord): Promise<TargetRecord> {
  const row = (await job.store.targets.read(job.id)) ?? seen;
  checkCurrent(job, row);
  if (row.token !== seen.token) throw busyTarget(row);
  return row;
}

/** A lease that can't be given back ends by itself. */
async function giveBack({ store, id, version }: Job, owned: Owned): Promise<void> {
  const { row, status, answered } = owned;
  try {
    await store.targets.settle({ ...id, token: row.token, version, status, answered });
  } catch {
    // The answer is worth more than the lease.
  }
}

function outcomeOf({ row, key }: Owned, state: unknown): EnsureOutcome<unknown> {
  const { target, version, round } = row;
  const changed = key !== null;
  const did = changed ? `One change was made. Key ${key}.` : "Nothing was changed by this call.";
  const text = `${target} is in the desired state of version ${version}. ${did} The same call is safe.`;
  return Object.freeze({ status: "CONVERGED", changed, state, target, version, round, key, text });
}
