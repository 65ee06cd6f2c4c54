/**
 * The embedded runner of flows: any process that has the store goes on with any run.
 *
 * @module
 */
import { backOffMs, spread } from "../base/back-off.ts";
import { canonicalJson } from "../base/canonical-json.ts";
import { days, isSpan } from "../base/duration.ts";
import { NeverTwiceError, errorText } from "../base/errors.ts";
import { type Runtime, pause, systemRuntime } from "../base/runtime.ts";
import type { Guard } from "../guard/create-guard.ts";
import type { Tool } from "../guard/tool.ts";
import { checkedId } from "../intent/intent.ts";
import type { ApprovalRecord, RunId, RunRecord } from "../ledger/runs.ts";
import type { EffectStore, Transaction } from "../ledger/transaction.ts";
import { type ApprovalDecision, decideApproval } from "./approval.ts";
import type { FlowEnvironment, FlowPoint } from "./environment.ts";
import { executeRun } from "./execute-run.ts";
import type { Flow } from "./flow.ts";
import { type OpenEffect, readOpenEffects } from "./open-effects.ts";
import { readValue } from "./step-value.ts";

/** Options of {@link createFlows}. */
export interface FlowsOptions {
  readonly store: EffectStore;
  readonly guard: Guard;
  /** The flows that this process has the code of; several versions of one may be among them. */
  readonly flows: readonly Flow<never>[];
  /** Tools whose effects runs of earlier processes may have to undo. Those that are called are added. */
  readonly tools?: readonly Tool[];
  /** How long a run stays with a process that no longer renews, in milliseconds. Default 60 s. */
  readonly leaseMs?: number;
  /** Passes in a row that may end in an error before the run is FAILED. Default 10. */
  readonly maxAttempts?: number;
  /** Where outgoing events say they come from, a URI reference. Default `nevertwice`. */
  readonly source?: string;
  /** How long an ended run keeps its steps, in milliseconds. Default 45 d. */
  readonly retentionMs?: number;
  onWarning?(message: string): void;
  /** For tests: awaited at each named point of a run. */
  onPoint?(point: FlowPoint): Promise<void> | void;
  readonly runtime?: Runtime;
}

/** Where a run stands. */
export type RunState<Output = unknown> =
  | { readonly status: "DONE"; readonly run: RunRecord; readonly output: Output }
  | { readonly status: "RUNNING" | "WAITING"; readonly run: RunRecord }
  | { readonly status: "FAILED"; readonly run: RunRecord; readonly error: RunError };

/** Why a run ended. */
export interface RunError {
  /** Also names the effects in doubt. */
  readonly message: string;
  /** Effects that were in doubt when the run ended; absent for none. */
  readonly inDoubt?: readonly Omit<OpenEffect, "inDoubt">[];
}

/** Starts runs, works on them, and takes people's decisions. */
export interface Flows {
  /**
   * Records a run; a worker takes it up. The same id and input again is the same run. With `tx` the
   * run is recorded in that transaction, e.g. of the event that it answers.
   *
   * @throws {NeverTwiceError} PAYLOAD_MISMATCH when the id is taken by another flow or input,
   * KEY_EXPIRED when that run was purged, FLOW_UNKNOWN, INTENT_INVALID, UNSUPPORTED_ARGUMENT.
   */
  start<Input, Output>(
    flow: Flow<Input, Output>,
    id: RunId,
    input: NoInfer<Input>,
    tx?: Transaction,
  ): Promise<RunState<Output>>;
  /** Starts the run and works on it here until it ends or has to wait. */
  run<Input, Output>(
    flow: Flow<Input, Output>,
    id: RunId,
    input: NoInfer<Input>,
  ): Promise<RunState<Output>>;
  /** @throws {NeverTwiceError} RUN_NOT_FOUND. */
  read(id: RunId): Promise<RunState>;
  /** Acts and undos that the run has no answer of, as their operations stand now: which are in doubt, which are settled since. */
  openEffects(id: RunId): Promise<readonly OpenEffect[]>;
  /** Works on runs that are due, at most `limit` (default 100) at once; returns how many. */
  workOnce(options?: { readonly limit?: number }): Promise<number>;
  /**
   * Works on runs, new ones and those that other processes left behind, until the signal aborts;
   * then resolves when the passes under way have ended. Looks every `everyMs` (default 1 s) at most,
   * and sooner when a run of this process is due.
   */
  work(options: {
    readonly signal: AbortSignal;
    readonly everyMs?: number;
    readonly concurrency?: number;
  }): Promise<void>;
  /** Approvals that can be decided, newest first: those of runs that go on, while there is time. */
  openApprovals(options?: {
    readonly tenant?: string;
    readonly limit?: number;
  }): Promise<readonly ApprovalRecord[]>;
  /** Records a person's decision about an approval, and wakes its run. */
  decide(decision: ApprovalDecision): Promise<ApprovalRecord>;
  /** Lets a waiting run look again now. @throws {NeverTwiceError} RUN_NOT_FOUND. */
  wake(id: RunId): Promise<RunState>;
  /** Takes a FAILED run up again where it stopped. @throws {NeverTwiceError} RUN_NOT_FOUND. */
  retry(id: RunId): Promise<RunState>;
  /** Empties ended runs past their retention; returns how many. */
  purge(options?: { readonly limit?: number }): Promise<number>;
}

/** How long ended runs are kept. */
const runRetentionMs = days(45);

/**
 * Creates a runner.
 *
 * @throws {NeverTwiceError} CONFIGURATION_INVALID.
 *
 * @example
 * const flows = createFlows({ store, guard, flows: [refundTicket] });
 * await flows.start(refundTicket, { tenant: "acme", runId: `ticket-${ticket.id}` }, ticket);
 * await flows.work({ signal });
 */
export function createFlows(options: FlowsOptions): Flows {
  const env = environmentOf(options);
  const { store } = env;
  const known = registered(options.flows);
  const versions = [...known.values()].map(({ name, version }) => ({ flow: name, version }));
  const retentionMs = options.retentionMs ?? runRetentionMs;
  const claim = (limit: number, run: RunId | null): Promise<readonly RunRecord[]> =>
    store.runs.claim({ flows: versions, run, leaseMs: env.leaseMs, limit });
  const execute = async (run: RunRecord): Promise<void> => {
    const found = known.get(nameOf(run.flow, run.version));
    if (found !== undefined) await executeRun(env, found, run);
  };
  const start: Flows["start"] = async (flow, id, input, tx) => {
    checkRegistered(known, flow);
    return stateOf(await startRun(tx?.runs ?? store.runs, flow, id, input, retentionMs)) as never;
  };
  const read = async (id: RunId): Promise<RunState> => {
    const run = await store.runs.read(id);
    if (run === undefined) throw notFound(id);
    return stateOf(run);
  };
  const changed = async (
    id: RunId,
    change: (id: RunId) => Promise<RunRecord | undefined>,
  ): Promise<RunState> => {
    const run = await change(id);
    return run === undefined ? read(id) : stateOf(run);
  };
  return {
    start,
    run: async (flow, id, input) => {
      await start(flow, id, input);
      const run = await takeRun(env, id, { claim, known });
      if (run !== undefined) await execute(run);
      return (await read(id)) as never;
    },
    read,
    openEffects: async (id) => {
      await read(id);
      return readOpenEffects(store, id, () => false);
    },
    workOnce: async ({ limit = 100 } = {}) => {
      const runs = await claim(limit, null);
      await Promise.all(runs.map(execute));
      return runs.length;
    },
    work: (work) => keepWorking(env, { claim, execute, versions }, work),
    openApprovals: ({ tenant, limit = 100 } = {}) =>
      store.runs.listApprovals({
        tenant: tenant ?? null,
        runId: null,
        status: "OPEN",
        after: null,
        limit,
      }),
    decide: (decision) => decideApproval(store, decision),
    wake: (id) => changed(id, (run) => store.runs.wake(run)),
    retry: (id) => changed(id, (run) => store.runs.retry(run)),
    purge: ({ limit = 1000 } = {}) => store.runs.purge({ limit }),
  };
}

function environmentOf(options: FlowsOptions): FlowEnvironment {
  const { leaseMs = 60_000, maxAttempts = 10, retentionMs = runRetentionMs } = options;
  for (const [name, value] of Object.entries({ leaseMs, maxAttempts, retentionMs })) {
    if (isSpan(value) && value > 0) continue;
    throw invalid(`\`${name}\` must be a number above zero, not ${String(value)}.`);
  }
  return {
    store: options.store,
    guard: options.guard,
    runtime: options.runtime ?? systemRuntime,
    leaseMs,
    maxAttempts,
    source: options.source ?? "nevertwice",
    tools: new Map((options.tools ?? []).map((tool) => [tool.name, tool])),
    warn: (message) => options.onWarning?.(message),
    reach: (point) => options.onPoint?.(point),
  };
}

function registered(flows: readonly Flow<never>[]): ReadonlyMap<string, Flow<never>> {
  const known = new Map<string, Flow<never>>();
  for (const flow of flows) {
    const name = nameOf(flow.name, flow.version);
    if (known.has(name)) throw invalid(`Two flows are called ${name}: raise one's version.`);
    known.set(name, flow);
  }
  return known;
}

function nameOf(flow: string, version: number): string {
  return `${flow}, version ${version}`;
}

function checkRegistered(known: ReadonlyMap<string, unknown>, flow: Flow<never>): void {
  const name = nameOf(flow.name, flow.version);
  if (known.get(name) === flow) return;
  throw new NeverTwiceError(
    "FLOW_UNKNOWN",
    `The flow ${name} is not among the \`flows\` of this runner, so nothing here could work on it. Nothing was recorded.`,
    { details: { flow: flow.name, version: flow.version } },
  );
}

async function startRun(
  runs: Pick<Transaction["runs"], "start">,
  flow: Flow<never>,
  id: RunId,
  input: unknown,
  retentionMs: number,
): Promise<RunRecord> {
  const tenant = checkedId(id.tenant, "tenant");
  const runId = checkedId(id.runId, "runId");
  const { name, version } = flow;
  const text = canonicalJson(input);
  const run = await runs.start({ tenant, runId, flow: name, version, input: text, retentionMs });
  if (run.flow !== name) throw taken(run, `another flow, ${run.flow}`);
  if (run.purgedAtMs !== null) {
    throw new NeverTwiceError(
      "KEY_EXPIRED",
      `The run ${runId} ended so long ago that its steps are no longer stored. It was not run again, and the same call will give this same answer.`,
      { details: { runId } },
    );
  }
  if (run.input !== text) throw taken(run, "another input");
  return run;
}

function taken({ runId, flow }: RunRecord, by: string): NeverTwiceError {
  return new NeverTwiceError(
    "PAYLOAD_MISMATCH",
    `The run ${runId} is already recorded with ${by}. This call started nothing and changed nothing. Another matter needs another run id.`,
    { details: { runId, flow } },
  );
}

function stateOf(run: RunRecord): RunState {
  switch (run.status) {
    case "DONE":
      return {
        status: "DONE",
        run,
        output: run.output === null ? undefined : readValue(run.output),
      };
    case "FAILED":
      return {
        status: "FAILED",
        run,
        error: JSON.parse(run.error ?? '{"message":"no reason is stored"}') as RunError,
      };
    case "RUNNING":
    case "WAITING":
      return { status: run.status, run };
  }
}

function notFound({ tenant, runId }: RunId): NeverTwiceError {
  return new NeverTwiceError("RUN_NOT_FOUND", `No run ${runId} is recorded for tenant ${tenant}.`, {
    details: { tenant, runId },
  });
}

function invalid(message: string): NeverTwiceError {
  return new NeverTwiceError("CONFIGURATION_INVALID", message);
}

/** About a second, all in all. */
const maxTakes = 15;
const takeWaits = { firstMs: 2, lastMs: 100 };

/**
 * Claims the run if it is due. A claim passes over a row that a wake-up or another start holds for a
 * moment, so that getting none is no evidence that another process works on it.
 */
async function takeRun(
  env: FlowEnvironment,
  id: RunId,
  by: {
    claim(limit: number, id: RunId): Promise<readonly RunRecord[]>;
    readonly known: ReadonlyMap<string, unknown>;
  },
): Promise<RunRecord | undefined> {
  for (let takes = 1; ; takes += 1) {
    const [run] = await by.claim(1, id);
    if (run !== undefined || takes === maxTakes) return run;
    const seen = await env.store.runs.read(id);
    if (seen === undefined || !by.known.has(nameOf(seen.flow, seen.version))) return undefined;
    if (seen.dueAtMs === null || seen.dueAtMs > seen.readAtMs) return undefined;
    await pause(env.runtime, spread(env.runtime, backOffMs(takeWaits, takes)));
  }
}

interface Crew {
  claim(limit: number, run: null): Promise<readonly RunRecord[]>;
  execute(run: RunRecord): Promise<void>;
  readonly versions: readonly { flow: string; version: number }[];
}

async function keepWorking(
  env: FlowEnvironment,
  crew: Crew,
  options: {
    readonly signal: AbortSignal;
    readonly everyMs?: number;
    readonly concurrency?: number;
  },
): Promise<void> {
  const { signal, everyMs = 1000, concurrency = 10 } = options;
  const underWay = new Set<Promise<void>>();
  const begin = (run: RunRecord): void => {
    const pass = crew
      .execute(run)
      .catch((error: unknown) =>
        env.warn(`a pass over run ${run.runId} broke off: ${errorText(error)}`),
      )
      .finally(() => underWay.delete(pass));
    underWay.add(pass);
  };
  while (!signal.aborted) {
    const waitMs = await takeDue(env, crew, concurrency - underWay.size, begin, everyMs);
    // A pass that ends makes room, and may have made another run due.
    const room = new AbortController();
    const rested = pause(env.runtime, waitMs, AbortSignal.any([signal, room.signal]));
    await Promise.race([rested, ...underWay]);
    room.abort();
  }
  await Promise.all(underWay);
}

/** Begins what is due; returns how long to rest. */
async function takeDue(
  env: FlowEnvironment,
  crew: Crew,
  limit: number,
  begin: (run: RunRecord) => void,
  everyMs: number,
): Promise<number> {
  try {
    if (limit <= 0) return everyMs;
    const runs = await crew.claim(limit, null);
    runs.forEach(begin);
    if (runs.length === limit) return 0;
    const nextMs = await env.store.runs.nextDueInMs(crew.versions);
    return spread(env.runtime, Math.min(everyMs, Math.max(nextMs ?? everyMs, 10)));
  } catch (error) {
    // The store is away; the next round may find it back.
    env.warn(`runs could not be taken up: ${errorText(error)}`);
    return spread(env.runtime, everyMs);
  }
}
