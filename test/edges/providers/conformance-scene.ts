/**
 * What the adapters' conformance suite needs of an adapter, and what its cases work with.
 */
import type { ErrorClass, JsonObject, OperationRecord, Tool } from "../../../src/index.ts";
import type { AdapterParts } from "../../../src/edges/providers/shared/adapter.ts";
import type { AdapterBounds } from "../../../src/edges/providers/shared/contract-parts.ts";
import type { Counterpart, Fault, Send } from "../../support/providers/counterpart.ts";
import type { Told } from "../../support/world.ts";

export type Resource = Record<string, unknown>;

/** Why a provider turns a request away that it may take later. */
export type PassingReason =
  "balance" | "capacity" | "credentials" | "permission" | "quota" | "rate";

/** The provider's own answers for these reasons: a status, and a code where the status has another by itself. */
export type Passing = Readonly<
  Partial<Record<PassingReason, readonly (readonly [status: number, code?: string])[]>>
>;

/** Each answer by itself, as a fault. */
export function passingFaults(
  passing: Passing,
): readonly { readonly why: string; readonly fault: Fault }[] {
  return Object.entries(passing).flatMap(([reason, answers]) =>
    answers.map(([refuse, code]) => ({
      why: `${reason}: ${[refuse, code].filter(Boolean).join(" ")}`,
      fault: { refuse, ...(code === undefined ? {} : { code }) },
    })),
  );
}

/** One adapter's tool and what its provider does. */
export interface AdapterSubject<Args extends JsonObject> {
  readonly title: string;
  /** Business arguments of the call. */
  readonly args: Args;
  start(): Promise<Counterpart>;
  /** The adapter on the real SDK, with the SDK's own retries on, against this URL. */
  parts(url: string, bounds: AdapterBounds): Promise<AdapterParts<Args, unknown>>;
  /** The tag that a send carries: the operation's key or its wire key. */
  tagOf(send: Send): unknown;
  /** What the provider's own errors prove. A status that isn't named is `unknown`. */
  readonly classes: Readonly<Record<number, ErrorClass>>;
  /**
   * The provider's own refusals for a reason that may pass while the request stays as it is, and that its key
   * doesn't keep: the same call must get over each of them.
   */
  readonly passing: Passing;
  /** The provider keeps its own error with this status under the key, and replays it. */
  keepsError(status: number): boolean;
  /** The adapter owns the socket, so that a refused connection is a fact: nothing was sent. */
  readonly seesSocket?: true;
  /** Nothing can look an effect up, so that a doubt goes to a person. */
  readonly blind?: true;
  /** A repeat is led to the first resource: there is no other look-up. */
  readonly pointer?: true;
  /** A second resource with the same tag. Absent: the tag is the resource's own id. */
  readonly twin?: (resource: Resource) => Resource;
  /** The same to the eye, but it carries no tag, or another one's. */
  foreign(resource: Resource): Resource;
  /** Ours, but not what was asked for. */
  differing(resource: Resource): Resource;
  /** Ours, and the provider is still at it. Absent: there is no such state. */
  readonly pending?: (resource: Resource) => Resource;
  /** What the answer to a create shows of one that came to nothing. Absent: it shows no such thing. */
  readonly answersFailed?: Resource;
  /** Ours, and it came to nothing. Absent: there is no such state. */
  readonly failed?: (resource: Resource) => Resource;
}

export const bounds = { timeoutMs: 20_000, flightMs: 10_000, marginMs: 1000 } as const;
/** The effect is there, and its answer isn't. A reset would do as well, but SDKs pause after one. */
export const lostReply: Fault = { gateway: 504, effect: true };
/** Longer than send, flight and margin together. */
export const quietMs = 20_000;

export interface Scene {
  readonly counterpart: Counterpart;
  /** Runs the tool under the scene's intent. */
  readonly call: (tool?: Tool) => Promise<Told["told"]>;
  /** The same, and its time-out is over at the moment. */
  readonly hastyCall: (moment: Promise<void>) => Promise<Told["told"]>;
  /** Lets time pass and calls until the answer is final. */
  readonly settle: () => Promise<Told["told"]>;
  /** Lets time pass, here and at the provider. */
  readonly wait: (spanMs: number) => void;
  readonly row: () => Promise<OperationRecord>;
  readonly tool: Tool;
  /** On an address at which nobody listens. */
  readonly unreachable: Tool;
}

/** What must be the same in every send of one operation. */
export function wireOf({ method, path, query, body, key }: Send): string {
  return JSON.stringify([method, path, String(query), body, key]);
}
