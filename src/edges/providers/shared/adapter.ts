/**
 * The one shape of all adapters: a function that takes the SDK's instance and options, and returns
 * what `defineTool` needs beside name, arguments and intent.
 *
 * @module
 */
import type { Contract, ErrorClass, FoundEffect, LookUpAnswer } from "../../../guard/contract.ts";
import type { ExecuteCall } from "../../../guard/tool.ts";
import type { EnsureCall, EnsureContract, Observation } from "../../../effects/ensure-tool.ts";
import type { AdapterBounds } from "./contract-parts.ts";

/** What every adapter takes beside its SDK. */
export interface AdapterOptions<Args, Request> extends AdapterBounds {
  /**
   * The SDK's parameters for these business arguments. It runs before every send and must give the
   * same each time: no clock, no random number, no attempt. The adapter adds key and tag.
   */
  readonly request: (args: Args) => Request;
}

/** What every adapter returns: spread it into `defineTool`. */
export interface AdapterParts<Args, Result> {
  readonly contract: Contract<Args, Result>;
  readonly execute: (args: Args, call: ExecuteCall) => Promise<Result>;
}

/** What an adapter returns that brings a thing into a state: spread it into `defineEnsureTool`. */
export interface EnsureParts<Desired, State> {
  readonly target: (source: { readonly args: Desired }) => string;
  readonly observe: (desired: Desired, observation: Observation) => Promise<State>;
  readonly isConverged: (state: State, desired: Desired) => boolean | "pending";
  readonly apply: (desired: Desired, call: EnsureCall) => Promise<void>;
  readonly contract: EnsureContract;
}

/** What no provider publishes of a change, so that you have to say it: see {@link EnsureContract}. */
export type EnsureBounds = Omit<EnsureContract, "account" | "classify" | "endpoint">;

/** The name under which the operation's key is left on a resource, where the provider has fields. */
export const tagName = "nevertwice_key";

/** How resources are found again in a list. */
export interface TaggedSearch<Item, Result> {
  /** True for a resource that carries the operation's key. Never guess: a look-alike isn't ours. */
  readonly isOurs: (item: Item) => boolean;
  readonly effectOf: (item: Item) => FoundEffect<Result>;
  /** Pages to read at most. Default 20. */
  readonly maxPages?: number;
}

/**
 * Reads a list page by page and answers for a look-up. It says `absent` only at the list's end; a list
 * that is longer than `maxPages` is `unsure`.
 */
export async function findTagged<Item, Result>(
  pages: AsyncIterable<readonly Item[]>,
  { isOurs, effectOf, maxPages = 20 }: TaggedSearch<Item, Result>,
): Promise<LookUpAnswer<Result>> {
  const effects: FoundEffect<Result>[] = [];
  let read = 0;
  let ended = true;
  for await (const page of pages) {
    effects.push(...page.filter(isOurs).map(effectOf));
    read += 1;
    if (read < maxPages) continue;
    ended = false;
    break;
  }
  if (effects.length > 0) return { answer: "found", effects };
  if (ended) return { answer: "absent" };
  return { answer: "unsure", reason: `not found in the newest ${read} pages of the list` };
}

/**
 * Names the first field in which a resource differs from the request, as `differsIn`. A field that the
 * request leaves out can't differ.
 */
export function difference(
  fields: Readonly<Record<string, readonly [asked: unknown, found: unknown]>>,
): { readonly differsIn?: string } {
  const differing = Object.entries(fields).find(
    ([, [asked, found]]) => asked !== undefined && asked !== found,
  );
  return differing === undefined ? {} : { differsIn: differing[0] };
}

/** The provider's answer shows an effect that came to nothing. */
export class EffectFailed extends Error {}

/**
 * Gives an answered resource back, unless the answer itself says that it came to nothing: told as done,
 * it would be a wanted effect that is lost.
 *
 * @throws {EffectFailed} which {@link classifyFailed} takes for definitive.
 */
export function unlessFailed<Item>(item: Item, status: FoundEffect<unknown>["status"]): Item {
  if (status !== "failed") return item;
  throw new EffectFailed("the provider answered with an effect that came to nothing");
}

/** A `classify` that knows {@link EffectFailed} too. */
export function classifyFailed(classify: (error: unknown) => ErrorClass) {
  return (error: unknown): ErrorClass =>
    error instanceof EffectFailed ? "definitive" : classify(error);
}

/** True for an object with members. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
