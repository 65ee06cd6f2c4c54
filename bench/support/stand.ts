/** A test stand: one database with all subjects on it, over the same connections. */
import { randomUUID } from "node:crypto";
import { type Store, createGuard } from "../../src/index.ts";
import {
  type Effects,
  type Floor,
  floorCall,
  floorRow,
  guardCall,
  refundTool,
} from "./workload.ts";

/** What is measured, in the order of the table. */
export const subjectNames = ["floor", "window", "strict", "floor-replay", "replay"] as const;
export type SubjectName = (typeof subjectNames)[number];

export type StoreKind = "sqlite" | "postgres";
/** How the PostgreSQL driver is asked: parsed and planned anew for each call, or prepared once. */
export type StatementKind = "unnamed" | "prepared";

/** One line of the benchmark: everything that floor and guard have in common. */
export interface Configuration {
  readonly store: StoreKind;
  readonly statements: StatementKind;
  readonly connections: number;
  readonly concurrency: number;
}

/** Calls that are ready to go, and what must be true once all of them came back. */
export interface Block {
  readonly calls: readonly (() => Promise<boolean>)[];
  /** Throws unless the calls did what they are meant to do. */
  verify(replayed: number): void;
}

/** A subject makes blocks. A replay calls the keys of the round before. */
export type Subject = (count: number) => Block;

export interface Stand {
  readonly subjects: Readonly<Record<SubjectName, Subject>>;
  /** Brings the database to rest, so that one block's leftovers are not paid for by the next configuration. */
  rest(): Promise<void>;
  close(): Promise<void>;
}

/** A store and a floor that share their connections. */
export interface Lane {
  readonly store: Store;
  readonly floor: Floor;
}

/** The subjects over some lanes; calls are dealt out to the lanes in turn. */
export async function subjectsOn(
  lanes: readonly Lane[],
): Promise<Readonly<Record<SubjectName, Subject>>> {
  const effects: Effects = { count: 0 };
  const window = refundTool("window", effects);
  const strict = refundTool("strict", effects);
  const guards = await Promise.all(lanes.map(({ store }) => createGuard({ store })));
  const floors = lanes.map(({ floor }) => floor);
  const callWindow: CallOf = (ticket, index) =>
    guardCall(inTurn(guards, index), window, ticket, index);
  const callStrict: CallOf = (ticket, index) =>
    guardCall(inTurn(guards, index), strict, ticket, index);
  const callFloor: CallOf = (ticket, index) =>
    floorCall(inTurn(floors, index), floorRow(ticket, index), effects);
  const onWindow = freshAndReplayed(callWindow, effects);
  const onFloor = freshAndReplayed(callFloor, effects);
  return {
    floor: onFloor.fresh,
    window: onWindow.fresh,
    strict: freshAndReplayed(callStrict, effects).fresh,
    "floor-replay": onFloor.replayed,
    replay: onWindow.replayed,
  };
}

type CallOf = (ticket: string, index: number) => () => Promise<boolean>;

/** A subject with new keys, and one that repeats them, block by block, a round later. */
function freshAndReplayed(callOf: CallOf, effects: Effects): { fresh: Subject; replayed: Subject } {
  // A ticket names a whole block of keys.
  const done: string[] = [];
  const blockOf = (ticket: string, count: number, isReplay: boolean): Block => {
    const effectsBefore = effects.count;
    return {
      calls: Array.from({ length: count }, (_, index) => callOf(ticket, index)),
      verify: (replayed) => {
        const ran = effects.count - effectsBefore;
        const expected = isReplay ? 0 : count;
        if (ran === expected && replayed === count - expected) return;
        throw new Error(`${count} calls: ${ran} effects and ${replayed} replays`);
      },
    };
  };
  return {
    fresh: (count) => {
      const ticket = randomUUID();
      done.push(ticket);
      return blockOf(ticket, count, false);
    },
    replayed: (count) => {
      const ticket = done.shift();
      if (ticket === undefined) throw new Error("nothing to replay yet");
      return blockOf(ticket, count, true);
    },
  };
}

function inTurn<T>(items: readonly T[], index: number): T {
  const item = items[index % items.length];
  if (item === undefined) throw new Error("no lane");
  return item;
}
