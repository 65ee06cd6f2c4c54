/**
 * What an operator decides about a tool of an upstream server. Spans in milliseconds.
 *
 * @module
 */
import type { AfterError } from "../../guard/contract.ts";
import type { ToolKind } from "../../guard/tool.ts";
import type { Json } from "../../base/plain-json.ts";
import type { Scope } from "../../intent/intent.ts";
import type { WireKeyShape } from "../../intent/wire-key.ts";
import type { Mode } from "../../ledger/decide.ts";
import type { NormaliserName } from "./normalisers.ts";
import type { Template } from "./template.ts";

/** Where an intent may come from, in the order in which it is looked for. */
export const intentSources = ["meta", "header", "parameter", "template"] as const;
export type IntentSourceName = (typeof intentSources)[number];

/** Where a policy stands, for messages: `nevertwice.yaml:12`. */
export type Place = string;

/** What a tool that goes straight through needs: nothing but its kind. */
export interface PassPolicy {
  readonly upstream: string;
  readonly tool: string;
  readonly place: Place;
  readonly kind: Exclude<ToolKind, "non-idempotent">;
  /** True: the operator knows better than the server's hints. */
  readonly overrideHints: boolean;
}

/** How the key travels to the upstream server. */
export type KeyTravel =
  | { readonly by: "argument"; readonly name: string }
  | { readonly by: "meta"; readonly name: string }
  | { readonly by: "header"; readonly name: string };

/** How the upstream server treats keys. Absent facts are not leaned on (R20). */
export interface KeyPolicy {
  readonly travel: KeyTravel;
  readonly shape: WireKeyShape;
  readonly retentionMs?: number;
  readonly atomic: boolean;
  readonly afterError: AfterError;
  readonly replaysDeclines: boolean;
}

/** An `isError` result that proves that no effect exists and none will. All parts must fit. */
export interface DefinitiveRule {
  readonly text?: RegExp;
  readonly pointer?: string;
  readonly equals?: Json;
}

/** How another tool of the same server finds the effect. */
export interface ReconcilePolicy {
  readonly tool: string;
  readonly arguments: JsonTemplate;
  /** The list of candidates in the result; absent: the result itself is the only one. */
  readonly items?: string;
  /** Pointers into a candidate with what must stand there, or `text` that must hold it. */
  readonly match: readonly { readonly pointer: string; readonly equals: Template }[];
  readonly contains?: Template;
  readonly status?: {
    readonly pointer: string;
    readonly succeeded: readonly Json[];
    readonly pending: readonly Json[];
    readonly failed: readonly Json[];
  };
  readonly id?: string;
  readonly lagMs?: number;
  readonly authoritative: boolean;
  readonly timeoutMs?: number;
}

/** JSON whose texts are templates. */
export type JsonTemplate =
  Template | null | boolean | number | readonly JsonTemplate[] | JsonTemplateObject;
export interface JsonTemplateObject {
  readonly [name: string]: JsonTemplate;
}

/** A person is asked before anything is sent. */
export interface ApprovalPolicy {
  readonly argument: string;
  readonly above: number;
}

/** The policy of a guarded tool. */
export interface GuardPolicy {
  readonly upstream: string;
  readonly tool: string;
  readonly place: Place;
  readonly kind: "non-idempotent";
  readonly overrideHints: boolean;
  readonly operation?: string;
  readonly scope: Scope;
  readonly intent?: Template;
  readonly intentFrom: readonly IntentSourceName[];
  readonly businessArguments: ReadonlyMap<string, readonly NormaliserName[]>;
  /** Shown to the model; neither hashed nor sent (R3). */
  readonly freeText: readonly string[];
  /** Sent as given here, and hidden from the model. */
  readonly fixed: ReadonlyMap<string, JsonTemplate>;
  readonly key?: KeyPolicy;
  readonly mode: Mode;
  readonly timeoutMs: number;
  readonly flightMs: number;
  readonly sendWithinMs?: number;
  readonly marginMs?: number;
  readonly maxResultBytes?: number;
  readonly giveUpAfterMs?: number;
  readonly account?: string;
  /** How long a duplicate waits for the outcome before it is told to come again. */
  readonly waitMs: number;
  readonly definitive: readonly DefinitiveRule[];
  readonly reconcile?: ReconcilePolicy;
  readonly lookAlike?: {
    readonly rule: "warn" | "hold";
    readonly windowMs: number;
    readonly fields?: readonly string[];
  };
  readonly approval?: ApprovalPolicy;
  /** What a caller with other arguments is told of the recorded ones. */
  readonly mismatch: "names" | "values";
  /** True: the person in front of the agent's client may decide what waits for review. */
  readonly elicit: boolean;
}

export type ToolPolicy = PassPolicy | GuardPolicy;

/** `shop/issue_refund`: how a tool is called in a policy, a ledger and a log, whatever its shown name. */
export function policyName(policy: { readonly upstream: string; readonly tool: string }): string {
  return `${policy.upstream}/${policy.tool}`;
}
