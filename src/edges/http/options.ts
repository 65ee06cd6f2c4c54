/**
 * What an application says about its routes, and what is refused at start-up.
 *
 * @module
 */
import { isSpan } from "../../base/duration.ts";
import { NeverTwiceError } from "../../base/errors.ts";
import type { Transact } from "../../effects/transact.ts";
import type { Contract, FoundEffect, LookUpQuestion } from "../../guard/contract.ts";
import type { Guard } from "../../guard/create-guard.ts";
import type { RunContext } from "../../guard/prepare.ts";
import type { LookAlikeRule } from "../../guard/tool.ts";
import type { KeyForms } from "./key-header.ts";
import type { ProblemChanges } from "./problems.ts";
import type { FingerprintRule, HttpArguments } from "./request-body.ts";
import { neverReplayed } from "./stored-response.ts";

/** What the edge needs of a guard. */
export type EdgeGuard = Pick<Guard, "run" | "retentionMs">;

/** Options of {@link createHttpEdge}. `Context` is what the adapter's framework hands to a handler. */
export interface HttpOptions<Context> {
  /** The guard, or how to get it once it is there: its sweeper wants the routes' tools first. */
  readonly guard: EdgeGuard | (() => EdgeGuard);
  /** Whose data this request is about. There is no default: a service with one tenant names it here. */
  readonly tenant: (request: Request, context: Context) => string | Promise<string>;
  /**
   * Who is asking, as the application has authenticated them. Two principals never share a key; what
   * this throws is the framework's to answer.
   */
  readonly principal: (request: Request, context: Context) => string | Promise<string>;
  /** Where the policy is published: a URL, or a path of this service that answers with `policy`. */
  readonly policyUrl: string;
  /**
   * How long the policy says that settled operations are kept, in milliseconds. Default: what the guard
   * says, and nothing else is taken. Give it only where the policy is asked for before the guard is there.
   */
  readonly retentionMs?: number;
  /** Default `quoted-or-bare`. */
  readonly keyForms?: KeyForms;
  /** Other statuses, types or titles of the problems. */
  readonly problems?: ProblemChanges;
}

/** How an application finds out what became of a request whose outcome is unknown. */
export interface HttpLookUp {
  /** See `LookUpContract.find`; an effect's `response` is what the handler would have answered. */
  readonly find: (
    question: LookUpQuestion<HttpArguments>,
  ) => Promise<HttpLookUpAnswer> | HttpLookUpAnswer;
  readonly lagMs?: number;
  readonly authoritative?: boolean;
  readonly timeoutMs?: number;
}

/** The three answers of a look-up. */
export type HttpLookUpAnswer =
  | { readonly answer: "found"; readonly effects: readonly FoundResponse[] }
  | { readonly answer: "absent"; readonly final?: boolean }
  | { readonly answer: "unsure"; readonly reason?: string };

/** One effect that a look-up found, with the response that tells of it. */
export type FoundResponse = Omit<FoundEffect<never>, "result"> & { readonly response: Response };

/** What the handler and whatever is behind it promise. Default mode: `strict`. */
export interface HttpContract extends Pick<
  Contract<HttpArguments, never>,
  | "mode"
  | "key"
  | "timeoutMs"
  | "flightMs"
  | "sendWithinMs"
  | "marginMs"
  | "leaseMs"
  | "renewLease"
  | "maxAttempts"
  | "giveUpAfterMs"
> {
  readonly lookUp?: HttpLookUp;
}

/** Options of a route. */
export interface RouteOptions<Context> {
  /** Part of every key, so it is for ever; unique in the guard. */
  readonly name: string;
  /** `optional`: a request without a key runs unguarded, as often as it comes. */
  readonly key: "required" | "optional";
  readonly contract: HttpContract;
  readonly fingerprint?: FingerprintRule;
  /**
   * Looks at a request before anything is recorded. A response is the answer, and the key stays free:
   * the place for validation.
   */
  readonly check?: (
    request: Request,
    context: Context,
  ) => Response | undefined | Promise<Response | undefined>;
  /** Header fields that are stored and given again, beside the default ones. */
  readonly replayHeaders?: readonly string[];
  /**
   * Whether an answer of this status settles the operation. Default: every status below 500 but 408, 425
   * and 429: they ask to come again, so none of them can be the last word under a key.
   */
  readonly storeStatus?: (status: number) => boolean;
  /** A larger request is refused with 413. Default 1 MiB. */
  readonly maxBodyBytes?: number;
  /** A larger body of an answer is not stored. Default 256 KiB; with `transact` 32 KiB at most. */
  readonly maxResponseBytes?: number;
  /** What a repetition gets while the first is under way: 409 (default), or the outcome after a wait. */
  readonly onInProgress?: RunContext["onInProgress"];
  readonly lookAlike?: LookAlikeRule<"method" | "path" | "query" | "body">;
  /**
   * What `createTransact` returned: claim, effect and answer commit in one transaction of the
   * application's own database, and `operation.transaction` is where the handler writes (R24). A
   * handler that throws, or answers with a status that is not stored, then leaves nothing; of one that
   * declares a refusal only that is recorded. It keeps outcomes as long as it was created to, and the
   * policy says so for this route.
   */
  readonly transact?: Transact<unknown>;
}

/** A transaction keeps results of up to 256 KiB; this leaves room for the spelling in JSON. */
const maxTransactBytes = 32 * 1024;

const comeAgain = new Set([408, 425, 429]);

/** The default of `storeStatus`. */
export function settlesByDefault(status: number): boolean {
  return status < 500 && !comeAgain.has(status);
}

/** The largest body of an answer that the route stores. */
export function maxResponseBytesOf(options: RouteOptions<never>): number {
  const { maxResponseBytes, transact } = options;
  return maxResponseBytes ?? (transact === undefined ? 256 * 1024 : maxTransactBytes);
}

/** Refuses what the types refuse, for plain JavaScript too. */
export function checkHttpOptions(options: HttpOptions<never>): void {
  for (const part of ["tenant", "principal"] as const) {
    if (typeof options[part] !== "function") {
      throw invalid(
        `\`${part}\` is missing: a function that says it for each request. Without it one caller's key could bring another caller's answer`,
      );
    }
  }
  const { guard, policyUrl } = options;
  if (typeof guard !== "function" && typeof guard?.run !== "function")
    throw invalid("`guard` is missing");
  if (typeof policyUrl !== "string" || !/^(?:https?:\/\/|\/)[^\s<>"]*$/.test(policyUrl))
    throw invalid("`policyUrl` must be an http(s) URL or a path that begins with /");
  if (typeof guard !== "function") guardOf(options);
}

/**
 * The guard, once it is there.
 *
 * @throws {NeverTwiceError} CONFIGURATION_INVALID when it keeps outcomes for another time than is promised.
 */
export function guardOf({ guard: given, retentionMs }: HttpOptions<never>): EdgeGuard {
  const guard = typeof given === "function" ? given() : given;
  const kept = guard?.retentionMs;
  if (!isSpan(kept) || kept === 0) throw invalid("`guard` isn't there yet, or is none");
  if (retentionMs !== undefined && retentionMs !== kept)
    throw invalid(
      `\`retentionMs\` promises ${retentionMs} ms, and the guard keeps outcomes for ${kept} ms`,
    );
  return guard;
}

/**
 * How long settled operations are kept.
 *
 * @throws {NeverTwiceError} CONFIGURATION_INVALID when neither the options nor a guard say so.
 */
export function retentionMsOf(options: HttpOptions<never>): number {
  const { guard, retentionMs } = options;
  const isThere = typeof guard !== "function" || guard() !== undefined;
  return isThere || retentionMs === undefined ? guardOf(options).retentionMs : retentionMs;
}

/** Refuses a route that would not do what it says. */
export function checkRouteOptions(options: RouteOptions<never>): void {
  const { name, key, fingerprint = {}, replayHeaders = [] } = options;
  if (key !== "required" && key !== "optional")
    throw invalid(`the route ${String(name)} needs \`key: "required"\` or \`key: "optional"\``);
  if (fingerprint.fields?.length === 0 || (fingerprint.fields && fingerprint.pick))
    throw invalid(
      `the fingerprint of the route ${name} needs at least one field, and either \`fields\` or \`pick\``,
    );
  const banned = replayHeaders.find((header) => neverReplayed.includes(header.toLowerCase()));
  if (banned !== undefined)
    throw invalid(
      `the route ${name} can't replay ${banned}: it belongs to one exchange or one caller`,
    );
  if (options.transact !== undefined) checkTransactRoute(options, options.transact);
  for (const part of ["maxBodyBytes", "maxResponseBytes"] as const) {
    const value = options[part];
    if (value !== undefined && (!isSpan(value) || value === 0))
      throw invalid(`\`${part}\` of the route ${name} must be a number above zero`);
  }
}

function checkTransactRoute(options: RouteOptions<never>, transact: Transact<unknown>): void {
  const { name, lookAlike } = options;
  if (maxResponseBytesOf(options) > maxTransactBytes)
    throw invalid(
      `the route ${name} can store at most ${maxTransactBytes} bytes with \`transact\``,
    );
  // The policy publishes it, and a promise has to come from whoever keeps it.
  if (!isSpan(transact.retentionMs) || transact.retentionMs === 0)
    throw invalid(
      `\`transact\` of the route ${name} doesn't say how long it keeps outcomes (\`retentionMs\`): hand in what \`createTransact\` returned`,
    );
  if (lookAlike !== undefined)
    throw invalid(
      `the route ${name} can't have \`lookAlike\` with \`transact\`: nothing is looked for inside a transaction`,
    );
}

function invalid(reason: string): NeverTwiceError {
  return new NeverTwiceError(
    "CONFIGURATION_INVALID",
    `The HTTP edge can't be set up: ${reason}. Nothing was recorded and nothing was run.`,
    { details: { reason } },
  );
}
