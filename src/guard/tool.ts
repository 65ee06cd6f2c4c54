/**
 * Tools: what an agent may call, declared once.
 *
 * @module
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Json, JsonObject } from "../base/plain-json.ts";
import type { BusinessFields } from "../intent/business-arguments.ts";
import type { Intent, Scope } from "../intent/intent.ts";
import type { Contract, Terms } from "./contract.ts";

/**
 * - `read-only`: changes nothing; goes straight through.
 * - `convergent`: running it twice leaves the world as running it once; goes straight through.
 * - `non-idempotent`: guarded.
 *
 * `ensure` and `transact` will join here.
 */
export type ToolKind = "read-only" | "convergent" | "non-idempotent";

type Fields = Readonly<Record<string, unknown>>;
type FieldName<Args> = Extract<keyof Args, string>;

/** What every tool has. */
interface ToolBase<Args extends Fields> {
  /** Unique in a guard; part of the fingerprint. */
  readonly name: string;
  /** Any Standard Schema validator (zod, valibot, arktype …). Its output is what is hashed and sent. */
  readonly arguments: StandardSchemaV1<unknown, Args>;
}

/** What a call of a tool that goes straight through is told. */
export interface PassCall {
  readonly tenant: string;
  readonly signal: AbortSignal;
}

/** A tool without a doubled effect to fear. It touches no row. */
export interface PassTool<Args extends Fields, Result> extends ToolBase<Args> {
  readonly kind: "read-only" | "convergent";
  execute(args: Args, call: PassCall): Promise<Result> | Result;
  readonly intent?: never;
  readonly businessArguments?: never;
  readonly contract?: never;
}

/** What one armed attempt is told. There is no attempt number in it: requests must not differ. */
export interface ExecuteCall {
  readonly tenant: string;
  /** The operation's key. Use it to tag the resource, on every attempt. */
  readonly key: string;
  /** The key in the provider's shape. Send it on every attempt. */
  readonly wireKey: string;
  /** Aborts at the time-out, when the caller withdraws, and before a lease that can't be renewed ends. */
  readonly signal: AbortSignal;
  /**
   * Call it in the very turn of the socket write (R10). Throws when the send would be too late; then
   * nothing may be written.
   */
  readonly beforeWrite: () => void;
  /** How long after arming `beforeWrite` lets a send go, in milliseconds: no later one is worth a wait. */
  readonly sendWithinMs: number;
  /**
   * Makes the error to throw when it is a fact that nothing was written to the socket (R13). A fact,
   * not a guess from an error's code.
   */
  readonly notSent: (cause?: unknown) => Error;
}

/** What an intent may be made of: arguments that fit the schema, and what the orchestrator knows. */
export interface IntentSource<Args> {
  readonly args: Args;
  /** `context.trusted` of the call: ids that the orchestrator vouches for. */
  readonly trusted: Readonly<Record<string, Json>>;
}

/** The rule for operations that look alike but have another intent (R26). */
export interface LookAlikeRule<Field extends string> {
  /** `warn` tells the caller; `hold` asks a person before anything is sent. */
  readonly rule: "warn" | "hold";
  readonly windowMs: number;
  /** What they share. Default: all business arguments. */
  readonly fields?: readonly Field[];
}

/** A proved effect, for who undoes it. */
export interface ProvedEffect<Args = Fields, Result = unknown> {
  readonly tenant: string;
  readonly key: string;
  /** The stored business arguments. */
  readonly arguments: Args;
  /** The stored result; undefined when it could not be stored. */
  readonly result: Result | undefined;
  readonly providerId: string | null;
}

/** How an effect is undone: by another guarded tool, as an intent of its own (R30). */
export interface Compensation<Args = Fields, Result = unknown> {
  readonly tool: Tool;
  /** The arguments of the tool that undoes. */
  readonly arguments: (effect: ProvedEffect<Args, Result>) => unknown;
}

/** Declared business arguments: names, or names with a normaliser (`true` for none). */
export type BusinessArguments<Args, Field extends FieldName<Args>> =
  | readonly [Field, ...Field[]]
  | { readonly [Name in Field]: true | ((value: Args[Name]) => Args[Name]) };

/** A tool that must not run twice. Each part is required: none of them has a safe default. */
export interface GuardedTool<
  Args extends Fields,
  Field extends FieldName<Args>,
  Result,
> extends ToolBase<Args> {
  readonly kind: "non-idempotent";
  /** The business operation's name, part of the key. Tools may share one. Default: the tool's name. */
  readonly operation?: string;
  /** How wide the intent is unique. Default `business`: two runs and two agents collide (R1). */
  readonly scope?: Scope;
  /** What the business wants done once, from trusted ids. Never from text that a model wrote (R2). */
  readonly intent: (source: IntentSource<Args>) => Intent;
  /** The arguments that the effect depends on. The others are neither hashed nor sent (R3). */
  readonly businessArguments: BusinessArguments<Args, Field>;
  readonly contract: Contract<Readonly<Pick<Args, Field>>, Result>;
  readonly lookAlike?: LookAlikeRule<NoInfer<Field>>;
  /** How to undo it. */
  readonly compensation?: Compensation<Readonly<Pick<Args, NoInfer<Field>>>, NoInfer<Result>>;
  /**
   * Says why a person has to approve before anything is sent; undefined lets the call go. It gets the
   * business arguments, and throwing asks a person too.
   */
  readonly hold?: (args: Readonly<Pick<Args, NoInfer<Field>>>) => string | undefined;
  /** Gets the business arguments, frozen: on a resend exactly those of the first request (R17). */
  readonly execute: (
    args: Readonly<Pick<Args, NoInfer<Field>>>,
    call: ExecuteCall,
  ) => Promise<Result> | Result;
}

/** A registered tool of any kind. `Result` is what `guard.run` gives back. */
export interface Tool<Result = unknown> {
  readonly name: string;
  readonly kind: ToolKind;
  readonly schema: StandardSchemaV1<unknown, Fields>;
  /** Null for a tool that goes straight through. */
  readonly guarded: GuardedParts | null;
  /** Only there to carry the type. */
  readonly resultType?: Result;
  execute(args: Fields, call: ExecuteCall & PassCall): unknown;
}

/** What the guard needs of a non-idempotent tool, checked and with its defaults. */
export interface GuardedParts {
  readonly operation: string;
  readonly scope: Scope;
  readonly fields: BusinessFields;
  readonly contract: Contract<unknown, unknown>;
  readonly terms: Terms;
  readonly lookAlike: LookAlikeRule<string> | null;
  readonly compensation: Compensation | null;
  readonly hold: ((args: JsonObject) => string | undefined) | null;
  intent(source: IntentSource<Fields>): Intent;
}

export type { Fields, FieldName };
