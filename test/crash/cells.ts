/**
 * The crash matrix as data: where a call comes by, where it is killed, and what must be true afterwards.
 * Nothing here runs anything.
 */
import type { PointName } from "../../src/index.ts";
import { type StoreKind, storeKinds } from "../support/stores.ts";

/**
 * Kinds of tool. `keyed`: the provider keeps keys, and can't be asked. `unkeyed`: no key, no look-up, so
 * `strict`. `natural`: it refuses a second effect for the same order, for ever, and can be asked.
 * `look-up-only`: no key, but it can be asked, and its "absent" is proof.
 */
export const kinds = ["keyed", "unkeyed", "natural", "look-up-only"] as const;
export type Kind = (typeof kinds)[number];

/** What the matrix is played on: one kind of tool over one kind of store. */
export interface Line {
  readonly store: StoreKind;
  readonly kind: Kind;
}

export const lines: readonly Line[] = storeKinds.flatMap((store) =>
  kinds.map((kind) => ({ store, kind })),
);

/** Statements of the guard that the matrix comes by: methods of the store. */
export type StatementName = "claim" | "arm" | "complete" | "takeOver" | "escalate" | "findDue";

/** Where a worker stops for ever: at a named point, or around its n-th SQL statement (from 1). */
export type Place =
  { readonly point: PointName } | { readonly statement: number; readonly when: "before" | "after" };

/** What a worker does: its call, or a pass of the sweeper. */
export type Act = "call" | "sweep";

/** A worker that doesn't get to its end. */
export interface Death {
  readonly act: Act;
  readonly at: Place;
}

/** Workers are held up one after the other; then somebody finishes what they left. */
export interface Cell extends Line {
  readonly deaths: readonly Death[];
  /** How the last of `deaths` is held up: killed, or stopped past its lease and let go on. */
  readonly last: "killed" | "stopped";
  /** Who comes first when all are gone: another call, or the sweeper. */
  readonly finish: Act;
}

/** What has become of an operation when a worker is gone. */
export type Left =
  | "nothing"
  | "claimed"
  /** A request may have left, and did not. */
  | "armed"
  | "effect"
  | "done"
  /** The same two in doubt, and a person has been asked. */
  | "armed-asked"
  | "effect-asked";

/** How a cell must end. */
export interface Expected {
  readonly status: "DONE" | "NEEDS_REVIEW";
  readonly effects: 0 | 1;
}

/** What a call or a sweep comes by. */
export interface Path {
  readonly points: readonly PointName[];
  readonly statements: readonly StatementName[];
  /** How many SQL statements the driver sees. */
  readonly sql: number;
}

/** Such as `sqlite/keyed/after-claim+before-settle`. It names the cell, and replays it. */
export function nameOf({ store, kind, deaths, last, finish }: Cell): string {
  const places = deaths.map(({ act, at }) => (act === "sweep" ? `sweep:${spell(at)}` : spell(at)));
  const held = places.length === 0 ? "nobody-dies" : places.join("+");
  return `${store}/${kind}/${held}${last === "stopped" ? "~stopped" : ""}${finish === "sweep" ? "~swept" : ""}`;
}

function spell(at: Place): string {
  return "point" in at ? at.point : `${at.when}-sql-${at.statement}`;
}

function canBeAsked(kind: Kind): boolean {
  return kind === "natural" || kind === "look-up-only";
}

const arming = ["before-arm", "after-arm"] as const;
const sending = ["before-write", "after-execute", "before-settle", "after-settle"] as const;

/** What a call or a sweep comes by, in order, after what an earlier worker left. */
export function pathAfter({ store, kind }: Line, left: Left, act: Act): Path {
  const idle = act === "sweep" && left !== "armed" && left !== "effect";
  const points = idle ? [] : pointsAfter(kind, left).slice(act === "sweep" ? 2 : 0);
  const later = idle ? [] : statementsAfter(kind, left).slice(1);
  const first = act === "call" ? "claim" : "findDue";
  const statements: StatementName[] = [first, ...later];
  const sql = statements.reduce((sum, name) => sum + sqlOf(store, name), 0);
  return { points, statements, sql };
}

/** How many SQL statements make one of the store's: a write on SQLite is put between BEGIN and COMMIT. */
export function sqlOf(store: StoreKind, name: StatementName): number {
  return store === "sqlite" && name !== "findDue" ? 3 : 1;
}

function pointsAfter(kind: Kind, left: Left): PointName[] {
  const claiming = ["before-claim", "after-claim"] as const;
  const takingOver = [...claiming, "after-take-over"] as const;
  const lookUp = canBeAsked(kind) ? (["before-look-up", "after-look-up"] as const) : [];
  switch (left) {
    case "nothing":
      // A strict tool arms separately; for the others the claim arms (R10).
      return [...claiming, ...(kind === "unkeyed" ? arming : []), ...sending];
    case "claimed":
      return [...takingOver, ...arming, ...sending];
    case "armed":
      return kind === "unkeyed"
        ? [...takingOver]
        : [...takingOver, ...lookUp, ...arming, ...sending];
    case "effect":
      if (canBeAsked(kind)) return [...takingOver, ...lookUp, "after-settle"];
      return kind === "unkeyed" ? [...takingOver] : [...takingOver, ...arming, ...sending];
    case "done":
    case "armed-asked":
    case "effect-asked":
      return [...claiming];
  }
}

function statementsAfter(kind: Kind, left: Left): StatementName[] {
  switch (left) {
    case "nothing":
      return kind === "unkeyed" ? ["claim", "arm", "complete"] : ["claim", "complete"];
    case "claimed":
      return ["claim", "takeOver", "arm", "complete"];
    case "armed":
    case "effect":
      if (kind === "unkeyed") return ["claim", "takeOver", "escalate"];
      return left === "effect" && canBeAsked(kind)
        ? ["claim", "takeOver", "complete"]
        : ["claim", "takeOver", "arm", "complete"];
    case "done":
    case "armed-asked":
    case "effect-asked":
      return ["claim"];
  }
}

/** What is left when a worker that met `left` is gone. */
export function leftBy(line: Line, left: Left, { act, at }: Death): Left {
  return "point" in at ? leftAt(line.kind, left, at.point) : leftBySql(line, left, act, at);
}

function leftAt(kind: Kind, left: Left, point: PointName): Left {
  switch (point) {
    case "before-claim":
    case "after-take-over":
    case "before-look-up":
    case "after-look-up":
      return left;
    case "after-claim":
    case "before-arm":
      return leftByStatement(kind, left, "claim");
    case "after-arm":
    case "before-write":
      return leftByStatement(kind, left, "arm");
    case "after-execute":
    case "before-settle":
      return "effect";
    case "after-settle":
      return "done";
  }
}

function leftByStatement(kind: Kind, left: Left, name: StatementName): Left {
  if (name === "claim" && left === "nothing") return kind === "unkeyed" ? "claimed" : "armed";
  if (name === "arm" && left !== "effect") return "armed";
  if (name === "escalate") return left === "effect" ? "effect-asked" : "armed-asked";
  return name === "complete" ? "done" : left;
}

/** A statement counts once it is committed; and whoever comes to the completion has sent. */
function leftBySql(
  { store, kind }: Line,
  left: Left,
  act: Act,
  at: Extract<Place, { statement: number }>,
): Left {
  const { statements } = pathAfter({ store, kind }, left, act);
  let sqlLeft = at.when === "after" ? at.statement : at.statement - 1;
  let arrived = at.statement;
  let now = left;
  for (const name of statements) {
    const sql = sqlOf(store, name);
    if (arrived <= 0) break;
    if (sqlLeft >= sql) now = leftByStatement(kind, now, name);
    else if (name === "complete") now = "effect";
    sqlLeft -= sql;
    arrived -= sql;
  }
  return now;
}

/** What all workers of a cell together leave behind. */
export function leftOf(cell: Cell): Left {
  return cell.deaths.reduce<Left>((left, death) => leftBy(cell, left, death), "nothing");
}

/**
 * How a cell must end once somebody has come after its workers. Without key and look-up nobody can tell
 * whether an armed attempt took effect, so a person is asked; everything else ends with one effect.
 */
export function expectedOf(cell: Cell): Expected {
  const left = leftOf(cell);
  const isUnsent = left === "armed" || left === "armed-asked";
  const isOut = left === "effect" || left === "effect-asked";
  if (cell.kind !== "unkeyed" || !(isUnsent || isOut)) return { status: "DONE", effects: 1 };
  return { status: "NEEDS_REVIEW", effects: isOut ? 1 : 0 };
}

/** The same once a stopped worker has gone on: what it knows is merged, what it wants to do is fenced. */
export function expectedInTheEnd(cell: Cell): Expected {
  const at = cell.last === "stopped" ? cell.deaths.at(-1)?.at : undefined;
  const knows = at !== undefined && "point" in at && /after-execute|before-settle/.test(at.point);
  return knows ? { status: "DONE", effects: 1 } : expectedOf(cell);
}
