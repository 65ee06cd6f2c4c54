/**
 * Effects in the same database: claim, effect, DONE and outbox rows commit in one transaction, so
 * that no doubt can arise (R24).
 *
 * @module
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { canonicalJson } from "../base/canonical-json.ts";
import { days, minutes } from "../base/duration.ts";
import { NeverTwiceError, unreachable } from "../base/errors.ts";
import { type Runtime, systemRuntime } from "../base/runtime.ts";
import {
  type Outcome,
  inProgress,
  keyExpired,
  needsReview,
  operationFailed,
  outcomeOf,
  payloadMismatch,
  recordCorrupt,
} from "../guard/answers.ts";
import { claimParams } from "../guard/claim.ts";
import { defineTool } from "../guard/define-tool.ts";
import type { GuardEnvironment } from "../guard/environment.ts";
import { type PreparedCall, type RunContext, prepare } from "../guard/prepare.ts";
import { recordIntent } from "../guard/record-intent.ts";
import { resultDigest, storeResult } from "../guard/serialise.ts";
import { type Horizon, checkKeySecret, checkRetention } from "../guard/start-up.ts";
import type { BusinessArguments, FieldName, Fields, IntentSource, Tool } from "../guard/tool.ts";
import type { Intent, Scope } from "../intent/intent.ts";
import { decide } from "../ledger/decide.ts";
import type { OperationRecord } from "../ledger/record.ts";
import type { EffectStore, Transaction } from "../ledger/transaction.ts";
import { type OutgoingEvent, emit } from "./emit.ts";

/** What the effect is given. */
export interface TransactCall<Driver> {
  readonly tenant: string;
  /** The operation's key. */
  readonly key: string;
  /** The open transaction: every write of the effect goes through it. */
  readonly tx: Transaction<Driver>;
  /**
   * Writes an event that commits with the effect. Default id: made of the key, the type, and from the
   * second event of a type on its number.
   */
  readonly emit: (event: TransactEvent) => Promise<void>;
}

/** An event of a transaction. */
export type TransactEvent = Omit<OutgoingEvent, "tenant" | "id" | "source"> & {
  readonly id?: string;
  readonly source?: string;
};

/** A tool whose effect is in our own database. */
export interface TransactTool<
  Args extends Fields,
  Field extends FieldName<Args>,
  Result,
  Driver = unknown,
> {
  readonly name: string;
  readonly operation?: string;
  readonly scope?: Scope;
  readonly arguments: StandardSchemaV1<unknown, Args>;
  readonly intent: (source: IntentSource<Args>) => Intent;
  readonly businessArguments: BusinessArguments<Args, Field>;
  /** May run again after a deadlock: it must have no effect outside the transaction. */
  readonly execute: (
    args: Readonly<Pick<Args, NoInfer<Field>>>,
    call: TransactCall<Driver>,
  ) => Promise<Result> | Result;
}

/** A registered transact tool. */
export interface RegisteredTransactTool<Result, Driver> {
  readonly name: string;
  readonly tool: Tool;
  readonly execute: (args: Fields, call: TransactCall<Driver>) => Promise<Result> | Result;
}

/**
 * Declares a tool for {@link createTransact}. It can't be passed to `guard.run`: that would send
 * from inside a transaction.
 *
 * @throws {NeverTwiceError} TOOL_INVALID naming the part.
 */
export function defineTransactTool<
  Args extends Fields,
  Field extends FieldName<Args>,
  Result,
  Driver = unknown,
>(parts: TransactTool<Args, Field, Result, Driver>): RegisteredTransactTool<Result, Driver> {
  const { execute, ...declared } = parts;
  if (typeof execute !== "function") {
    throw new NeverTwiceError(
      "TOOL_INVALID",
      `The tool ${parts.name} can't be registered: \`execute\` is missing.`,
    );
  }
  const tool = defineTool({
    ...declared,
    kind: "non-idempotent",
    // Nothing is sent, so nothing can be on its way: the bounds only have to be there.
    contract: { timeoutMs: minutes(1), flightMs: 1 },
    execute: () => {
      throw new Error("a transact tool runs in a transaction only");
    },
  });
  return Object.freeze({
    name: tool.name,
    tool,
    execute: execute as unknown as RegisteredTransactTool<Result, Driver>["execute"],
  });
}

/** Options of {@link createTransact}. */
export interface TransactOptions<Driver> {
  readonly store: EffectStore<Driver>;
  /** The guard's, where it has one. */
  readonly keySecret?: string | Uint8Array;
  /** How long outcomes are kept, in milliseconds; the guard has its own. Default 45 d. */
  readonly retentionMs?: number;
  /** How late a duplicate may come: what `retentionMs` must cover (R27). */
  readonly horizon?: Horizon;
  readonly runtime?: Runtime;
}

/** Runs a tool's effect once per intent. */
export interface Transact<Driver> {
  /** How long outcomes are kept, in milliseconds. */
  readonly retentionMs: number;
  <Result>(
    tool: RegisteredTransactTool<Result, Driver>,
    args: unknown,
    context: Omit<RunContext, "signal" | "onInProgress">,
  ): Promise<Outcome<Result>>;
}

/**
 * Returns `transact`. The claim, the effect, DONE and the events commit together; whatever the
 * effect throws rolls all of it back, leaves nothing, and is thrown on. A duplicate waits for the
 * transaction under way, and gets its stored outcome.
 *
 * @throws {NeverTwiceError} as `guard.run` before the claim; PAYLOAD_MISMATCH, KEY_EXPIRED,
 * OPERATION_FAILED, NEEDS_REVIEW, IN_PROGRESS from the stored row; TRANSACTION_OPEN inside another
 * transaction; STORE_UNAVAILABLE: after a lost answer to the commit the same call finds out.
 * CONFIGURATION_INVALID, when it is created, for options that can't hold.
 */
export function createTransact<Driver>(options: TransactOptions<Driver>): Transact<Driver> {
  const env: GuardEnvironment = {
    store: options.store,
    runtime: options.runtime ?? systemRuntime,
    keySecret: options.keySecret,
    retentionMs: options.retentionMs ?? days(45),
    warn: () => {},
    reach: () => {},
  };
  checkKeySecret(env.keySecret);
  checkRetention(env.retentionMs, options.horizon ?? {});
  const transact = async (
    tool: RegisteredTransactTool<unknown, Driver>,
    args: unknown,
    context: Omit<RunContext, "signal" | "onInProgress">,
  ): Promise<Outcome<never>> => {
    const { guarded } = tool.tool;
    if (guarded === null) throw new TypeError("a transact tool is always guarded");
    const call = await prepare(env, tool.tool, guarded, args, context);
    const outcome = await options.store.transaction((tx) => runInside(env, tool, call, tx));
    return outcome as Outcome<never>;
  };
  return Object.assign(transact, { retentionMs: env.retentionMs });
}

async function runInside<Driver>(
  env: GuardEnvironment,
  tool: RegisteredTransactTool<unknown, Driver>,
  call: PreparedCall,
  tx: Transaction<Driver>,
): Promise<Outcome<unknown>> {
  await recordIntent(tx.operations, call);
  const record = await tx.operations.claim({ ...claimParams(env, call), arm: true });
  const decision = decide(record, call);
  switch (decision.kind) {
    case "execute":
      return executeInside(tool, call, record, tx);
    case "replay":
      return outcomeOf(record, { replayed: true });
    case "mismatch":
      throw payloadMismatch(record, call);
    case "expired":
      throw keyExpired(record);
    case "failed":
      throw operationFailed(record);
    case "review":
      throw needsReview(record);
    case "corrupt":
      throw recordCorrupt(record, decision.reason);
    case "in-progress":
    case "take-over":
      // Another tool of the same operation is at work outside; its outcome is not ours to settle.
      throw inProgress(record);
    default:
      return unreachable(decision);
  }
}

async function executeInside<Driver>(
  { execute }: RegisteredTransactTool<unknown, Driver>,
  call: PreparedCall,
  record: OperationRecord,
  tx: Transaction<Driver>,
): Promise<Outcome<unknown>> {
  const { tenant, key } = record;
  const emitted = new Map<string, number>();
  const value = await execute(call.arguments.value, {
    tenant,
    key,
    tx,
    emit: async (event) => {
      const { source = "nevertwice", type } = event;
      const number = (emitted.get(type) ?? 0) + 1;
      emitted.set(type, number);
      const id = event.id ?? (number === 1 ? `${key}:${type}` : `${key}:${type}:${number}`);
      await emit(tx.outbox, { atMs: record.readAtMs, ...event, tenant, source, id });
    },
  });
  const stored = storeResult(value, 256 * 1024);
  const done = await tx.operations.complete({
    tenant,
    key,
    ...stored,
    providerId: null,
    event: "operation.completed",
    detail: canonicalJson({ result: resultDigest(stored) }),
  });
  if (done === undefined) throw inProgress(record);
  return outcomeOf(done, { replayed: false, live: { value } });
}
