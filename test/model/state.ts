/**
 * The world that the model explores: one operation's row, the provider's ledger, the requests under way,
 * the workers and reviewers at their steps, and the clock. Everything is immutable; a tick is one
 * millisecond. All structures are small on purpose: two worlds are one when no later step can tell them
 * apart (`canonical.ts`).
 */
import type { Finding, NextStep } from "../../src/ledger/decide.ts";
import type { Status } from "../../src/ledger/status.ts";

/** What an {@link import("../../src/ledger/record.ts").OperationRecord} is made of here. */
export interface Row {
  readonly status: Status;
  readonly token: number;
  /** The worker whose acquisition holds the token. */
  readonly owner: number;
  readonly leaseUntil: number;
  readonly generation: number;
  readonly attempts: number;
  readonly attemptsInGeneration: number;
  readonly firstArmedAt: number | null;
  readonly lastArmedAt: number | null;
  readonly quietUntil: number;
  readonly wire: number;
  /** The effect that is stored as the result; 0 for none. */
  readonly result: number;
  readonly incident: boolean;
  readonly purged: boolean;
  readonly version: number;
  /** Which payload the fingerprint stands for. */
  readonly payload: number;
  readonly createdAt: number;
  readonly settledAt: number;
}

/** Where a worker stands in its program. */
export type Place =
  | "idle"
  | "insert" // only where a claim is two statements
  | "again"
  | "take-over"
  | "look"
  | "act"
  | "send"
  | "write"
  | "wait"
  | "late"
  | "revisit"
  | "check" // only in the article's own program
  | "ended";

/** What a worker has decided to do about an operation that it owns. */
export type Act = NextStep["kind"] | "none";

export interface Worker {
  readonly place: Place;
  readonly payload: number;
  readonly kind: "caller" | "sweeper";
  /** The token it read or got. */
  readonly token: number;
  /** The true time of the statement that armed it; what the send deadline counts from. */
  readonly armedAt: number;
  /** True from an accepted arm to the write. */
  readonly armed: boolean;
  /** The database's time before its look-up. */
  readonly lookedAt: number;
  readonly finding: Finding["kind"];
  readonly final: boolean;
  readonly act: Act;
  /** The effect it found. */
  readonly found: number;
  /** Counts of the row as it saw it; of use only where stale tokens aren't refused. */
  readonly attempts: number;
  readonly attemptsInGeneration: number;
  /** The wire key captured at its last arm. */
  readonly wire: number;
  /** How often it has armed anew after coming too late. */
  readonly rearms: number;
  /** It was told that its lease is lost. */
  readonly knowsLost: boolean;
  readonly createdAt: number;
}

/** What the provider answered. */
export type Reply =
  "none" | "ok" | "declined" | "error" | "turned-away" | "exists" | "in-use" | "burnt" | "accepted";

export interface Message {
  readonly state: "none" | "flying" | "running" | "over";
  readonly sentAt: number;
  readonly wire: number;
  readonly payload: number;
  readonly reply: Reply;
  readonly effect: number;
}

/** What the provider remembers of one wire key. */
export interface Key {
  readonly state: "none" | "running" | "ok" | "declined" | "error" | "burnt";
  readonly arrivedAt: number;
  readonly effect: number;
}

export interface Effect {
  readonly payload: number;
  readonly landedAt: number;
  readonly visible: boolean;
  /** A failed one was accepted once and came to nothing: it is no effect. */
  readonly status: "succeeded" | "pending" | "failed";
}

export interface Reviewer {
  readonly looked: boolean;
  /** The version that was looked at. */
  readonly version: number;
  /** The effect that was seen; 0 for none. */
  readonly saw: number;
  /** True when nothing could appear any more at that time. */
  readonly quiet: boolean;
  /** Decisions so far; bounded. */
  readonly decisions: number;
}

/** What one step told a caller. */
export interface Answer {
  readonly worker: number;
  readonly kind:
    | "done"
    | "failed"
    | "review"
    | "unknown"
    | "in-progress"
    | "not-sent"
    | "lease-lost"
    | "mismatch"
    | "expired"
    | "skipped";
  readonly effect: number;
  /** False: the store couldn't be told (R15). */
  readonly recorded: boolean;
}

/** What all callers were told so far. `done` and `recorded` are bit sets of effects. */
export interface Told {
  readonly done: number;
  readonly recorded: number;
  readonly failed: boolean;
}

export interface World {
  readonly now: number;
  /** The database's clock has made its step back. */
  readonly steppedBack: boolean;
  /** The row was lost once, against the assumption that what is acknowledged stays. */
  readonly rowLost: boolean;
  /** The last token given. */
  readonly tokens: number;
  readonly row: Row | null;
  readonly keys: readonly Key[];
  readonly effects: readonly Effect[];
  /** The provider takes no request for this intent any more. */
  readonly closed: boolean;
  readonly messages: readonly Message[];
  readonly workers: readonly Worker[];
  readonly reviewers: readonly Reviewer[];
  readonly told: Told;
  /** Effects of which a worker has had evidence; a bit set. */
  readonly known: number;
  /** Payload first sent under each wire key; 0 for none. */
  readonly bound: readonly number[];
  /** Of the last step only. */
  readonly answer: Answer | null;
}

/** One possible step, told in words. */
export interface Step {
  readonly who: string;
  readonly does: string;
  /** What the store or the provider said, or what was told. */
  readonly said: string;
  /** False: something that need not happen when all goes well. */
  readonly regular: boolean;
  readonly world: World;
}

/** Wire keys of two generations, and one more per attempt where a key is made per attempt. */
const wireKeys = 4;

const noMessage: Message = {
  state: "none",
  sentAt: 0,
  wire: 0,
  payload: 0,
  reply: "none",
  effect: 0,
};

/** A request whose fate can't matter any more. */
export const overMessage: Message = { ...noMessage, state: "over" };

export const noKey: Key = { state: "none", arrivedAt: 0, effect: 0 };

const newWorker: Worker = {
  place: "idle",
  payload: 1,
  kind: "caller",
  token: 0,
  armedAt: 0,
  armed: false,
  lookedAt: 0,
  finding: "unsure",
  final: false,
  act: "none",
  found: 0,
  attempts: 0,
  attemptsInGeneration: 0,
  wire: 0,
  rearms: 0,
  knowsLost: false,
  createdAt: 0,
};

/** Everything about an ended worker is forgotten. */
export const endedWorker: Worker = { ...newWorker, place: "ended" };

export const idleReviewer: Reviewer = {
  looked: false,
  version: 0,
  saw: 0,
  quiet: false,
  decisions: 0,
};

/** Who takes part. */
export interface Cast {
  readonly workers: readonly Partial<Pick<Worker, "payload" | "kind">>[];
  readonly reviewers: number;
}

export function firstWorld(cast: Cast, now: number): World {
  return {
    now,
    steppedBack: false,
    rowLost: false,
    tokens: 0,
    row: null,
    keys: Array.from({ length: wireKeys }, () => noKey),
    effects: [],
    closed: false,
    messages: cast.workers.map(() => noMessage),
    workers: cast.workers.map((worker) => ({ ...newWorker, ...worker })),
    reviewers: Array.from({ length: cast.reviewers }, () => idleReviewer),
    told: { done: 0, recorded: 0, failed: false },
    known: 0,
    bound: Array.from({ length: wireKeys }, () => 0),
    answer: null,
  };
}

/** The list with one item replaced. */
export function replaced<T>(list: readonly T[], index: number, change: Partial<T>): readonly T[] {
  const copy = [...list];
  const old = list[index];
  if (old !== undefined) copy[index] = { ...old, ...change };
  return copy;
}

/** The item, which has to be there. */
export function itemAt<T>(list: readonly T[], index: number): T {
  const item = list[index];
  if (item === undefined) throw new Error(`the model has no item ${index}`);
  return item;
}

/** What one worker's step changes, beside what the world as a whole does. */
export interface Change {
  readonly worker?: Partial<Worker>;
  readonly message?: Partial<Message>;
  readonly answer?: Omit<Answer, "worker">;
}

/** The world after a step of worker `index`. An answer ends nothing by itself. */
export function changed(world: World, index: number, change: Change): World {
  const { worker, message, answer } = change;
  return {
    ...world,
    workers: worker === undefined ? world.workers : replaced(world.workers, index, worker),
    messages: message === undefined ? world.messages : replaced(world.messages, index, message),
    ...(answer === undefined
      ? {}
      : { answer: { worker: index, ...answer }, told: toldAlso(world.told, answer) }),
  };
}

function toldAlso(told: Told, answer: Omit<Answer, "worker">): Told {
  if (answer.kind === "failed") return { ...told, failed: true };
  if (answer.kind !== "done") return told;
  const bit = 1 << answer.effect;
  return {
    ...told,
    done: told.done | bit,
    recorded: answer.recorded ? told.recorded | bit : told.recorded,
  };
}

/** Effects that exist or may still come to be. */
export function effectCount(world: World): number {
  return world.effects.filter(({ status }) => status !== "failed").length;
}
